/* collect_serve_page: the leaderboard and reports over HTTP, with headers for texts that nobody vouches for. */
#include "serve/collect_internal.h"

#include "base/clock.h"
#include "lab/report.h"

#include <string.h>

/* Another collector may have written to the same database: pages are made again after this long. */
static const double PAGE_AGE_S = 10;

static void reply_page(http_request *r, unsigned status, const str *text)
{
    http_add_header(r, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
                    "frame-ancestors 'none'");
    http_add_header(r, "Referrer-Policy", "no-referrer");
    http_add_header(r, "Cache-Control", "no-cache");
    http_reply(r, status, "text/html; charset=utf-8", text->data, text->length);
}

static void add_key(str *key, const collect_view *v)
{
    const collect_filter *f = &v->filter;
    const char *const parts[] = {f->experiment, f->vendor, f->device, f->backend, f->impl, f->browser, f->family};
    str_addf(key, "%d", (int)v->by);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        str_addf(key, " %zu ", parts[i] ? strlen(parts[i]) + 1 : 0);
        str_add(key, parts[i] ? parts[i] : "");
    }
}

/* The page of this key, made if it is not there: one at a time, so that many who ask do not all work. */
static bool find_page(collect_server *s, const collect_view *v, const str *key, str *out, err *e)
{
    double now_s = clock_us() / 1e6;
    uint64_t changes = collect_store_changes(s->store);
    for (uint32_t i = 0; i < COLLECT_PAGES; i++) {
        const collect_cached *p = &s->pages[i];
        if (p->key.data && strcmp(p->key.data, key->data) == 0 && p->changes == changes &&
            now_s - p->made_s < PAGE_AGE_S) {
            str_add(out, p->text.data);
            return true;
        }
    }
    if (!collect_page(out, s->store, v, e))
        return false;
    collect_cached *p = &s->pages[s->next_page++ % COLLECT_PAGES];
    str_free(&p->key);
    str_free(&p->text);
    *p = (collect_cached){.changes = changes, .made_s = now_s};
    str_add(&p->key, key->data);
    str_add(&p->text, out->data);
    return true;
}

void collect_answer_page(collect_server *s, http_request *r)
{
    err e = {0};
    str key = {0}, out = {0};
    const char *by = http_query(r, "by");
    collect_view v = {.filter = collect_filter_of(r)};
    if (by && *by && !collect_by_named(by, &v.by)) {
        http_reply_line(r, 400, "by must be device, vendor, backend, browser or impl");
        return;
    }
    add_key(&key, &v);
    pthread_mutex_lock(&s->mutex);
    bool ok = find_page(s, &v, &key, &out, &e);
    pthread_mutex_unlock(&s->mutex);
    if (ok)
        reply_page(r, 200, &out);
    else
        collect_fail(r, &e);
    str_free(&key);
    str_free(&out);
}

void collect_answer_report(collect_server *s, http_request *r, const char *id)
{
    err e = {0};
    str body = {0}, page = {0};
    record_view view;
    if (!collect_store_get(s->store, id, &body, &e)) {
        collect_fail(r, &e);
    } else if (!body.length) {
        http_reply_line(r, 404, "there is no record with this id");
    } else if (!record_view_parse(&view, id, body.data, body.length, &e)) {
        collect_fail(r, &e);
    } else {
        report_page(&page, &view, 1);
        reply_page(r, 200, &page);
        record_view_free(&view);
    }
    str_free(&body);
    str_free(&page);
}
