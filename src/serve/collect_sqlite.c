/* collect_sqlite: the collector's database as one file, by SQLite. */
#include "serve/collect_db.h"

#include "base/str.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* How long to wait for another process that is writing, say an import beside a running collector. */
enum { BUSY_MS = 10000 };

static bool fail(sqlite3 *db, err *e)
{
    return err_set(e, "SQLite: %s", sqlite3_errmsg(db));
}

static bool bind(sqlite3_stmt *s, const char *const *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int result = params[i] ? sqlite3_bind_text(s, (int)i + 1, params[i], -1, SQLITE_STATIC)
                               : sqlite3_bind_null(s, (int)i + 1);
        if (result != SQLITE_OK)
            return false;
    }
    return true;
}

/* True: there was a row, and there may be more. */
static bool step(sqlite3 *db, sqlite3_stmt *s, collect_row_fn *row, void *user, bool *ok, err *e)
{
    const char *columns[COLLECT_DB_MAX_PARAMS];
    int result = sqlite3_step(s);
    if (result == SQLITE_DONE)
        return false;
    if (result != SQLITE_ROW) {
        *ok = fail(db, e);
        return false;
    }
    int count = sqlite3_column_count(s);
    for (int i = 0; i < count && i < COLLECT_DB_MAX_PARAMS; i++)
        columns[i] = (const char *)sqlite3_column_text(s, i);
    if (!row || row(user, columns, e))
        return true;
    *ok = e->kind == ERR_NONE;
    return false;
}

/* A file that has another name now, or none, is not where records will be looked for. */
static bool has_moved(sqlite3 *db, err *e)
{
    int moved = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return false;
    err_set(e, "SQLite: the file was moved, replaced or deleted while the collector has it open");
    return true;
}

static bool run(void *connection, const char *sql, const char *const *params, size_t count, collect_row_fn *row,
                void *user, uint64_t *changed, err *e)
{
    sqlite3 *db = connection;
    sqlite3_stmt *s = NULL;
    bool ok = true;
    int before = sqlite3_total_changes(db);
    if (has_moved(db, e))
        return false;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK || !bind(s, params, count))
        ok = fail(db, e);
    while (ok && step(db, s, row, user, &ok, e))
        ;
    sqlite3_finalize(s);
    if (changed)
        *changed = (uint64_t)(sqlite3_total_changes(db) - before);
    return ok;
}

/* A file does not go away. */
static bool reconnect(void *connection)
{
    (void)connection;
    return false;
}

static void close_file(void *connection)
{
    sqlite3_close(connection);
}

const collect_engine collect_sqlite = {
    .serial = "INTEGER PRIMARY KEY AUTOINCREMENT", .run = run, .reconnect = reconnect, .close = close_file};

void *collect_sqlite_open(const char *path, err *e)
{
    sqlite3 *db = NULL;
    err why = {0};
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        err_set(e, "%s: %s", path, db ? sqlite3_errmsg(db) : "cannot be opened");
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, BUSY_MS);
    /* readers go on while there is a writer; FULL: a commit is on the disk when it returns, and after a power cut, too */
    static const char *const settings[] = {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                                           "PRAGMA trusted_schema = OFF", "PRAGMA foreign_keys = ON"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!run(db, settings[i], NULL, 0, NULL, NULL, NULL, &why)) {
            err_set(e, "%s: %s", path, why.text);
            sqlite3_close(db);
            return NULL;
        }
    return db;
}
