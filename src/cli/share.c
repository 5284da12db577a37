/* solo share: sends a record to a collector, after showing exactly what is sent. */
#include "base/file.h"
#include "cli/cli.h"
#include "hub/http.h"
#include "serve/collect_check.h"
#include "serve/collect_clean.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    const char *record, *url;
    bool yes;
} options;

static const option TABLE[] = {
    {.value = "RECORD.json", .files = OPTION_FILES, .required = true, INTO(options, record), .help = "a record"},
    {.value = "URL", .required = true, INTO(options, url), .help = "the collector, such as https://example.org"},
    {.name = "yes", .kind = OPTION_FLAG, INTO(options, yes), .help = "do not ask"},
    {0}};

enum { TIMEOUT_S = 30, MOST_REPLY_BYTES = 1 << 20 };

/* ---- asking -------------------------------------------------------------------------------- */

static bool is_agreed(const options *o, err *e)
{
    char answer[16] = "";
    if (o->yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return err_set_kind(e, ERR_USAGE, "nothing was sent: there is nobody to ask, and no --yes");
    fprintf(stderr, "Send this to %s? [y/N] ", o->url);
    if (fgets(answer, sizeof answer, stdin) && (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0))
        return true;
    return err_set(e, "nothing was sent");
}

/* ---- talking to the collector -------------------------------------------------------------- */

static bool keep_reply(void *user, const char *bytes, size_t count, err *e)
{
    str *text = user;
    if (text->length + count > MOST_REPLY_BYTES)
        return err_set(e, "the collector's reply has more than %d bytes", MOST_REPLY_BYTES);
    str_add_bytes(text, bytes, count);
    return true;
}

/* A request to the collector, and its reply as JSON. */
static json_t *ask(http *h, const options *o, const char *path, const char *body, err *e)
{
    str url = {0}, text = {0};
    http_reply reply = {0};
    size_t length = strlen(o->url);
    while (length && o->url[length - 1] == '/')
        length--;
    str_add_bytes(&url, o->url, length);
    str_add(&url, path);
    http_request q = {.url = url.data, .body = body, .timeout_s = TIMEOUT_S, .write = keep_reply, .user = &text};
    bool ok = http_get(h, &q, &reply, e) == HTTP_DONE;
    json_t *json = ok ? json_loadb(text.data ? text.data : "", text.length, 0, NULL) : NULL;
    if (ok && !json_is_object(json)) {
        err_set(e, "%s: what answers there is no collector", o->url);
        json_decref(json);
        json = NULL;
    }
    str_free(&reply.next);
    str_free(&url);
    str_free(&text);
    return json;
}

/* ---- where it stands ----------------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A collector may be anybody's: a terminal gets no control characters from it. */
static void print_plain(const char *text)
{
    for (; *text; text++)
        putchar((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

static void print_standing(json_t *s)
{
    double others = json_number_value(json_object_get(s, "others")),
           share = json_number_value(json_object_get(s, "better_than"));
    const char *unit = text_of(s, "unit");
    bool is_ratio = strcmp(unit, "times") == 0;
    print_plain(text_of(s, "family"));
    printf(", ");
    print_plain(text_of(s, "subject"));
    printf(", ");
    print_plain(text_of(s, "variant"));
    printf(" (");
    print_plain(text_of(s, "impl"));
    printf("): %.4g ", json_number_value(json_object_get(s, "value")));
    print_plain(unit);
    if (others > 0)
        printf(", %s than %.0f%% of %.0f other%s\n", is_ratio ? "more" : "faster", 100 * share, others,
               others == 1 ? "" : "s");
    else
        printf(", the first of its kind\n");
}

static void print_standings(http *h, const options *o, const char *id)
{
    str path = {0};
    err ignored = {0}; /* a record with nothing to compare has no standing */
    size_t i;
    json_t *one;
    str_addf(&path, "/api/records/%s/standing", id);
    json_t *all = ask(h, o, path.data, NULL, &ignored);
    json_array_foreach(json_object_get(all, "standing"), i, one)
    {
        print_standing(one);
    }
    json_decref(all);
    str_free(&path);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool send_record(const options *o, const collect_record *r, err *e)
{
    http *h = http_open(e);
    json_t *stored = h ? ask(h, o, "/api/records", r->body.data, e) : NULL;
    bool ok = stored && strcmp(text_of(stored, "id"), r->id) == 0;
    if (stored && !ok)
        err_set(e, "%s: what answers there is no collector, or keeps something else than was sent", o->url);
    if (ok) {
        printf("%s: %.*s/records/%s\n", json_is_true(json_object_get(stored, "new")) ? "sent" : "was there already",
               (int)(strlen(o->url) - (o->url[strlen(o->url) - 1] == '/')), o->url, r->id);
        print_standings(h, o, r->id);
    }
    json_decref(stored);
    http_close(h);
    return ok;
}

static bool share(const options *o, err *e)
{
    size_t length;
    collect_record r = {0};
    char *text = file_read(o->record, COLLECT_MAX_BYTES, &length, e);
    bool ok = text && collect_check(o->record, text, length, &r, e);
    free(text);
    if (!ok)
        return false;
    printf("%s\n", r.body.data);
    cli_flush();
    fprintf(stderr, "These %zu bytes are what is sent, to %s, and can then be read by everybody.\n", r.body.length,
            o->url);
    ok = is_agreed(o, e) && send_record(o, &r, e);
    collect_record_free(&r);
    return ok;
}

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    if (strncmp(o->url, "https://", 8) == 0 || strncmp(o->url, "http://", 7) == 0)
        return true;
    return err_set_kind(e, ERR_USAGE, "URL must begin with https:// or http://, not %.60s", o->url);
}

static int run(void *chosen)
{
    err e = {0};
    return share(chosen, &e) ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_share = {
    .name = "share",
    .summary = "send a record to a collector, after showing what is sent",
    .about =
        "Shows exactly what would be sent of a record, asks, sends it to a collector (`solo collect`), and says where "
        "it stands among the others that are there. Paths, names of machines and whatever else is no measurement are "
        "left out. Without somebody to ask, nothing is sent unless there is --yes.",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
