/* db.h: a database of SQLite: it is opened, brought to its version and asked here, and what
 * fails becomes a sentence.  Anyone who can write to the file can change what it says, so
 * SQLite runs no code from it.  Used by one thread at a time. */
#ifndef COMMON_BASE_DB_H
#define COMMON_BASE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct db {
	sqlite3 *sql;
	const char *name;   /* what errors call it; borrowed */
	const char *remedy; /* follows the sentence about damage; borrowed, or NULL */
	bool failed;        /* something has failed since it was opened */
};

/* Opens a file, with SQLite's flags (SQLITE_OPEN_...); path "": a file that only this
 * process has.  wait_ms: while another process has it locked.  `name` and `remedy` are set
 * before; the rest is zeros.  db_close() is called also on failure.  ERR_IO; ERR_FORMAT:
 * damage. */
int db_open(struct db *, const char *path, int flags, int wait_ms, struct err *);
/* Brings it to this version.  upgrade[i] are the statements that lead from version i to a
 * later one, which they set; NULL: none do.  ERR_ABSENT: it is new, and nothing leads from
 * there to a version; ERR_FORMAT: it is of another version. */
int db_upgrade(struct db *, const char *const upgrade[], int version, struct err *);
/* Also for one that was not opened. */
void db_close(struct db *);

/* Sets the error to SQLite's last one, and returns -1.  ERR_FORMAT for damage. */
int db_err(struct db *, struct err *);
/* Was what failed last refused for the values that were bound to it?  It would fail again. */
bool db_refuses_values(const struct db *);
/* Runs statements that give no rows. */
int db_run(struct db *, const char *text, struct err *);
/* Prepares a question or statement; the caller ends it with sqlite3_finalize(). */
int db_prepare(struct db *, sqlite3_stmt **, const char *text, struct err *);
/* Goes to the next row.  1: there is one; 0: there are no more, and the statement is
 * reset; -1, and it is reset. */
int db_step(struct db *, sqlite3_stmt *, struct err *);
/* Prepares a question, calls row() for each row until it returns anything but 0, and
 * returns what it did. */
int db_each(struct db *, const char *text,
    int (*row)(void *arg, sqlite3_stmt *, struct err *), void *arg, struct err *);

#endif /* COMMON_BASE_DB_H */
