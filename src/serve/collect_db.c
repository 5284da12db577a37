/* collect_db: which of the two engines an address means, and calls through its table. */
#include "serve/collect_db.h"

#include <string.h>

bool collect_db_open(collect_db *db, const char *where, err *e)
{
    bool is_url = strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
    if (!is_url && strstr(where, "://"))
        return err_set(e, "--db takes a file or postgresql://..., not %s", where);
    db->engine = is_url ? &collect_postgres : &collect_sqlite;
    db->connection = is_url ? collect_postgres_open(where, e) : collect_sqlite_open(where, e);
    return db->connection != NULL;
}

void collect_db_close(collect_db *db)
{
    if (db->connection)
        db->engine->close(db->connection);
    *db = (collect_db){0};
}

bool collect_db_run(collect_db *db, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                    void *user, uint64_t *changed, err *e)
{
    return db->engine->run(db->connection, sql, params, count, row, user, changed, e);
}

bool collect_db_do(collect_db *db, const char *sql, err *e)
{
    return collect_db_run(db, sql, NULL, 0, NULL, NULL, NULL, e);
}
