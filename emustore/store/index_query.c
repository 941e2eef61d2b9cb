/* index_query.c: the statements by which the index is asked and told, prepared once. */
#include <stdio.h>
#include <string.h>

#include "emustore/store/index_impl.h"

#define FRAGMENT_COLUMNS "number, pack, at, bytes, sha256, raw_digest, raw_bytes, adler"
#define IMAGE_COLUMNS \
	"number, name, version, pack, at, bytes, chunks, data_bytes, put_at, " \
	"sha256, parent"

static const char *const sql[QUERIES] = {
	[Q_NEXT] = "SELECT number FROM next WHERE what = ?1",
	[Q_LAST_FRAGMENT] = "SELECT max(number) FROM fragments",
	[Q_LAST_IMAGE] = "SELECT max(number) FROM images",
	[Q_LAST_PACK] = "SELECT max(number) FROM packs",
	[Q_SET_NEXT] = "INSERT OR REPLACE INTO next VALUES (?1, ?2)",
	[Q_ADD_FRAGMENT] = "INSERT INTO fragments (" FRAGMENT_COLUMNS ") "
			   "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[Q_FIND_FRAGMENT] = "SELECT " FRAGMENT_COLUMNS
			    " FROM fragments WHERE sha256 = ?1",
	[Q_FIND_RAW] = "SELECT " FRAGMENT_COLUMNS
		       " FROM fragments WHERE raw_digest = ?2 AND raw_bytes = ?1 "
		       "AND pack != 0 LIMIT 1",
	[Q_GET_FRAGMENT] = "SELECT " FRAGMENT_COLUMNS
			   " FROM fragments WHERE number = ?1",
	[Q_FRAGMENT_FROM] = "SELECT " FRAGMENT_COLUMNS
			    " FROM fragments WHERE number >= ?1 "
			    "ORDER BY number LIMIT 1",
	[Q_PLACES_FROM] = "SELECT number, pack, at, bytes FROM fragments "
			  "WHERE number >= ?1 ORDER BY number",
	[Q_MOVE_FRAGMENT] = "UPDATE fragments SET pack = ?2, at = ?3 WHERE number = ?1",
	[Q_DELETE_FRAGMENT] = "DELETE FROM fragments WHERE number = ?1",
	[Q_PUT_PACK] = "INSERT OR REPLACE INTO packs VALUES (?1, ?2)",
	[Q_DELETE_PACK] = "DELETE FROM packs WHERE number = ?1",
	[Q_PACK_FROM] = "SELECT number, bytes FROM packs WHERE number >= ?1 ORDER BY "
			"number LIMIT 1",
	[Q_PACK_END] =
	    "SELECT max(at) + 1 FROM (SELECT at FROM fragments "
	    "WHERE pack = ?1 UNION ALL SELECT at FROM images WHERE pack = ?1)",
	[Q_ADD_IMAGE] = "INSERT INTO images (" IMAGE_COLUMNS ") "
			"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[Q_FIND_IMAGE] = "SELECT " IMAGE_COLUMNS
			 " FROM images WHERE name = ?1 AND version = ?2",
	[Q_LATEST_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images WHERE name = ?1 "
			   "ORDER BY version DESC LIMIT 1",
	[Q_MOVE_IMAGE] = "UPDATE images SET pack = ?2, at = ?3 WHERE number = ?1",
	[Q_DELETE_IMAGE] = "DELETE FROM images WHERE number = ?1",
	[Q_EACH_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images ORDER BY name, version",
	[Q_COUNT_VERSIONS] = "SELECT count(*) FROM images WHERE name = ?1",
	[Q_TOTAL_FRAGMENTS] =
	    "SELECT count(*), total(bytes), count(DISTINCT raw_digest) FROM fragments",
	[Q_TOTAL_IMAGES] =
	    "SELECT count(*), total(chunks), total(data_bytes) FROM images",
	[Q_TOTAL_PACKS] = "SELECT count(*), total(bytes) FROM packs",
	[Q_CHECK] = "PRAGMA integrity_check(1)",
};

/* A query with its first parameters, all numbers; more are bound by the caller. */
sqlite3_stmt *
index_ask(struct index *x, enum query q, size_t n, const uint64_t *v, struct err *e)
{
	sqlite3_stmt **s = &x->stmt[q];

	if (*s == NULL && sqlite3_prepare_v3(x->db, sql[q], -1,
			      SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK) {
		err_index(x, e);
		return NULL;
	}
	sqlite3_reset(*s);
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*s, (int)i + 1, (sqlite3_int64)v[i]);
	return *s;
}

/* 1 a row, 0 done, -1. */
int
index_step(struct index *x, sqlite3_stmt *s, struct err *e)
{
	int rc = s == NULL ? SQLITE_ERROR : sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	if (s == NULL)
		return -1;
	rc = rc == SQLITE_DONE ? 0 : err_index(x, e);
	sqlite3_reset(s);
	return rc;
}

/* A statement of numbers that gives no rows. */
int
index_tell(struct index *x, enum query q, size_t n, const uint64_t *v, struct err *e)
{
	return index_step(x, index_ask(x, q, n, v, e), e);
}

uint64_t
index_column(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

void
index_column_bytes(sqlite3_stmt *s, int i, uint8_t *out, size_t n)
{
	const void *p = sqlite3_column_blob(s, i);

	memset(out, 0, n);
	if (p != NULL && (size_t)sqlite3_column_bytes(s, i) == n)
		memcpy(out, p, n);
}

void
index_column_text(sqlite3_stmt *s, int i, char *out, size_t cap)
{
	const unsigned char *p = sqlite3_column_text(s, i);

	snprintf(out, cap, "%s", p != NULL ? (const char *)p : "");
}
