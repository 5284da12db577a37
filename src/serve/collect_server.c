/* collect_server: which address means what, and taking records. */
#include "serve/collect_internal.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "serve/collect_clean.h"
#include "serve/collect_memory.h"
#include "serve/http_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long what is being answered gets when the server stops. */
static const double FINISH_S = 10;

/* ---- taking a record ------------------------------------------------------------------------ */

/* The last address in the list is the one that our own proxy saw; those before it anybody may have written. */
static void address_of(const collect_server *s, http_request *r, char out[64])
{
    const char *said = s->o.behind_proxy ? http_last_header(r, "X-Forwarded-For") : NULL;
    if (!said) {
        snprintf(out, 64, "%s", http_address(r));
        return;
    }
    const char *last = strrchr(said, ',');
    last = last ? last + 1 : said;
    last += strspn(last, " ");
    size_t length = strcspn(last, " ");
    const char *port = memchr(last, ':', length);
    if (*last == '[') /* [2001:db8::1]:443 */
        length = strcspn(++last, "] ");
    else if (port && !memchr(port + 1, ':', length - (size_t)(port + 1 - last))) /* 192.0.2.1:443 */
        length = (size_t)(port - last);
    snprintf(out, 64, "%.*s", (int)length, last);
}

static void reply_stored(http_request *r, const char *id, bool is_new)
{
    str out = {0}, place = {0};
    jsonw j = jsonw_to(&out);
    str_addf(&place, "/records/%s", id);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "id", id);
    jsonw_bool(&j, "new", is_new);
    jsonw_text(&j, "page", place.data);
    jsonw_end(&j);
    str_add(&out, "\n");
    if (is_new)
        http_add_header(r, "Location", place.data);
    http_reply_json(r, is_new ? 201 : 200, &out);
    str_free(&place);
    str_free(&out);
}

static void take_record(collect_server *s, http_request *r)
{
    char address[64], seconds[16];
    uint32_t wait_s;
    size_t bytes;
    err e = {0};
    collect_record record;
    bool is_new;
    address_of(s, r, address);
    if (!collect_rate_take(s->rate, address, clock_us() / 1e6, &wait_s)) {
        snprintf(seconds, sizeof seconds, "%u", wait_s);
        http_add_header(r, "Retry-After", seconds);
        http_reply_line(r, 429, "too many records from this address: try again later");
        return;
    }
    const char *body = http_body(r, &bytes);
    if (!collect_check("record", body ? body : "", bytes, &record, &e)) {
        http_reply_line(r, 400, e.text);
        return;
    }
    collect_points points = collect_points_of(&record.view);
    if (collect_store_add(s->store, &record, &points, &is_new, &e))
        reply_stored(r, record.id, is_new);
    else
        collect_fail(r, &e);
    collect_points_free(&points);
    collect_record_free(&record);
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void answer_health(collect_server *s, http_request *r)
{
    err e = {0};
    uint64_t count;
    if (collect_store_count(s->store, &count, &e))
        http_reply_line(r, 200, "ok");
    else
        collect_fail(r, &e);
}

/* Is `path` this beginning, an id, and this end? */
static bool is_of_record(const char *path, const char *beginning, const char *end, char id[COLLECT_ID_BYTES])
{
    size_t length = strlen(beginning);
    if (strncmp(path, beginning, length) != 0 || strlen(path) != length + COLLECT_ID_BYTES - 1 + strlen(end) ||
        strcmp(path + length + COLLECT_ID_BYTES - 1, end) != 0)
        return false;
    memcpy(id, path + length, COLLECT_ID_BYTES - 1);
    id[COLLECT_ID_BYTES - 1] = 0;
    return collect_is_id(id);
}

static void answer_get(collect_server *s, http_request *r, const char *path)
{
    static const struct {
        const char *path;
        void (*answer)(collect_server *s, http_request *r);
    } fixed[] = {{"/", collect_answer_page},
                 {"/api/records", collect_answer_list},
                 {"/api/summary", collect_answer_summary},
                 {"/api/export.ndjson", collect_answer_ndjson},
                 {"/api/export.csv", collect_answer_csv},
                 {"/health", answer_health}};
    char id[COLLECT_ID_BYTES];
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(path, fixed[i].path) == 0) {
            fixed[i].answer(s, r);
            return;
        }
    if (is_of_record(path, "/api/records/", "", id))
        collect_answer_record(s, r, id);
    else if (is_of_record(path, "/api/records/", "/standing", id))
        collect_answer_standing(s, r, id);
    else if (is_of_record(path, "/records/", "", id))
        collect_answer_report(s, r, id);
    else
        http_reply_line(r, 404, "there is nothing here; the leaderboard is at /");
}

static void handle(void *user, http_request *r)
{
    collect_server *s = user;
    const char *method = http_method(r), *path = http_path(r);
    bool takes = strcmp(path, "/api/records") == 0;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        answer_get(s, r, path);
    else if (strcmp(method, "POST") == 0 && takes)
        take_record(s, r);
    else if (strcmp(method, "OPTIONS") == 0)
        http_reply(r, 204, "text/plain", "", 0);
    else {
        http_add_header(r, "Allow", takes ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS");
        http_reply_line(r, 405, takes ? "only GET and POST" : "only GET");
    }
}

/* ---- starting and stopping ------------------------------------------------------------------ */

collect_server *collect_server_start(collect_store *store, const collect_options *o, err *e)
{
    collect_server *s = mem_alloc(sizeof *s);
    collect_memory_use();
    s->o = *o;
    s->store = store;
    s->rate = collect_rate_new(o->per_minute);
    pthread_mutex_init(&s->mutex, NULL);
    s->http = http_server_start(&(http_options){.host = o->host,
                                                .port = o->port,
                                                .body_bytes = COLLECT_MAX_BYTES,
                                                .hosts = o->names,
                                                .host_count = o->name_count,
                                                .origins = o->origins,
                                                .origin_count = o->origin_count,
                                                .handle = handle,
                                                .user = s},
                                e);
    if (s->http)
        return s;
    collect_server_stop(s);
    return NULL;
}

uint16_t collect_server_port(const collect_server *s)
{
    return http_server_port(s->http);
}

void collect_server_stop(collect_server *s)
{
    if (s->http) {
        http_server_close_door(s->http);
        http_server_finish(s->http, FINISH_S);
        http_server_stop(s->http);
    }
    for (uint32_t i = 0; i < COLLECT_PAGES; i++) {
        str_free(&s->pages[i].key);
        str_free(&s->pages[i].text);
    }
    collect_rate_free(s->rate);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
