/* history_db.c: opens the database of events (history_db.h).  history.c calls it when the master
 * starts, history_report.c when the program reports; both in the program's first thread. */
#include "mfrisbeed/master/history_db.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/path.h"

/* WAIT_MS: --report or a backup may read the database for a moment. */
enum { VERSION = 2, WAIT_MS = 5000 };

/* at: seconds since 1970.  An event with the same kind, image, host, run and began_us is replaced
 * when more is known of it, and so is that of the same holder and node. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT NOT NULL, "
    "image TEXT NOT NULL, host TEXT NOT NULL, at INTEGER NOT NULL, seconds REAL NOT NULL, "
    "bytes INTEGER NOT NULL, why TEXT NOT NULL, run INTEGER NOT NULL, began_us INTEGER NOT NULL, "
    "UNIQUE (kind, image, host, run, began_us));"
    "PRAGMA user_version = 1;";
static const char nodes[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE event RENAME TO old;"
    "CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, outcome TEXT NOT NULL, "
    "image TEXT NOT NULL, host TEXT NOT NULL, at INTEGER NOT NULL, seconds REAL NOT NULL, "
    "bytes INTEGER NOT NULL, why TEXT NOT NULL, run INTEGER NOT NULL, began_us INTEGER NOT NULL, "
    "holder TEXT NOT NULL, node TEXT NOT NULL, tries INTEGER NOT NULL, told TEXT NOT NULL);"
    "INSERT INTO event SELECT *, '', '', 0, '' FROM old;"
    "DROP TABLE old;"
    "CREATE UNIQUE INDEX by_load ON event (kind, image, host, run, began_us) WHERE node = '';"
    "CREATE UNIQUE INDEX by_node ON event (holder, node) WHERE node <> '';"
    "CREATE INDEX by_host ON event (host, image) WHERE node <> '';"
    "PRAGMA user_version = 2;"
    "COMMIT;";

/* For who only reads one of version 1: it looks like this one. */
static const char seen_as_nodes[] =
    "CREATE TEMP VIEW event AS SELECT *, '' AS holder, '' AS node, 0 AS tries FROM main.event;";

static int
bring_up(struct db *db, bool write, struct err *e)
{
	static const char *const upgrade[VERSION] = { schema, nodes }, *const none[VERSION] = { NULL };
	struct err ignored;

	if (!write && db_upgrade(db, none, 1, &ignored) == 0)
		return db_run(db, seen_as_nodes, e);
	return db_upgrade(db, write ? upgrade : none, VERSION, e);
}

int
history_db_open(struct db *db, const char *folder, bool write, struct err *e)
{
	char path[PATH_BYTES];
	int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;

	*db = (struct db){ .name = "the history" };
	if (path_in(path, folder, "history.db", e) != 0)
		return -1;
	if (!write && access(path, F_OK) != 0 && errno == ENOENT)
		return err_set(e, ERR_ABSENT, "%s: nothing was noted yet", path);
	if (db_open(db, path, flags, WAIT_MS, e) != 0 || bring_up(db, write, e) != 0)
		return err_ctx(e, "%s", path);
	return 0;
}
