/* index_impl.h: what the files of the index share. */
#ifndef COMMON_STORE_INDEX_IMPL_H
#define COMMON_STORE_INDEX_IMPL_H

#include <sqlite3.h>

#include "common/store/index.h"

enum { INDEX_PATH_BYTES = 600 };

enum query {
	Q_NEXT,
	Q_LAST_FRAGMENT,
	Q_LAST_IMAGE,
	Q_LAST_PACK,
	Q_SET_NEXT,
	Q_ADD_FRAGMENT,
	Q_FIND_FRAGMENT,
	Q_FIND_RAW,
	Q_GET_FRAGMENT,
	Q_FRAGMENT_FROM,
	Q_PLACES_FROM,
	Q_MOVE_FRAGMENT,
	Q_DELETE_FRAGMENT,
	Q_PUT_PACK,
	Q_DELETE_PACK,
	Q_PACK_FROM,
	Q_PACK_END,
	Q_ADD_IMAGE,
	Q_FIND_IMAGE,
	Q_LATEST_IMAGE,
	Q_MOVE_IMAGE,
	Q_DELETE_IMAGE,
	Q_EACH_IMAGE,
	Q_COUNT_VERSIONS,
	Q_TOTAL_FRAGMENTS,
	Q_TOTAL_IMAGES,
	Q_TOTAL_PACKS,
	Q_CHECK,
	QUERIES
};

struct index {
	sqlite3 *db;
	char path[INDEX_PATH_BYTES];
	bool full; /* there is no room to do more than read */
	sqlite3_stmt *stmt[QUERIES];
};

/* What SQLite complained of last. */
int err_index(const struct index *, struct err *);
/* Statements that give no rows. */
int index_run(struct index *, const char *sql, struct err *);

#endif /* COMMON_STORE_INDEX_IMPL_H */
