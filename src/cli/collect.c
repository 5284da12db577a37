/* solo collect: takes records over HTTP and shows them; or adds those of files. */
#include "cli/cli.h"
#include "cli/collect_import.h"
#include "cli/server_names.h"
#include "serve/collect_server.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *action;
    text_list paths, names, origins;
    const char *db, *host;
    uint32_t port, per_minute;
    bool behind_proxy;
} options;

static const char *action_name(uint32_t i)
{
    return i == 0 ? "import" : NULL;
}

static const option TABLE[] = {
    {.value = "ACTION",
     .names = action_name,
     INTO(options, action),
     .help = "import: add the records of files and folders, and end",
     .otherwise = "serve until interrupted"},
    {.value = "PATH",
     .kind = OPTION_TEXTS,
     .files = OPTION_FILES,
     INTO(options, paths),
     .help = "of import: a record, or a folder with records (*.json), with all folders in it"},
    {.name = "db",
     .value = "FILE|URL",
     .low = 1,
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, db),
     .help = "where records are kept: a file (SQLite), or postgresql://USER@HOST/DATABASE"},
    {.name = "host",
     .value = "ADDRESS",
     .low = 1,
     .in_usage = true,
     INTO(options, host),
     .help = "the address to listen on; 0.0.0.0 or :: are all of this machine's"},
    {.name = "port",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 65535,
     .in_usage = true,
     INTO(options, port),
     .help = "the port; 0: one that is free"},
    {.name = "rate",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 1000000,
     INTO(options, per_minute),
     .help = "how many records a minute are taken from one address; 0: without a limit"},
    {.name = "behind-proxy",
     .kind = OPTION_FLAG,
     INTO(options, behind_proxy),
     .help = "addresses are what a proxy writes into X-Forwarded-For"},
    {.name = "allow-host",
     .value = "NAME",
     .kind = OPTION_TEXTS,
     INTO(options, names),
     .help = "a name that the server is asked by, where it listens on this machine alone, behind a proxy",
     .otherwise = "localhost"},
    {.name = "allow-origin",
     .value = "ORIGIN",
     .kind = OPTION_TEXTS,
     INTO(options, origins),
     .help = "a page elsewhere, such as https://example.org, may send records; *: every page",
     .otherwise = "none"},
    {0}};

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    if (o->action && strcmp(o->action, "import") != 0)
        return err_set_kind(e, ERR_USAGE, "collect does not know '%s'; there is import (solo collect --help)",
                            o->action);
    if (o->action && !o->paths.count)
        return err_set_kind(e, ERR_USAGE, "import what? A record or a folder (solo collect --help)");
    return cli_check_server_names(&o->names, &o->origins, e);
}

static bool serve(const options *o, collect_store *store, err *e)
{
    http_block_signals();
    collect_server *s = collect_server_start(store,
                                             &(collect_options){.host = o->host,
                                                                .port = (uint16_t)o->port,
                                                                .per_minute = o->per_minute,
                                                                .behind_proxy = o->behind_proxy,
                                                                .names = o->names.items,
                                                                .name_count = o->names.count,
                                                                .origins = o->origins.items,
                                                                .origin_count = o->origins.count},
                                             e);
    if (!s)
        return false;
    cli_print_address(o->host, collect_server_port(s));
    http_wait_for_signal();
    collect_server_stop(s);
    return true;
}

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    collect_store *store = collect_store_open(o->db, &e);
    bool ok = store && (o->action ? collect_import(store, o->paths.items, o->paths.count, &e) : serve(o, store, &e));
    if (store)
        collect_store_close(store);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.db = "results.sqlite", .host = "127.0.0.1", .port = 8090, .per_minute = 60};

const cli_command command_collect = {
    .name = "collect",
    .summary = "collect records over HTTP, and show them as a leaderboard",
    .about =
        "Takes records by POST /api/records, checks them, keeps them, and shows medians by device, vendor, backend and "
        "browser at /. `solo share` sends records there. A record is kept once, under the hash of its contents; a "
        "reply "
        "of 201 means that it is on the disk. Nothing personal is kept: only the keys of a record are, without "
        "paths.\n\n"
        "`solo collect import results/` adds the records of files; what is no record is named and left out.",
    .notes = "  solo collect --db lab.sqlite --port 8090\n"
             "  solo collect import results/ --db lab.sqlite\n"
             "  curl --data-binary @record.json http://127.0.0.1:8090/api/records",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
