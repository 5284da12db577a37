/* collect_schema: the tables of the collector's database, and how those of one version become the next one's. */
#ifndef SOLO_SERVE_COLLECT_SCHEMA_H
#define SOLO_SERVE_COLLECT_SCHEMA_H

#include "serve/collect_db.h"

enum { COLLECT_SCHEMA_VERSION = 2 };

/* Brings the tables to this version, whatever version they have or if there are none. */
bool collect_schema_migrate(collect_db *db, err *e);

#endif
