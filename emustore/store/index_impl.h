/* index_impl.h: what the files of the index share.
 *
 * index.c opens it; index_schema.c says which tables it has; index_query.c asks;
 * index_fragments.c, index_packs.c and index_images.c are its tables.
 */
#ifndef EMUSTORE_STORE_INDEX_IMPL_H
#define EMUSTORE_STORE_INDEX_IMPL_H

#include <sqlite3.h>

#include "emustore/store/index.h"

enum { INDEX_PATH_BYTES = 4096, INDEX_VERSION = 3 };

enum query {
	Q_ADD_FRAGMENT,
	Q_FIND_FRAGMENT,
	Q_HAS_RAW,
	Q_FIND_RAW,
	Q_LAST_FRAGMENT,
	Q_COUNT_FRAGMENTS,
	Q_FIND_NUMBER,
	Q_PLACES_FROM,
	Q_ADD_PACK,
	Q_ADD_SPARE,
	Q_FIND_PACK,
	Q_GET_PACK,
	Q_EACH_PACK,
	Q_CONDEMN,
	Q_DROP_SPARES,
	Q_DROP_PACK,
	Q_ADD_IMAGE,
	Q_FIND_IMAGE,
	Q_LATEST_IMAGE,
	Q_FIND_KEY,
	Q_EACH_IMAGE,
	Q_DROP_IMAGE,
	Q_COUNT_VERSIONS,
	Q_COUNTS,
	Q_TOTALS,
	QUERIES
};

struct index {
	sqlite3 *db;
	char path[INDEX_PATH_BYTES];
	bool failed;
	sqlite3_stmt *stmt[QUERIES];
};

/* What SQLite complained of last. */
int err_index(struct index *, struct err *);
/* Statements that give no rows. */
int index_run(struct index *, const char *sql, struct err *);

/* index_schema.c */

/* Those tables that are not there yet. */
int index_schema_make(struct index *, struct err *);
/* ERR_FORMAT: there is anything else, or one is not there. */
int index_schema_check(struct index *, struct err *);

/* index_query.c */

/* A query with its first parameters, all numbers; more are bound by the caller.  NULL:
 * *e says why. */
sqlite3_stmt *index_ask(
    struct index *, enum query, size_t n, const uint64_t *v, struct err *);
/* 1 a row, 0 done, -1.  After the last row that is wanted the caller resets it. */
int index_step(struct index *, sqlite3_stmt *, struct err *);
/* A statement of numbers that gives no rows. */
int index_tell(struct index *, enum query, size_t n, const uint64_t *v, struct err *);
/* What is in a row: a number; n bytes, zeros unless there are as many; a text, cut. */
uint64_t index_column(sqlite3_stmt *, int i);
void index_column_bytes(sqlite3_stmt *, int i, uint8_t *out, size_t n);
void index_column_text(sqlite3_stmt *, int i, char *out, size_t cap);

#endif /* EMUSTORE_STORE_INDEX_IMPL_H */
