/* index_schema.c: what an index consists of: its tables are made here, and an index
 * that has anything else is refused.
 *
 * Called by index.c and index_remote.c when an index is opened.  Whoever can write to a
 * store's folder can write to its index, and SQLite runs what the schema says: a view
 * in the place of a table, for one, may be a query that never ends.
 */
#include <stdio.h>
#include <string.h>

#include "emustore/store/index_impl.h"

enum { SQL_BYTES = 600 };

/* "CREATE" and the kind go before the rest. */
static const struct object {
	const char *kind, *rest;
	enum index_tables of;
} objects[] = {
	{ "TABLE", "next (what INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
	    INDEX_TABLES_ALL },
	{ "TABLE", "packs (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL)",
	    INDEX_TABLES_ALL },
	{ "TABLE",
	    "fragments (number INTEGER PRIMARY KEY, pack INTEGER NOT NULL, "
	    "at INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL UNIQUE, "
	    "raw_digest BLOB NOT NULL, raw_bytes INTEGER NOT NULL, "
	    "adler INTEGER NOT NULL)",
	    INDEX_TABLES_ALL },
	{ "TABLE",
	    "images (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
	    "version INTEGER NOT NULL, pack INTEGER NOT NULL, at INTEGER NOT NULL, "
	    "bytes INTEGER NOT NULL, chunks INTEGER NOT NULL, "
	    "data_bytes INTEGER NOT NULL, put_at INTEGER NOT NULL, "
	    "sha256 BLOB NOT NULL, parent TEXT NOT NULL, UNIQUE (name, version))",
	    INDEX_TABLES_ALL },
	{ "INDEX", "fragments_raw ON fragments (raw_digest)", INDEX_TABLES_RAW },
	{ "TABLE",
	    "objects (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
	    "condemned INTEGER NOT NULL, digests BLOB NOT NULL)",
	    INDEX_TABLES_REMOTE },
	{ "TABLE",
	    "spares (sha256 BLOB NOT NULL, pack INTEGER NOT NULL, "
	    "at INTEGER NOT NULL, PRIMARY KEY (sha256, pack)) WITHOUT ROWID",
	    INDEX_TABLES_REMOTE },
	{ "TABLE",
	    "recipes (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
	    "etag TEXT NOT NULL, bytes INTEGER NOT NULL)",
	    INDEX_TABLES_REMOTE },
};

enum { OBJECTS = sizeof objects / sizeof *objects };

int
index_schema_make(struct index *x, enum index_tables of, struct err *e)
{
	char sql[SQL_BYTES];

	for (size_t i = 0; i < OBJECTS; i++) {
		if (objects[i].of != of)
			continue;
		snprintf(sql, sizeof sql, "CREATE %s IF NOT EXISTS %s", objects[i].kind,
		    objects[i].rest);
		if (index_run(x, sql, e) != 0)
			return -1;
	}
	return 0;
}

/* SQLite keeps the statement that made an object, without IF NOT EXISTS; what it makes
 * by itself for UNIQUE has none. */
static bool
is_own(const char *sql, const char *name)
{
	char own[SQL_BYTES];

	if (sql == NULL)
		return name != NULL && strncmp(name, "sqlite_autoindex_", 17) == 0;
	for (size_t i = 0; i < OBJECTS; i++) {
		snprintf(
		    own, sizeof own, "CREATE %s %s", objects[i].kind, objects[i].rest);
		if (strcmp(sql, own) == 0)
			return true;
	}
	return false;
}

static int
err_schema(const struct index *x, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "%s: its tables are not those of an index of a store (emustore repair "
	    "--index makes it again)",
	    x->path);
}

int
index_schema_check(struct index *x, struct err *e)
{
	unsigned needed = 0, found = 0;
	sqlite3_stmt *s;
	int rc;

	for (size_t i = 0; i < OBJECTS; i++)
		needed += objects[i].of == INDEX_TABLES_ALL;
	if (sqlite3_prepare_v2(x->db,
		"SELECT sql, name, type = 'table' AND "
		"name IN ('next', 'packs', 'fragments', 'images') FROM sqlite_schema",
		-1, &s, NULL) != SQLITE_OK)
		return err_index(x, e);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		if (!is_own((const char *)sqlite3_column_text(s, 0),
			(const char *)sqlite3_column_text(s, 1)))
			break;
		found += sqlite3_column_int(s, 2) != 0;
	}
	int result = 0;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		result = err_index(x, e);
	else if (rc == SQLITE_ROW || found != needed)
		result = err_schema(x, e);
	sqlite3_finalize(s);
	return result;
}
