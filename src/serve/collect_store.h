/* collect_store: the records and their points in a database.
 *
 * Several threads may use it at once. Records that arrive at the same time are written in one transaction, since what
 * takes time is waiting for the disk; collect_store_add returns when the record is on it. */
#ifndef SOLO_SERVE_COLLECT_STORE_H
#define SOLO_SERVE_COLLECT_STORE_H

#include "serve/collect_check.h"
#include "serve/collect_db.h"
#include "serve/collect_points.h"

typedef struct collect_store collect_store;

/* Makes the tables, or brings those of an earlier version to this one's. A newer version's are refused. */
collect_store *collect_store_open(const char *where, err *e);
void collect_store_close(collect_store *s);

/* `*is_new`: false if this record was there already. */
bool collect_store_add(collect_store *s, const collect_record *r, const collect_points *points, bool *is_new, err *e);

/* What to choose by; NULL chooses all. */
typedef struct collect_filter {
    const char *experiment, *vendor, *device, *backend, *impl, *browser;
    const char *family, *subject; /* of points alone */
    const char *id;               /* of points: of this record alone */
} collect_filter;

typedef struct collect_listed {
    uint64_t number; /* counts up with each that arrives */
    const char *id, *received, *measured, *experiment, *vendor, *device, *backend, *impl, *browser, *version;
    bool is_software;
} collect_listed;

/* The newest first, those with a smaller number than `before` (0: from the newest), `limit` at most. */
bool collect_store_list(collect_store *s, const collect_filter *f, uint64_t before, uint32_t limit,
                        void (*each)(void *user, const collect_listed *r), void *user, err *e);
/* The text of a record; nothing is added if there is none. */
bool collect_store_get(collect_store *s, const char *id, str *body, err *e);

typedef struct collect_stored_point {
    collect_point point;
    const char *id, *measured;
} collect_stored_point;

/* Ordered by family, subject and variant. */
bool collect_store_points(collect_store *s, const collect_filter *f,
                          void (*each)(void *user, const collect_stored_point *p), void *user, err *e);

/* The different values that points have of vendor, device, backend, impl or browser, the first 100 in order. */
bool collect_store_values(collect_store *s, const char *column, void (*each)(void *user, const char *value), void *user,
                          err *e);

/* How many records there are. */
bool collect_store_count(collect_store *s, uint64_t *count, err *e);
/* Changes when something was added here. */
uint64_t collect_store_changes(collect_store *s);

#endif
