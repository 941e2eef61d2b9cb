/* index.c: opens an index, and has its transactions and its sums.  Called by the store and
 * its writers, in one thread at a time. */
#include "emustore/store/index.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "emustore/objects/own_file.h"
#include "emustore/store/index_impl.h"

/* SQLite calls is_told_to_end() after each SIGNAL_STEPS steps of its virtual machine,
 * which take about a millisecond. */
enum { SIGNAL_STEPS = 20000 };

/* Called by SQLite in long statements: true ends the statement, because a signal came. */
static int
is_told_to_end(void *unused)
{
	(void)unused;
	return cancel_signal() != 0;
}

/* Check that the file and those that SQLite keeps beside it are no links, and belong to
 * the user. */
static int
check_files(const char *path, struct err *e)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char copy[INDEX_PATH_BYTES], name[300], title[INDEX_PATH_BYTES + 16];
	int rc = 0;

	snprintf(copy, sizeof copy, "%s", path);
	const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	int dirfd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return err_os(e, "%s", path);
	for (size_t i = 0; i < sizeof ends / sizeof *ends && rc == 0; i++) {
		snprintf(name, sizeof name, "%.200s%s", base, ends[i]);
		snprintf(title, sizeof title, "%s%s", path, ends[i]);
		rc = own_file_check(dirfd, name, true, title, e);
	}
	close(dirfd);
	return rc;
}

static int
open_file(struct index *x, const char *path, struct err *e)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	char real[INDEX_PATH_BYTES];

	snprintf(x->path, sizeof x->path, "%s", path != NULL ? path : "the index");
	x->db.name = x->path;
	x->db.remedy = " (emustore repair --index rebuilds it)";
	/* in memory; SQLite puts what is too much into a file without a name in TMPDIR */
	if (path == NULL)
		return db_open(&x->db, "", flags, INDEX_WAIT_MS, e);
	if (check_files(path, e) != 0)
		return -1;
	/* SQLITE_OPEN_NOFOLLOW also refuses links in the path of the folder, which are the
	 * user's own, so resolve these before. */
	char copy[INDEX_PATH_BYTES], *folder;
	snprintf(copy, sizeof copy, "%s", path);
	folder = realpath(dirname(copy), NULL);
	if (folder == NULL)
		return err_os(e, "%s", path);
	int n = snprintf(real, sizeof real, "%s/%s", folder,
	    strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
	free(folder);
	if (n >= (int)sizeof real)
		return err_set(e, ERR_USAGE, "%.200s...: the path is too long", path);
	return db_open(&x->db, real, flags | SQLITE_OPEN_NOFOLLOW, INDEX_WAIT_MS, e);
}

/* SQLite's write-ahead log has memory that processes share, in a file which it maps:
 * where a full disk has no room for a page of that file, whoever writes to the page is
 * killed by SIGBUS.  So the index has a journal instead, which is written as files are.
 * Older programs have made indexes with a log: a process that has such a file for itself
 * alone (EXCLUSIVE) leaves it without sharing memory. */
static int
leave_log(struct index *x, struct err *e)
{
	return db_run(&x->db,
	    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; "
	    "PRAGMA locking_mode = NORMAL",
	    e);
}

static int
open_content(struct index *x, bool private, struct err *e)
{
	const char *pragmas = private ? "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; "
				       "PRAGMA cache_size = -65536"
				     : "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON";

	sqlite3_progress_handler(x->db.sql, SIGNAL_STEPS, is_told_to_end, NULL);
	if ((!private && leave_log(x, e) != 0) || db_run(&x->db, pragmas, e) != 0 ||
	    index_schema_make(x, e) != 0)
		return -1;
	return index_schema_check(x, e);
}

int
index_open(struct index **out, const char *path, struct err *e)
{
	struct index *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, "the index");
	if (open_file(x, path, e) != 0 || open_content(x, path == NULL, e) != 0) {
		index_close(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
index_close(struct index *x)
{
	if (x == NULL)
		return;
	for (int i = 0; i < QUERIES; i++)
		sqlite3_finalize(x->stmt[i]);
	db_close(&x->db);
	free(x);
}

bool
index_failed(const struct index *x)
{
	return x->db.failed;
}

int
index_begin(struct index *x, bool writing, struct err *e)
{
	return db_run(&x->db, writing ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

int
index_commit(struct index *x, struct err *e)
{
	return db_run(&x->db, "COMMIT", e);
}

void
index_rollback(struct index *x)
{
	/* The transaction is undone completely, whatever signal came. */
	if (cancel_signal() != 0)
		sqlite3_progress_handler(x->db.sql, 0, NULL, NULL);
	sqlite3_exec(x->db.sql, "ROLLBACK", NULL, NULL, NULL);
}

/* Read the one row of numbers that query q gives. */
static int
sums(struct index *x, enum query q, uint64_t *const out[], int n, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, q, 0, NULL, e);

	if (index_step(x, s, e) != 1)
		return -1;
	for (int i = 0; i < n; i++)
		*out[i] = index_column(s, i);
	sqlite3_reset(s);
	return 0;
}

uint64_t
index_changes(struct index *x)
{
	return (uint64_t)sqlite3_total_changes64(x->db.sql);
}

int
index_totals(struct index *x, struct index_totals *t, struct err *e)
{
	return sums(x, Q_TOTALS,
	    (uint64_t *[]){ &t->fragments, &t->fragment_bytes, &t->raw_unique,
		&t->images, &t->image_chunks, &t->data_bytes, &t->packs,
		&t->pack_bytes },
	    8, e);
}

static int
take_order(void *good, sqlite3_stmt *s, struct err *e)
{
	(void)e;
	*(bool *)good = strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
	return 0;
}

/* A number or a length of a fragment that is wrong is seen nowhere else. */
int
index_room(struct index *x, uint64_t *packs, uint64_t *bytes, struct err *e)
{
	uint64_t recorded;
	bool good = false; /* SQLite finds it in order */

	if (db_each(&x->db, "PRAGMA quick_check(1)", take_order, &good, e) != 0 ||
	    sums(x, Q_ROOM, (uint64_t *[]){ packs, bytes, &recorded }, 3, e) != 0)
		return -1;
	return good && *bytes == recorded;
}

int
index_last_fragment(struct index *x, uint64_t *number, struct err *e)
{
	return sums(x, Q_LAST_FRAGMENT, &number, 1, e);
}

int
index_get_mark(struct index *x, char *mark, size_t cap, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_GET_MARK, 0, NULL, e);
	int rc = index_step(x, s, e);

	mark[0] = '\0';
	if (rc != 1)
		return rc;
	index_column_text(s, 0, mark, cap);
	sqlite3_reset(s);
	return 0;
}

int
index_set_mark(struct index *x, const char *mark, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_SET_MARK, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, mark, -1, SQLITE_STATIC);
	return index_step(x, s, e);
}
