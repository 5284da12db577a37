/* collect_store: one connection that writes, one that reads, and who waits for whom. */
#include "serve/collect_store.h"

#include "base/clock.h"
#include "base/str.h"
#include "serve/collect_schema.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A record that waits to be written, on the stack of the thread that waits. */
typedef struct job {
    const collect_record *record;
    const collect_points *points;
    struct job *next;
    bool is_done, is_new, ok;
    err e;
} job;

struct collect_store {
    collect_db writes, reads;
    pthread_mutex_t reading;
    /* All below is behind `writing`, and so is `writes` unless is_writing. */
    pthread_mutex_t writing;
    pthread_cond_t written;
    job *first, *last;
    bool is_writing; /* some thread writes what the others have queued, too */
    uint64_t changes;
};

collect_store *collect_store_open(const char *where, err *e)
{
    collect_store *s = mem_alloc(sizeof *s);
    pthread_mutex_init(&s->reading, NULL);
    pthread_mutex_init(&s->writing, NULL);
    pthread_cond_init(&s->written, NULL);
    if (collect_db_open(&s->writes, where, e) && collect_schema_migrate(&s->writes, e) &&
        collect_db_open(&s->reads, where, e))
        return s;
    collect_store_close(s);
    return NULL;
}

void collect_store_close(collect_store *s)
{
    collect_db_close(&s->writes);
    collect_db_close(&s->reads);
    pthread_mutex_destroy(&s->reading);
    pthread_mutex_destroy(&s->writing);
    pthread_cond_destroy(&s->written);
    free(s);
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { POINT_COLUMNS = 14, NUMBER_BYTES = 32 };

/* All points of a record by one statement. */
static bool insert_points(collect_db *db, const char *id, const collect_points *points, err *e)
{
    const char **params = mem_alloc(points->count * POINT_COLUMNS * sizeof *params);
    char(*numbers)[NUMBER_BYTES] = mem_alloc(points->count * 3 * sizeof *numbers);
    str sql = {0};
    str_add(&sql, "INSERT INTO points (id, family, subject, variant, unit, vendor, device, backend, impl, browser, "
                  "software, value, lo, hi) VALUES ");
    for (size_t i = 0, k = 1; i < points->count; i++) {
        const collect_point *q = &points->items[i];
        const double values[] = {q->value, q->lo, q->hi};
        for (int v = 0; v < 3; v++)
            snprintf(numbers[3 * i + (size_t)v], NUMBER_BYTES, "%.17g", values[v]);
        const char *const row[POINT_COLUMNS] = {id,
                                                q->family,
                                                q->subject,
                                                q->variant,
                                                q->unit,
                                                q->vendor,
                                                q->device,
                                                q->backend,
                                                q->impl,
                                                q->browser,
                                                q->is_software ? "1" : "0",
                                                numbers[3 * i],
                                                numbers[3 * i + 1],
                                                numbers[3 * i + 2]};
        memcpy(params + i * POINT_COLUMNS, row, sizeof row);
        for (int c = 0; c < POINT_COLUMNS; c++, k++)
            str_addf(&sql, "%s$%zu", c ? ", " : i ? "), (" : "(", k);
    }
    str_add(&sql, ")");
    bool ok = collect_db_run(db, sql.data, params, points->count * POINT_COLUMNS, NULL, NULL, NULL, e);
    str_free(&sql);
    free(numbers);
    free(params);
    return ok;
}

static bool insert_record(collect_db *db, job *j)
{
    const record_view *view = &j->record->view;
    const collect_point *from = &j->points->origin;
    char received[32];
    uint64_t inserted = 0;
    clock_utc(received);
    const char *const params[] = {j->record->id,
                                  received,
                                  view->when,
                                  view->experiment,
                                  view->version,
                                  from->vendor,
                                  from->device,
                                  from->backend,
                                  from->impl,
                                  from->browser,
                                  from->is_software ? "1" : "0",
                                  j->record->body.data};
    if (!collect_db_run(
            db,
            "INSERT INTO records (id, received, measured, experiment, version, vendor, device, backend, impl, "
            "browser, software, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) "
            "ON CONFLICT (id) DO NOTHING",
            params, sizeof params / sizeof *params, NULL, NULL, &inserted, &j->e))
        return false;
    j->is_new = inserted > 0;
    return !j->is_new || !j->points->count || insert_points(db, j->record->id, j->points, &j->e);
}

/* The jobs from `first` up to `end` in one transaction. */
static bool write_once(collect_db *db, job *first, const job *end)
{
    err ignored = {0};
    bool ok = collect_db_do(db, "BEGIN", &first->e);
    for (job *j = first; ok && j != end; j = j->next)
        if (!(ok = insert_record(db, j)) && j != first)
            first->e = j->e;
    ok = ok && collect_db_do(db, "COMMIT", &first->e);
    if (!ok)
        collect_db_do(db, "ROLLBACK", &ignored);
    return ok;
}

static bool write_jobs(collect_db *db, job *first, const job *end)
{
    bool ok = write_once(db, first, end);
    if (!ok && db->engine->reconnect(db->connection)) {
        /* was it committed before the connection broke? Then they are there now, and are not new */
        err_clear(&first->e);
        ok = write_once(db, first, end);
    }
    return ok;
}

/* A record that cannot be written must not take others with it. */
static void write_batch(collect_db *db, job *first)
{
    bool ok = write_jobs(db, first, NULL);
    for (job *j = first; j; j = j->next) {
        j->ok = ok;
        if (ok || !first->next)
            continue;
        err_clear(&j->e);
        j->ok = write_jobs(db, j, j->next);
    }
}

bool collect_store_add(collect_store *s, const collect_record *r, const collect_points *points, bool *is_new, err *e)
{
    job mine = {.record = r, .points = points};
    pthread_mutex_lock(&s->writing);
    if (s->last)
        s->last->next = &mine;
    else
        s->first = &mine;
    s->last = &mine;
    while (!mine.is_done && s->is_writing)
        pthread_cond_wait(&s->written, &s->writing);
    if (!mine.is_done) {
        job *batch = s->first;
        s->first = s->last = NULL;
        s->is_writing = true;
        pthread_mutex_unlock(&s->writing);
        write_batch(&s->writes, batch);
        pthread_mutex_lock(&s->writing);
        s->is_writing = false;
        s->changes++;
        /* a job is gone as soon as its thread may see that it is done: its successor is read before */
        for (job *j = batch, *next; j; j = next) {
            next = j->next;
            j->is_done = true;
        }
        pthread_cond_broadcast(&s->written);
    }
    pthread_mutex_unlock(&s->writing);
    *is_new = mine.is_new;
    return mine.ok || err_set(e, "%s", mine.e.text);
}

uint64_t collect_store_changes(collect_store *s)
{
    pthread_mutex_lock(&s->writing);
    uint64_t changes = s->changes;
    pthread_mutex_unlock(&s->writing);
    return changes;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_rows(collect_store *s, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                      void *user, err *e)
{
    pthread_mutex_lock(&s->reading);
    err first = {0};
    bool ok = collect_db_run(&s->reads, sql, params, count, row, user, NULL, &first);
    if (!ok && s->reads.engine->reconnect(s->reads.connection))
        ok = collect_db_run(&s->reads, sql, params, count, row, user, NULL, e);
    else if (!ok)
        err_set(e, "%s", first.text);
    pthread_mutex_unlock(&s->reading);
    return ok;
}

/* " AND column = $N ..." for what is chosen by; returns how many parameters there are now. */
static size_t add_filter(str *sql, const collect_filter *f, bool of_points, const char **params)
{
    const struct {
        const char *column, *value;
        bool of_records, of_points;
    } all[] = {{"experiment", f->experiment, true, false},
               {"vendor", f->vendor, true, true},
               {"device", f->device, true, true},
               {"backend", f->backend, true, true},
               {"impl", f->impl, true, true},
               {"browser", f->browser, true, true},
               {"family", f->family, false, true},
               {"subject", f->subject, false, true},
               {"id", f->id, true, true}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value && (of_points ? all[i].of_points : all[i].of_records)) {
            params[count++] = all[i].value;
            str_addf(sql, " AND %s%s = $%zu", of_points ? "points." : "", all[i].column, count);
        }
    return count;
}

typedef struct lister {
    void (*each)(void *user, const collect_listed *r);
    void *user;
} lister;

static bool list_row(void *user, const char *const *c, err *e)
{
    (void)e;
    const lister *l = user;
    collect_listed r = {.number = strtoull(c[0], NULL, 10),
                        .id = c[1],
                        .received = c[2],
                        .measured = c[3],
                        .experiment = c[4],
                        .version = c[5],
                        .vendor = c[6],
                        .device = c[7],
                        .backend = c[8],
                        .impl = c[9],
                        .browser = c[10],
                        .is_software = strcmp(c[11], "0") != 0};
    l->each(l->user, &r);
    return true;
}

bool collect_store_list(collect_store *s, const collect_filter *f, uint64_t before, uint32_t limit,
                        void (*each)(void *user, const collect_listed *r), void *user, err *e)
{
    const char *params[16];
    lister l = {each, user};
    str sql = {0};
    str_add(&sql, "SELECT number, id, received, measured, experiment, version, vendor, device, backend, impl, browser, "
                  "software FROM records WHERE 1 = 1");
    size_t count = add_filter(&sql, f, false, params);
    if (before)
        str_addf(&sql, " AND number < %" PRIu64, before);
    str_addf(&sql, " ORDER BY number DESC LIMIT %" PRIu32, limit);
    bool ok = read_rows(s, sql.data, params, count, list_row, &l, e);
    str_free(&sql);
    return ok;
}

static bool take_text(void *user, const char *const *c, err *e)
{
    (void)e;
    str_add(user, c[0]);
    return true;
}

bool collect_store_get(collect_store *s, const char *id, str *body, err *e)
{
    return read_rows(s, "SELECT body FROM records WHERE id = $1", &id, 1, take_text, body, e);
}

bool collect_store_count(collect_store *s, uint64_t *count, err *e)
{
    str text = {0};
    bool ok = read_rows(s, "SELECT COUNT(*) FROM records", NULL, 0, take_text, &text, e);
    *count = ok && text.data ? strtoull(text.data, NULL, 10) : 0;
    str_free(&text);
    return ok;
}

typedef struct pointer {
    void (*each)(void *user, const collect_stored_point *p);
    void *user;
} pointer;

static bool point_row(void *user, const char *const *c, err *e)
{
    (void)e;
    const pointer *p = user;
    collect_stored_point q = {.id = c[0],
                              .measured = c[14],
                              .point = {.family = c[1],
                                        .subject = c[2],
                                        .variant = c[3],
                                        .unit = c[4],
                                        .vendor = c[5],
                                        .device = c[6],
                                        .backend = c[7],
                                        .impl = c[8],
                                        .browser = c[9],
                                        .is_software = strcmp(c[10], "0") != 0,
                                        .value = strtod(c[11], NULL),
                                        .lo = strtod(c[12], NULL),
                                        .hi = strtod(c[13], NULL)}};
    p->each(p->user, &q);
    return true;
}

bool collect_store_points(collect_store *s, const collect_filter *f,
                          void (*each)(void *user, const collect_stored_point *p), void *user, err *e)
{
    const char *params[16];
    pointer p = {each, user};
    str sql = {0};
    str_add(&sql, "SELECT points.id, family, subject, variant, unit, points.vendor, points.device, points.backend, "
                  "points.impl, points.browser, points.software, value, lo, hi, measured FROM points "
                  "JOIN records ON records.id = points.id WHERE 1 = 1");
    size_t count = add_filter(&sql, f, true, params);
    str_add(&sql, " ORDER BY family, subject, variant, number");
    bool ok = read_rows(s, sql.data, params, count, point_row, &p, e);
    str_free(&sql);
    return ok;
}

typedef struct valuer {
    void (*each)(void *user, const char *value);
    void *user;
} valuer;

static bool value_row(void *user, const char *const *c, err *e)
{
    (void)e;
    const valuer *v = user;
    v->each(v->user, c[0]);
    return true;
}

bool collect_store_values(collect_store *s, const char *column, void (*each)(void *user, const char *value), void *user,
                          err *e)
{
    valuer v = {each, user};
    str sql = {0};
    str_addf(&sql, "SELECT DISTINCT %s FROM points ORDER BY 1 LIMIT 100", column);
    bool ok = read_rows(s, sql.data, NULL, 0, value_row, &v, e);
    str_free(&sql);
    return ok;
}
