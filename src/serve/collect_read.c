/* collect_read: what can be read of the collector, as JSON, NDJSON and CSV. */
#include "serve/collect_internal.h"

#include "base/jsonw.h"
#include "serve/http_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIST = 100, MOST_LIST = 500, EXPORTED_AT_ONCE = 16, EXPORT_PIECE = 64 << 10 };

static const char *chosen(const http_request *r, const char *name)
{
    const char *value = http_query(r, name);
    return value && *value ? value : NULL;
}

collect_filter collect_filter_of(const http_request *r)
{
    return (collect_filter){.experiment = chosen(r, "experiment"),
                            .vendor = chosen(r, "vendor"),
                            .device = chosen(r, "device"),
                            .backend = chosen(r, "backend"),
                            .impl = chosen(r, "impl"),
                            .browser = chosen(r, "browser"),
                            .family = chosen(r, "show")};
}

bool collect_fail(http_request *r, const err *e)
{
    http_add_header(r, "Retry-After", "10");
    http_reply_line(r, 503, e->text);
    return false;
}

/* ---- lists --------------------------------------------------------------------------------- */

/* A whole number from `low` to `high`, or what holds without it. */
static bool read_whole(http_request *r, const char *name, uint64_t low, uint64_t high, uint64_t *out)
{
    const char *text = chosen(r, name);
    char *end;
    str line = {0};
    if (!text)
        return true;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && *out >= low && *out <= high)
        return true;
    str_addf(&line, "%s must be a whole number from %" PRIu64 " to %" PRIu64, name, low, high);
    http_reply_line(r, 400, line.data);
    str_free(&line);
    return false;
}

/* A name that is not known, or a second value, would ask for something else than what comes. The page itself takes any: links get some on
 * their way. */
static bool knows(http_request *r, const char *const known[])
{
    const char *name = http_unknown_query(r, known), *twice = name ? NULL : http_repeated_query(r, known);
    str line = {0};
    if (!name && !twice)
        return true;
    if (name)
        str_addf(&line, "there is no parameter \"%.40s\" here", name);
    else
        str_addf(&line, "%s is there more than once", twice);
    err_one_line(line.data);
    http_reply_line(r, 400, line.data);
    str_free(&line);
    return false;
}

#define FILTERS "experiment", "vendor", "device", "backend", "impl", "browser"

typedef struct list {
    jsonw j;
    uint64_t last;
    size_t count;
} list;

static void list_record(void *user, const collect_listed *c)
{
    list *l = user;
    jsonw *j = &l->j;
    jsonw_object(j, NULL);
    jsonw_count(j, "number", c->number);
    jsonw_text(j, "id", c->id);
    jsonw_text(j, "received", c->received);
    jsonw_text(j, "measured", c->measured);
    jsonw_text(j, "experiment", c->experiment);
    jsonw_text(j, "version", c->version);
    jsonw_text(j, "vendor", c->vendor);
    jsonw_text(j, "device", c->device);
    jsonw_text(j, "backend", c->backend);
    jsonw_text(j, "impl", c->impl);
    jsonw_text(j, "browser", c->browser);
    jsonw_bool(j, "software", c->is_software);
    jsonw_end(j);
    l->last = c->number;
    l->count++;
}

void collect_answer_list(collect_server *s, http_request *r)
{
    uint64_t limit = DEFAULT_LIST, before = 0;
    err e = {0};
    str out = {0};
    list l = {.j = jsonw_to(&out)};
    collect_filter f = collect_filter_of(r);
    static const char *const known[] = {FILTERS, "limit", "before", NULL};
    if (!knows(r, known) || !read_whole(r, "limit", 1, MOST_LIST, &limit) ||
        !read_whole(r, "before", 1, INT64_MAX, &before))
        return;
    jsonw_object(&l.j, NULL);
    jsonw_array(&l.j, "records");
    jsonw_rows(&l.j);
    if (collect_store_list(s->store, &f, before, (uint32_t)limit, list_record, &l, &e)) {
        jsonw_end(&l.j);
        /* the number to go on `before`; null: that was the last page */
        if (l.count == limit)
            jsonw_count(&l.j, "next", l.last);
        else
            jsonw_null(&l.j, "next");
        jsonw_end(&l.j);
        str_add(&out, "\n");
        http_reply_json(r, 200, &out);
    } else
        collect_fail(r, &e);
    str_free(&out);
}

void collect_answer_record(collect_server *s, http_request *r, const char *id)
{
    err e = {0};
    str body = {0};
    if (!collect_store_get(s->store, id, &body, &e))
        collect_fail(r, &e);
    else if (!body.length)
        http_reply_line(r, 404, "there is no record with this id");
    else
        http_reply_json(r, 200, &body);
    str_free(&body);
}

void collect_answer_standing(collect_server *s, http_request *r, const char *id)
{
    err e = {0};
    str out = {0};
    if (!collect_standing_json(&out, s->store, id, &e))
        collect_fail(r, &e);
    else if (!out.length)
        http_reply_line(r, 404, "there is no record with this id, or none that can be compared");
    else
        http_reply_json(r, 200, &out);
    str_free(&out);
}

void collect_answer_summary(collect_server *s, http_request *r)
{
    err e = {0};
    str out = {0};
    collect_summary summary;
    collect_filter f = collect_filter_of(r);
    collect_by by = COLLECT_BY_DEVICE;
    static const char *const known[] = {FILTERS, "show", "by", NULL};
    if (!knows(r, known))
        return;
    if (chosen(r, "by") && !collect_by_named(chosen(r, "by"), &by)) {
        http_reply_line(r, 400, "by must be device, vendor, backend, browser or impl");
        return;
    }
    if (!collect_summary_make(&summary, s->store, &f, by, &e)) {
        collect_fail(r, &e);
        return;
    }
    collect_summary_json(&out, &summary, by);
    http_reply_json(r, 200, &out);
    collect_summary_free(&summary);
    str_free(&out);
}

/* ---- everything ---------------------------------------------------------------------------- */

typedef struct export
{
    collect_store *store;
    uint64_t before;
    bool is_csv, has_begun;
}
export;

/* A cell of a table: spreadsheets take what begins like a formula for one. */
static void add_cell(str *out, const char *text)
{
    str_add(out, strchr("=+-@\t\r", *text) && *text ? "\"'" : "\"");
    str_add_replaced(out, text, "\"", "\"\"");
    str_add(out, "\",");
}

static void export_point(void *user, const collect_stored_point *p)
{
    str *out = user;
    const collect_point *q = &p->point;
    const char *const cells[] = {p->id,     p->measured, q->family, q->subject, q->variant, q->vendor,
                                 q->device, q->backend,  q->impl,   q->browser, q->unit};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        add_cell(out, cells[i]);
    str_addf(out, "%d,%.9g,%.9g,%.9g\r\n", q->is_software, q->value, q->lo, q->hi);
}

/* Which records come next; what is in them is read one by one, until a piece is large enough. */
typedef struct some_records {
    size_t count;
    uint64_t numbers[EXPORTED_AT_ONCE];
    char ids[EXPORTED_AT_ONCE][COLLECT_ID_BYTES];
} some_records;

static void note_record(void *user, const collect_listed *c)
{
    some_records *some = user;
    some->numbers[some->count] = c->number;
    memcpy(some->ids[some->count++], c->id, COLLECT_ID_BYTES);
}

static bool export_one(const export *e, const char *id, str *out, err *why)
{
    if (e->is_csv)
        return collect_store_points(e->store, &(collect_filter){.id = id}, export_point, out, why);
    bool ok = collect_store_get(e->store, id, out, why);
    str_add(out, "\n");
    return ok;
}

static bool export_more(void *user, str *out)
{
    export *e = user;
    err why = {0};
    some_records some = {0};
    size_t i = 0;
    if (e->is_csv && !e->has_begun)
        str_add(out,
                "id,measured,family,subject,variant,vendor,device,backend,impl,browser,unit,software,median,lo,hi\r\n");
    e->has_begun = true;
    bool ok = collect_store_list(e->store, &(collect_filter){0}, e->before, EXPORTED_AT_ONCE, note_record, &some, &why);
    for (; ok && i < some.count && out->length < EXPORT_PIECE; i++) {
        ok = export_one(e, some.ids[i], out, &why);
        e->before = some.numbers[i];
    }
    if (!ok) /* it must not look complete */
        str_addf(out, e->is_csv ? "error,%s\r\n" : "{\"error\": \"%s\"}\n", "the database cannot be read");
    return ok && (i < some.count || some.count == EXPORTED_AT_ONCE);
}

static void answer_export(collect_server *s, http_request *r, bool is_csv)
{
    static const char *const none[] = {NULL};
    if (!knows(r, none))
        return;
    export *e = mem_alloc(sizeof *e);
    *e = (export){.store = s->store, .is_csv = is_csv};
    http_reply_stream(r, 200, is_csv ? "text/csv; charset=utf-8" : "application/x-ndjson",
                      &(http_stream){.more = export_more, .done = free, .user = e});
}

void collect_answer_ndjson(collect_server *s, http_request *r)
{
    answer_export(s, r, false);
}

void collect_answer_csv(collect_server *s, http_request *r)
{
    answer_export(s, r, true);
}
