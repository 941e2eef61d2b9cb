/* db.c: a database of SQLite (db.h).  The index of a store, the history of mfrisbeed and the
 * state of the controller are such; each calls this in the thread that has it. */
#include "common/base/db.h"

#include <string.h>

#include "common/base/cancel.h"

static bool
is_damage(int code)
{
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA ||
	       code == SQLITE_ERROR || code == SQLITE_CONSTRAINT;
}

int
db_err(struct db *d, struct err *e)
{
	int code = d->sql != NULL ? sqlite3_errcode(d->sql) & 0xff : SQLITE_NOMEM;
	bool damage = is_damage(code);

	d->failed = true;
	if (code == SQLITE_INTERRUPT && cancel_check(e) != 0)
		return err_ctx(e, "%s", d->name);
	int os = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
	             ? sqlite3_system_errno(d->sql)
	             : 0;
	if (os != 0) /* this says more than "disk I/O error" */
		return err_set(e, ERR_IO, "%s: %s", d->name, strerror(os));
	return err_set(e, damage ? ERR_FORMAT : ERR_IO, "%s: %s%s", d->name,
	    d->sql != NULL ? sqlite3_errmsg(d->sql) : "out of memory",
	    damage && d->remedy != NULL ? d->remedy : "");
}

bool
db_refuses_values(const struct db *d)
{
	int code = sqlite3_errcode(d->sql) & 0xff;

	return code == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG || code == SQLITE_MISMATCH;
}

int
db_open(struct db *d, const char *path, int flags, int wait_ms, struct err *e)
{
	static const struct {
		int option, on;
	} guards[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
	};

	if (sqlite3_open_v2(path, &d->sql, flags, NULL) != SQLITE_OK)
		return db_err(d, e);
	sqlite3_busy_timeout(d->sql, wait_ms);
	for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
		if (sqlite3_db_config(d->sql, guards[i].option, guards[i].on, NULL) != SQLITE_OK)
			return db_err(d, e);
	return 0;
}

static int
take_version(void *version, sqlite3_stmt *s, struct err *e)
{
	(void)e;
	*(int *)version = sqlite3_column_int(s, 0);
	return 0;
}

int
db_upgrade(struct db *d, const char *const upgrade[], int version, struct err *e)
{
	int is = -1;

	for (int before = -1;; before = is) {
		if (db_each(d, "PRAGMA user_version", take_version, &is, e) != 0)
			return -1;
		if (is <= before || is < 0 || is >= version || upgrade[is] == NULL)
			break;
		if (db_run(d, upgrade[is], e) != 0)
			return -1;
	}
	if (is == 0)
		return err_set(e, ERR_ABSENT, "%s: nothing was noted yet", d->name);
	return is == version ? 0
	                     : err_set(e, ERR_FORMAT, "%s: has version %d, not %d", d->name, is,
	                           version);
}

void
db_close(struct db *d)
{
	sqlite3_close(d->sql);
	d->sql = NULL;
}

int
db_run(struct db *d, const char *text, struct err *e)
{
	return sqlite3_exec(d->sql, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_err(d, e);
}

int
db_prepare(struct db *d, sqlite3_stmt **s, const char *text, struct err *e)
{
	return sqlite3_prepare_v3(d->sql, text, -1, SQLITE_PREPARE_PERSISTENT, s, NULL) ==
	               SQLITE_OK
	           ? 0
	           : db_err(d, e);
}

int
db_step(struct db *d, sqlite3_stmt *s, struct err *e)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	rc = rc == SQLITE_DONE ? 0 : db_err(d, e);
	sqlite3_reset(s);
	return rc;
}

int
db_each(struct db *d, const char *text, int (*row)(void *, sqlite3_stmt *, struct err *),
    void *arg, struct err *e)
{
	sqlite3_stmt *s;
	int rc, result = 0;

	if (db_prepare(d, &s, text, e) != 0)
		return -1;
	while (result == 0 && (rc = db_step(d, s, e)) != 0)
		result = rc == 1 ? row(arg, s, e) : rc;
	sqlite3_finalize(s);
	return result;
}
