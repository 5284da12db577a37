/* collect_db: one connection to a database, SQLite or PostgreSQL, as far as the collector needs one.
 *
 * Both understand the same SQL: parameters are $1, $2 ... in the order in which they first stand there, every value is
 * passed and returned as text, NULL as NULL. A connection belongs to one thread at a time. What was committed is on the
 * disk: with SQLite a commit waits for fsync, with PostgreSQL for the server's. */
#ifndef SOLO_SERVE_COLLECT_DB_H
#define SOLO_SERVE_COLLECT_DB_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct collect_db collect_db;

enum { COLLECT_DB_MAX_PARAMS = 24 };

/* Called for each row. False ends the query, with or without an error. */
typedef bool collect_row_fn(void *user, const char *const *columns, err *e);

/* What each of the two provides. */
typedef struct collect_engine {
    const char *serial; /* how it declares a key that counts by itself */
    bool (*run)(void *connection, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                void *user, uint64_t *changed, err *e);
    /* Is the connection gone, and back again after this? What was not committed is lost. */
    bool (*reconnect)(void *connection);
    void (*close)(void *connection);
} collect_engine;

struct collect_db {
    const collect_engine *engine;
    void *connection;
};

/* `where`: a file, or postgresql://... */
bool collect_db_open(collect_db *db, const char *where, err *e);
void collect_db_close(collect_db *db);

/* `row` may be NULL, and so may `changed`: how many rows a statement inserted or deleted. */
bool collect_db_run(collect_db *db, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                    void *user, uint64_t *changed, err *e);
/* The same without parameters and rows. */
bool collect_db_do(collect_db *db, const char *sql, err *e);

/* ---- the engines ---------------------------------------------------------------------------- */

extern const collect_engine collect_sqlite, collect_postgres;
void *collect_sqlite_open(const char *path, err *e);
void *collect_postgres_open(const char *url, err *e);

#endif
