/* collect_schema: creates and migrates tables; one transaction per version. */
#include "serve/collect_schema.h"

#include "base/str.h"

#include <stdlib.h>

/* {serial} is the engine's own. Steps are never changed once released: a new version is a new step. */
static const char *const STEPS[COLLECT_SCHEMA_VERSION][8] = {
    {
        "CREATE TABLE records (number {serial}, id TEXT NOT NULL UNIQUE, received TEXT NOT NULL, measured TEXT NOT "
        "NULL,"
        " experiment TEXT NOT NULL, version TEXT NOT NULL, vendor TEXT NOT NULL, device TEXT NOT NULL,"
        " backend TEXT NOT NULL, impl TEXT NOT NULL, browser TEXT NOT NULL, software INTEGER NOT NULL,"
        " body TEXT NOT NULL)",
        "CREATE TABLE points (id TEXT NOT NULL REFERENCES records (id), family TEXT NOT NULL, subject TEXT NOT NULL,"
        " variant TEXT NOT NULL, unit TEXT NOT NULL, vendor TEXT NOT NULL, device TEXT NOT NULL, backend TEXT NOT NULL,"
        " impl TEXT NOT NULL, browser TEXT NOT NULL, software INTEGER NOT NULL, value DOUBLE PRECISION NOT NULL,"
        " lo DOUBLE PRECISION NOT NULL, hi DOUBLE PRECISION NOT NULL, PRIMARY KEY (id, family, subject, variant, "
        "impl))",
        NULL,
    },
    /* pages and lists choose by these */
    {
        "CREATE INDEX points_by_subject ON points (family, subject, variant)",
        "CREATE INDEX records_by_experiment ON records (experiment, number)",
        NULL,
    },
};

static bool read_version(void *user, const char *const *columns, err *e)
{
    (void)e;
    *(long *)user = columns[0] ? strtol(columns[0], NULL, 10) : 0;
    return true;
}

static bool take_step(collect_db *db, int version, err *e)
{
    for (const char *const *step = STEPS[version - 1]; *step; step++) {
        str sql = {0};
        str_add_replaced(&sql, *step, "{serial}", db->engine->serial);
        bool ok = collect_db_do(db, sql.data, e);
        str_free(&sql);
        if (!ok)
            return false;
    }
    str sql = {0};
    str_addf(&sql, "INSERT INTO solo_schema (version) VALUES (%d)", version);
    bool ok = collect_db_do(db, sql.data, e);
    str_free(&sql);
    return ok;
}

/* Of two collectors that start at once, the second one's transaction fails or waits, and then finds it done. */
static bool migrate_once(collect_db *db, err *e)
{
    long version = 0;
    if (!collect_db_do(db, "CREATE TABLE IF NOT EXISTS solo_schema (version INTEGER PRIMARY KEY)", e) ||
        !collect_db_run(db, "SELECT MAX(version) FROM solo_schema", NULL, 0, read_version, &version, NULL, e))
        return false;
    if (version > COLLECT_SCHEMA_VERSION)
        return err_set(e, "the database has tables of version %ld, from a newer Solo; this one knows %d", version,
                       COLLECT_SCHEMA_VERSION);
    for (int next = (int)version + 1; next <= COLLECT_SCHEMA_VERSION; next++) {
        err ignored = {0};
        if (!collect_db_do(db, "BEGIN", e))
            return false;
        if (take_step(db, next, e) && collect_db_do(db, "COMMIT", e))
            continue;
        collect_db_do(db, "ROLLBACK", &ignored);
        return false;
    }
    return true;
}

bool collect_schema_migrate(collect_db *db, err *e)
{
    err first = {0};
    if (migrate_once(db, &first))
        return true;
    return migrate_once(db, e);
}
