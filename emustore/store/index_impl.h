/* index_impl.h: what the files of the index share.
 *
 * index.c opens it, index_file.c its file; index_schema.c says which tables it has;
 * index_query.c asks; index_fragments.c and index_images.c are its tables,
 * index_remote.c those of a store in a bucket.
 */
#ifndef EMUSTORE_STORE_INDEX_IMPL_H
#define EMUSTORE_STORE_INDEX_IMPL_H

#include <sqlite3.h>

#include "emustore/store/index.h"

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
	int lock_fd; /* keeps writers away while it is read in place; -1: none */
	sqlite3_stmt *stmt[QUERIES];
};

/* What SQLite complained of last. */
int err_index(const struct index *, struct err *);
/* Statements that give no rows. */
int index_run(struct index *, const char *sql, struct err *);

/* index_file.c */

/* x->db, of the file x->path, which is no link. */
int index_file_open(struct index *, enum index_access, struct err *);
/* For INDEX_READ, after SQLite had no room for what it keeps beside the file. */
int index_file_reopen(struct index *, struct err *);

/* index_schema.c */

enum index_tables {
	INDEX_TABLES_ALL,    /* of every index */
	INDEX_TABLES_RAW,    /* made by the first put */
	INDEX_TABLES_REMOTE, /* of a store in a bucket */
};
/* Those that are not there yet. */
int index_schema_make(struct index *, enum index_tables, struct err *);
/* ERR_FORMAT: those of INDEX_TABLES_ALL are not there, or anything else is. */
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
/* What is in a row: a number; n bytes, zeros unless there are so many; a text, cut. */
uint64_t index_column(sqlite3_stmt *, int i);
void index_column_bytes(sqlite3_stmt *, int i, uint8_t *out, size_t n);
void index_column_text(sqlite3_stmt *, int i, char *out, size_t cap);

#endif /* EMUSTORE_STORE_INDEX_IMPL_H */
