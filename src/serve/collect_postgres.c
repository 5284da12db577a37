/* collect_postgres: the collector's database on a PostgreSQL server, by libpq, which is looked for at run time. What is
 * used of it has had the same binary interface since libpq.so.5 came to be, so that its header is not needed. */
#include "serve/collect_db.h"

#include "base/os.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct PGconn PGconn;
typedef struct PGresult PGresult;

enum { CONNECTION_OK = 0, PGRES_EMPTY_QUERY = 0, PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2 };

typedef struct postgres {
    PGconn *c;
    PGconn *(*connect)(const char *);
    void (*finish)(PGconn *);
    void (*reset)(PGconn *);
    int (*status)(const PGconn *);
    char *(*error)(const PGconn *);
    PGresult *(*exec)(PGconn *, const char *, int, const unsigned *, const char *const *, const int *, const int *,
                      int);
    int (*result_status)(const PGresult *);
    int (*rows)(const PGresult *);
    int (*columns)(const PGresult *);
    char *(*value)(const PGresult *, int, int);
    int (*is_null)(const PGresult *, int, int);
    char *(*affected)(PGresult *);
    void (*clear)(PGresult *);
    void *(*set_notices)(PGconn *, void (*)(void *, const char *), void *);
} postgres;

static bool load(postgres *p, err *e)
{
    void *library = os_load_library("libpq.so.5");
    if (!library)
        return err_set(e,
                       "a PostgreSQL server is reached by libpq.so.5, which is not on this machine (Debian's package "
                       "is libpq5)");
    const struct {
        void *to;
        const char *name;
    } wanted[] = {{&p->connect, "PQconnectdb"},
                  {&p->finish, "PQfinish"},
                  {&p->reset, "PQreset"},
                  {&p->status, "PQstatus"},
                  {&p->error, "PQerrorMessage"},
                  {&p->exec, "PQexecParams"},
                  {&p->result_status, "PQresultStatus"},
                  {&p->rows, "PQntuples"},
                  {&p->columns, "PQnfields"},
                  {&p->value, "PQgetvalue"},
                  {&p->is_null, "PQgetisnull"},
                  {&p->affected, "PQcmdTuples"},
                  {&p->clear, "PQclear"},
                  {&p->set_notices, "PQsetNoticeProcessor"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*(void **)wanted[i].to = dlsym(library, wanted[i].name)))
            return err_set(e, "libpq.so.5 has no %s", wanted[i].name);
    return true;
}

/* The first line of what it says, which may name the server but not the password. */
static bool fail(postgres *p, err *e)
{
    const char *text = p->error(p->c);
    return err_set(e, "PostgreSQL: %.*s", (int)strcspn(text, "\n"), text);
}

static bool hand_out_rows(postgres *p, PGresult *r, collect_row_fn *row, void *user, err *e)
{
    const char *columns[COLLECT_DB_MAX_PARAMS];
    int count = p->columns(r), rows = p->rows(r);
    for (int i = 0; row && i < rows; i++) {
        for (int k = 0; k < count && k < COLLECT_DB_MAX_PARAMS; k++)
            columns[k] = p->is_null(r, i, k) ? NULL : p->value(r, i, k);
        if (!row(user, columns, e))
            return e->kind == ERR_NONE;
    }
    return true;
}

static bool run(void *connection, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                void *user, uint64_t *changed, err *e)
{
    postgres *p = connection;
    PGresult *r = p->exec(p->c, sql, (int)count, NULL, params, NULL, NULL, 0);
    int status = p->result_status(r);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!ok)
        fail(p, e);
    if (ok && changed)
        *changed = strtoull(p->affected(r), NULL, 10);
    ok = ok && hand_out_rows(p, r, row, user, e);
    p->clear(r);
    return ok;
}

/* A server may be set to answer before it has written; not for these connections. */
static bool prepare(postgres *p, err *e)
{
    return run(p, "SET synchronous_commit = on", NULL, 0, NULL, NULL, NULL, e) &&
           run(p, "SET client_encoding = 'UTF8'", NULL, 0, NULL, NULL, NULL, e);
}

static bool reconnect(void *connection)
{
    postgres *p = connection;
    err ignored = {0};
    if (p->status(p->c) == CONNECTION_OK)
        return false;
    p->reset(p->c);
    return p->status(p->c) == CONNECTION_OK && prepare(p, &ignored);
}

static void close_connection(void *connection)
{
    postgres *p = connection;
    if (p->c)
        p->finish(p->c);
    free(p);
}

const collect_engine collect_postgres = {
    .serial = "BIGSERIAL PRIMARY KEY", .run = run, .reconnect = reconnect, .close = close_connection};

/* "relation exists already, skipping": of no interest */
static void ignore_notice(void *user, const char *text)
{
    (void)user, (void)text;
}

void *collect_postgres_open(const char *url, err *e)
{
    postgres *p = mem_alloc(sizeof *p);
    if (!load(p, e)) {
        free(p);
        return NULL;
    }
    p->c = p->connect(url);
    if (p->status(p->c) == CONNECTION_OK) {
        p->set_notices(p->c, ignore_notice, NULL);
        if (prepare(p, e))
            return p;
    } else
        fail(p, e);
    close_connection(p);
    return NULL;
}
