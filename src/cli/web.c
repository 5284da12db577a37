/* solo web: the page, served on this machine. */
#include "cli/cli.h"
#include "cli/page_folder.h"
#include "serve/http_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    uint32_t port;
    const char *folder;
    bool open;
} options;

static const option TABLE[] = {
    {.name = "port",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 65535,
     INTO(options, port),
     .help = "the port; 0: one that is free"},
    {.name = "dir",
     .value = "FOLDER",
     .files = OPTION_FOLDERS,
     INTO(options, folder),
     .help = "where the page is",
     .otherwise = "web beside this program, or ../share/solo/web"},
    {.name = "open",
     .kind = OPTION_FLAG,
     INTO(options, open),
     .help = "for other machines, too, not only this one; browsers have WebGPU there only by https"},
    {0}};

static void handle(void *folder, http_request *r)
{
    http_serve_file(r, folder);
}

static bool serve(const options *o, const char *folder, err *e)
{
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return err_set(e, "%s: %s", folder, strerror(errno));
    http_block_signals();
    http_server *s = http_server_start(
        &(http_options){.host = o->open ? "0.0.0.0" : NULL, .port = (uint16_t)o->port, .handle = handle, .user = real},
        e);
    if (!s)
        return false;
    cli_print_address(NULL, http_server_port(s));
    http_wait_for_signal();
    http_server_stop(s);
    return true;
}

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str folder = {0};
    bool ok = true;
    if (o->folder)
        str_add(&folder, o->folder);
    else
        ok = page_folder_find(&folder) ||
             err_set(&e, "the page is not here: build it (make web), or say where it is (--dir)");
    ok = ok && serve(o, folder.data, &e);
    str_free(&folder);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.port = 8080};

const cli_command command_web = {.name = "web",
                                 .summary = "serve the page to browsers on this machine",
                                 .about =
                                     "Serves the page (chat and measurements in a browser) on this machine until it "
                                     "is interrupted, with the headers "
                                     "that give a page a fine clock. `make web` builds it.",
                                 .groups = {{NULL, TABLE, 0}},
                                 .defaults = &DEFAULTS,
                                 .bytes = sizeof(options),
                                 .run = run};
