/* index_schema.c: makes the tables of an index, and refuses an index that has anything
 * else.
 *
 * Called by index.c when an index is opened, in the thread that opens it.  Anyone who can
 * write to the folder of the index can change the index, and SQLite runs what the schema
 * says: a view in the place of a table, for example, may be a query that never ends.
 */
#include <stdio.h>
#include <string.h>

#include "emustore/store/index_impl.h"

enum { SQL_BYTES = 800 };

/* The statement that makes a part is "CREATE", the kind, and the rest. */
static const struct {
	const char *kind, *rest;
} parts[] = {
	{ "TABLE",
	    "packs (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
	    "bytes INTEGER NOT NULL, condemned INTEGER NOT NULL, digests BLOB NOT NULL)" },
	{ "TABLE",
	    "fragments (number INTEGER PRIMARY KEY, pack INTEGER NOT NULL, "
	    "at INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL UNIQUE, "
	    "raw_digest BLOB NOT NULL, raw_bytes INTEGER NOT NULL, "
	    "adler INTEGER NOT NULL)" },
	{ "TABLE",
	    "spares (sha256 BLOB NOT NULL, pack INTEGER NOT NULL, "
	    "at INTEGER NOT NULL, PRIMARY KEY (sha256, pack)) WITHOUT ROWID" },
	{ "TABLE",
	    "images (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
	    "etag TEXT NOT NULL, bytes INTEGER NOT NULL, name TEXT NOT NULL, "
	    "version INTEGER NOT NULL, chunks INTEGER NOT NULL, "
	    "data_bytes INTEGER NOT NULL, put_at INTEGER NOT NULL, "
	    "sha256 BLOB NOT NULL, parent TEXT NOT NULL, "
	    "loads INTEGER NOT NULL DEFAULT 0, loaded_at INTEGER NOT NULL DEFAULT 0, "
	    "UNIQUE (name, version))" },
	{ "TABLE", "state (number INTEGER PRIMARY KEY, mark TEXT NOT NULL)" },
	{ "INDEX", "fragments_raw ON fragments (raw_digest)" },
};

/* SQLite makes this table by itself for AUTOINCREMENT. */
static const char sequence[] = "CREATE TABLE sqlite_sequence(name,seq)";

enum { PARTS = sizeof parts / sizeof *parts };

/* Another process may make the tables meanwhile. */
int
index_schema_make(struct index *x, struct err *e)
{
	char sql[PARTS * SQL_BYTES] = "BEGIN IMMEDIATE;";
	const char *const upgrade[INDEX_VERSION] = { sql };
	size_t n = strlen(sql);

	for (size_t i = 0; i < PARTS; i++)
		n += (size_t)snprintf(sql + n, sizeof sql - n, "CREATE %s IF NOT EXISTS %s;",
		    parts[i].kind, parts[i].rest);
	snprintf(sql + n, sizeof sql - n, /* "EMSt" */
	    "PRAGMA application_id = 1162695540; PRAGMA user_version = %d; COMMIT",
	    INDEX_VERSION);
	return db_upgrade(&x->db, upgrade, INDEX_VERSION, e);
}

/* The schema has the statement that made each part, without IF NOT EXISTS; an index that
 * SQLite makes by itself for UNIQUE has no statement there.  Returns 1 for one of the
 * parts, 0 for what SQLite makes by itself, -1 for anything else. */
static int
whose(const char *sql, const char *name)
{
	char own[SQL_BYTES];

	if (sql == NULL)
		return name != NULL && strncmp(name, "sqlite_autoindex_", 17) == 0 ? 0
		                                                                   : -1;
	for (size_t i = 0; i < PARTS; i++) {
		snprintf(own, sizeof own, "CREATE %s %s", parts[i].kind, parts[i].rest);
		if (strcmp(sql, own) == 0)
			return 1;
	}
	return strcmp(sql, sequence) == 0 ? 0 : -1;
}

struct found {
	unsigned own;
	bool foreign;
};

static int
look_at(void *found, sqlite3_stmt *s, struct err *e)
{
	struct found *f = found;
	int is = whose((const char *)sqlite3_column_text(s, 0),
	    (const char *)sqlite3_column_text(s, 1));

	(void)e;
	f->foreign = f->foreign || is < 0;
	f->own += is > 0;
	return 0;
}

int
index_schema_check(struct index *x, struct err *e)
{
	struct found f = { 0 };

	if (db_each(&x->db, "SELECT sql, name FROM sqlite_schema", look_at, &f, e) != 0)
		return -1;
	return !f.foreign && f.own == PARTS
	           ? 0
	           : err_set(e, ERR_FORMAT, "%s: has other tables than the index of a store",
	                 x->path);
}
