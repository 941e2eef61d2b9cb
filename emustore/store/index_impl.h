/* index_impl.h: what the files of the index share.
 *
 * index.c opens the index; index_schema.c says which tables it has; index_query.c has its
 * statements; index_fragments.c, index_packs.c and index_images.c each have the functions
 * of a table.
 */
#ifndef EMUSTORE_STORE_INDEX_IMPL_H
#define EMUSTORE_STORE_INDEX_IMPL_H

#include "common/base/db.h"
#include "emustore/store/index.h"

enum {
	INDEX_PATH_BYTES = 4096,
	INDEX_VERSION = 4,
	INDEX_WAIT_MS = 20000, /* while another process has the database locked */
};

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
	Q_ANY_CONDEMNED,
	Q_DROP_SPARES,
	Q_DROP_PACK,
	Q_ADD_IMAGE,
	Q_FIND_IMAGE,
	Q_LATEST_IMAGE,
	Q_FIND_KEY,
	Q_EACH_IMAGE,
	Q_DROP_IMAGE,
	Q_COUNT_VERSIONS,
	Q_NOTE_LOAD,
	Q_GET_LOADS,
	Q_LOADED_MOST,
	Q_LOADED_LAST,
	Q_TOTALS,
	Q_ROOM,
	Q_GET_MARK,
	Q_SET_MARK,
	QUERIES
};

struct index {
	struct db db;
	char path[INDEX_PATH_BYTES];
	sqlite3_stmt *stmt[QUERIES];
};

/* index_schema.c */

/* Make the tables, if there are none, and see that the index is of this version. */
int index_schema_make(struct index *, struct err *);
/* Check the tables.  ERR_FORMAT: a table is missing, or there is anything else. */
int index_schema_check(struct index *, struct err *);

/* index_query.c */

/* Prepare a query, and bind the n numbers v to its first parameters; the caller binds the
 * others.  NULL: failed, and *e says why. */
sqlite3_stmt *index_ask(
    struct index *, enum query, size_t n, const uint64_t *v, struct err *);
/* Go to the next row.  1: there is one; 0: there are no more; -1.  A caller that wants no
 * further rows resets the statement. */
int index_step(struct index *, sqlite3_stmt *, struct err *);
/* Run a statement whose parameters are all numbers, and which gives no rows. */
int index_tell(struct index *, enum query, size_t n, const uint64_t *v, struct err *);
/* Column i of the current row: as a number; as n bytes, which are zeros unless the column
 * has just as many; as a text, which is cut to cap - 1 bytes. */
uint64_t index_column(sqlite3_stmt *, int i);
void index_column_bytes(sqlite3_stmt *, int i, uint8_t *out, size_t n);
void index_column_text(sqlite3_stmt *, int i, char *out, size_t cap);

#endif /* EMUSTORE_STORE_INDEX_IMPL_H */
