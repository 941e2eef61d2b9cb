/* history_db.c: opens the database of events (history_db.h).  history.c calls it when the master
 * starts, history_report.c when the program reports; both in the program's first thread. */
#include "mfrisbeed/master/history_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 5000 }; /* --report or a backup may read the database for a moment */

/* at: seconds since 1970.  An event with the same kind, image, host, run and began_us is replaced
 * when more is known of it. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT NOT NULL, "
    "image TEXT NOT NULL, host TEXT NOT NULL, at INTEGER NOT NULL, seconds REAL NOT NULL, "
    "bytes INTEGER NOT NULL, why TEXT NOT NULL, run INTEGER NOT NULL, began_us INTEGER NOT NULL, "
    "UNIQUE (kind, image, host, run, began_us));"
    "PRAGMA user_version = 1;";

int
history_db_err(sqlite3 *db, struct err *e)
{
	int code = db != NULL ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
	bool damage = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;

	return err_set(e, damage ? ERR_FORMAT : ERR_IO, "the history: %s",
	    db != NULL ? sqlite3_errmsg(db) : "out of memory");
}

/* Reads the version of the database; 0: it has no tables yet. */
static int
read_version(sqlite3 *db, int *version, struct err *e)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK)
		return history_db_err(db, e);
	int rc = sqlite3_step(s) == SQLITE_ROW ? 0 : history_db_err(db, e);
	*version = rc == 0 ? sqlite3_column_int(s, 0) : 0;
	sqlite3_finalize(s);
	return rc;
}

/* Sets the database up so that SQLite runs no code that a stranger may have put into it,
 * makes its tables where `write` is set and there are none, and checks its version. */
static int
set_up(sqlite3 *db, bool write, struct err *e)
{
	int version = 0;

	sqlite3_busy_timeout(db, WAIT_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (read_version(db, &version, e) != 0)
		return -1;
	if (write && version == 0)
		return sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK
		           ? 0
		           : history_db_err(db, e);
	return version == HISTORY_VERSION
	           ? 0
	           : err_set(e, ERR_FORMAT, "the history: has version %d, not %d", version,
	                 HISTORY_VERSION);
}

int
history_db_open(sqlite3 **db, const char *folder, bool write, struct err *e)
{
	char path[HISTORY_PATH_BYTES];
	int n = snprintf(path, sizeof path, "%s/history.db", folder);

	*db = NULL;
	if (n >= (int)sizeof path)
		return err_set(e, ERR_USAGE, "%.100s...: the path is too long", folder);
	if (!write && access(path, F_OK) != 0 && errno == ENOENT)
		return err_set(e, ERR_ABSENT, "%s: nothing was noted yet", path);
	int rc = sqlite3_open_v2(path, db,
		     write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
			   : SQLITE_OPEN_READONLY,
		     NULL) == SQLITE_OK
	             ? set_up(*db, write, e)
	             : history_db_err(*db, e);
	if (rc == 0)
		return 0;
	sqlite3_close(*db);
	*db = NULL;
	return err_ctx(e, "%s", path);
}
