/* index_query.c: holds the SQL statements of the index, prepares each one when it is first
 * used, and runs them.  Called by the other files of the index, in the thread that uses
 * the index. */
#include <string.h>

#include "emustore/store/index_impl.h"

#define FRAGMENT_COLUMNS "number, pack, at, bytes, sha256, raw_digest, raw_bytes, adler"
#define PACK_COLUMNS "number, condemned, id, bytes, digests"
#define IMAGE_COLUMNS \
	"number, key, etag, bytes, name, version, chunks, data_bytes, put_at, sha256, " \
	"parent"

static const char *const sql[QUERIES] = {
	[Q_ADD_FRAGMENT] = "INSERT INTO fragments (pack, at, bytes, raw_bytes, adler, "
			   "sha256, raw_digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[Q_FIND_FRAGMENT] = "SELECT " FRAGMENT_COLUMNS
			    " FROM fragments WHERE sha256 = ?1",
	[Q_HAS_RAW] = "SELECT 1 FROM fragments WHERE raw_digest = ?2 AND raw_bytes = ?1 "
		      "LIMIT 1",
	[Q_FIND_RAW] = "SELECT " FRAGMENT_COLUMNS " FROM fragments WHERE raw_digest = ?3 "
		       "AND raw_bytes = ?1 AND pack NOT IN "
		       "(SELECT number FROM packs WHERE condemned != 0) LIMIT ?2",
	[Q_LAST_FRAGMENT] = "SELECT coalesce(max(number), 0) FROM fragments",
	[Q_COUNT_FRAGMENTS] = "SELECT pack, count(*) FROM fragments GROUP BY pack",
	[Q_FIND_NUMBER] = "SELECT number FROM fragments WHERE sha256 = ?1",
	[Q_PLACES_FROM] = "SELECT " FRAGMENT_COLUMNS
			  " FROM fragments WHERE number >= ?1 ORDER BY number",
	[Q_ADD_PACK] = "INSERT INTO packs (bytes, id, condemned, digests) "
		       "VALUES (?1, ?2, 0, ?3)",
	[Q_ADD_SPARE] = "INSERT OR IGNORE INTO spares (pack, at, sha256) "
			"VALUES (?1, ?2, ?3)",
	[Q_FIND_PACK] = "SELECT " PACK_COLUMNS " FROM packs WHERE id = ?1",
	[Q_GET_PACK] = "SELECT " PACK_COLUMNS " FROM packs WHERE number = ?1",
	[Q_EACH_PACK] = "SELECT " PACK_COLUMNS " FROM packs ORDER BY number",
	[Q_CONDEMN] = "UPDATE packs SET condemned = 1 WHERE number = ?1",
	[Q_ANY_CONDEMNED] = "SELECT 1 FROM packs WHERE condemned != 0 LIMIT 1",
	[Q_DROP_SPARES] = "DELETE FROM spares WHERE pack = ?1",
	[Q_DROP_PACK] = "DELETE FROM packs WHERE number = ?1",
	[Q_ADD_IMAGE] = "INSERT INTO images (bytes, version, chunks, data_bytes, put_at, "
			"key, etag, name, sha256, parent) "
			"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[Q_FIND_IMAGE] = "SELECT " IMAGE_COLUMNS
			 " FROM images WHERE name = ?1 AND version = ?2",
	[Q_LATEST_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images WHERE name = ?1 "
			   "ORDER BY version DESC LIMIT 1",
	[Q_FIND_KEY] = "SELECT " IMAGE_COLUMNS " FROM images WHERE key = ?1",
	[Q_EACH_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images ORDER BY name, version",
	[Q_DROP_IMAGE] = "DELETE FROM images WHERE number = ?1",
	[Q_COUNT_VERSIONS] = "SELECT count(*) FROM images WHERE name = ?1",
	[Q_NOTE_LOAD] = "UPDATE images SET loads = loads + 1, loaded_at = ?1 "
			"WHERE name = ?3 AND version = ?2",
	[Q_GET_LOADS] = "SELECT loads FROM images WHERE name = ?2 AND version = ?1",
	[Q_LOADED_MOST] = "SELECT name, version, loads, loaded_at FROM images "
			  "WHERE loads > 0 ORDER BY loads DESC, loaded_at DESC LIMIT ?1",
	[Q_LOADED_LAST] = "SELECT name, version, loads, loaded_at FROM images "
			  "WHERE loads > 0 ORDER BY loaded_at DESC, loads DESC LIMIT ?1",
	[Q_TOTALS] =
	    "SELECT f.*, i.*, p.* FROM "
	    "(SELECT count(*), total(bytes), count(DISTINCT raw_digest) FROM fragments) f, "
	    "(SELECT count(*), total(chunks), total(data_bytes) FROM images) i, "
	    "(SELECT count(*), total(bytes) FROM packs) p",
	/* 40 bytes is the first record of a pack; a fragment's record has 88 bytes before
	 * its data, and ends at a multiple of 8. */
	[Q_ROOM] =
	    "SELECT p.*, f.n + s.n + 40 * p.packs FROM "
	    "(SELECT count(*) AS packs, total(bytes) FROM packs) p, "
	    "(SELECT total((bytes + 95) / 8 * 8) AS n FROM fragments) f, "
	    "(SELECT total((f.bytes + 95) / 8 * 8) AS n FROM spares s "
	    "JOIN fragments f ON f.sha256 = s.sha256) s",
	[Q_GET_MARK] = "SELECT mark FROM state WHERE number = 1",
	[Q_SET_MARK] = "INSERT OR REPLACE INTO state (number, mark) VALUES (1, ?1)",
};

sqlite3_stmt *
index_ask(struct index *x, enum query q, size_t n, const uint64_t *v, struct err *e)
{
	sqlite3_stmt **s = &x->stmt[q];

	if (*s == NULL && db_prepare(&x->db, s, sql[q], e) != 0)
		return NULL;
	sqlite3_reset(*s);
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*s, (int)i + 1, (sqlite3_int64)v[i]);
	return *s;
}

int
index_step(struct index *x, sqlite3_stmt *s, struct err *e)
{
	return s != NULL ? db_step(&x->db, s, e) : -1;
}

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
	const void *p = sqlite3_column_text(s, i);
	size_t n = p != NULL ? (size_t)sqlite3_column_bytes(s, i) : 0;

	n = n < cap ? n : cap - 1;
	if (n > 0)
		memcpy(out, p, n);
	out[n] = '\0';
}
