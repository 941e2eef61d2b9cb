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
#include "emustore/objects/own.h"
#include "emustore/store/index_impl.h"

/* SQLite calls is_told_to_end() after each SIGNAL_STEPS steps of its virtual machine,
 * which take about a millisecond. */
enum { SIGNAL_STEPS = 20000 };

/* Fill in the error from SQLite's last one, and return -1.  SQLITE_FULL and similar codes
 * are failures of the system; SQLITE_CORRUPT and similar codes are damage. */
int
err_index(struct index *x, struct err *e)
{
	int code = x->db != NULL ? sqlite3_errcode(x->db) & 0xff : SQLITE_NOMEM;
	bool damage = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
	              code == SQLITE_SCHEMA || code == SQLITE_ERROR ||
	              code == SQLITE_CONSTRAINT;

	x->failed = true;
	if (code == SQLITE_INTERRUPT && cancel_check(e) != 0)
		return err_ctx(e, "%s", x->path);
	int os = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
	             ? sqlite3_system_errno(x->db)
	             : 0;
	if (os != 0) /* this says more than "disk I/O error" */
		return err_set(e, ERR_IO, "%s: %s", x->path, strerror(os));
	return err_set(e, damage ? ERR_FORMAT : ERR_IO, "%s: %s%s", x->path,
	    x->db != NULL ? sqlite3_errmsg(x->db) : "out of memory",
	    damage ? " (emustore repair --index rebuilds it)" : "");
}

int
index_run(struct index *x, const char *text, struct err *e)
{
	return sqlite3_exec(x->db, text, NULL, NULL, NULL) == SQLITE_OK
	           ? 0
	           : err_index(x, e);
}

static int
get_number(struct index *x, const char *sql, int *out, struct err *e)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(x->db, sql, -1, &s, NULL) != SQLITE_OK)
		return err_index(x, e);
	int rc = sqlite3_step(s) == SQLITE_ROW ? 0 : err_index(x, e);
	*out = rc == 0 ? sqlite3_column_int(s, 0) : 0;
	sqlite3_finalize(s);
	return rc;
}

/* Called by SQLite in long statements: true ends the statement, because a signal came. */
static int
is_told_to_end(void *unused)
{
	(void)unused;
	return cancel_signal() != 0;
}

/* Let SQLite run nothing that the file says, because somebody else may have written the
 * file. */
static int
guard(struct index *x, struct err *e)
{
	static const struct {
		int option, on;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (sqlite3_db_config(
			x->db, options[i].option, options[i].on, NULL) != SQLITE_OK)
			return err_index(x, e);
	sqlite3_progress_handler(x->db, SIGNAL_STEPS, is_told_to_end, NULL);
	return 0;
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
		rc = own_check(dirfd, name, true, title, e);
	}
	close(dirfd);
	return rc;
}

static int
open_file(struct index *x, const char *path, struct err *e)
{
	char real[INDEX_PATH_BYTES];

	snprintf(x->path, sizeof x->path, "%s", path != NULL ? path : "the index");
	/* in memory; SQLite puts what is too much into a file without a name in TMPDIR */
	if (path == NULL)
		return sqlite3_open("", &x->db) == SQLITE_OK ? 0 : err_index(x, e);
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
	if (sqlite3_open_v2(real, &x->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
		NULL) != SQLITE_OK)
		return err_index(x, e);
	sqlite3_busy_timeout(x->db, INDEX_WAIT_MS);
	return 0;
}

/* SQLite's write-ahead log has memory that processes share, in a file which it maps:
 * where a full disk has no room for a page of that file, whoever writes to the page is
 * killed by SIGBUS.  So the index has a journal instead, which is written as files are.
 * Older programs have made indexes with a log: a process that has such a file for itself
 * alone (EXCLUSIVE) leaves it without sharing memory. */
static int
leave_log(struct index *x, struct err *e)
{
	return index_run(x,
	    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; "
	    "PRAGMA locking_mode = NORMAL",
	    e);
}

static int
make_content(struct index *x, struct err *e)
{
	char marks[100];

	snprintf(marks, sizeof marks,
	    "PRAGMA application_id = 1162695540; PRAGMA user_version = %d",
	    INDEX_VERSION); /* "EMSt" */
	if (index_begin(x, true, e) != 0)
		return -1;
	/* Another process may have made the tables meanwhile. */
	if (index_schema_make(x, e) != 0 || index_run(x, marks, e) != 0)
		return -1;
	return index_commit(x, e);
}

static int
open_content(struct index *x, bool private, struct err *e)
{
	int version = 0;

	if (guard(x, e) != 0 || (!private && leave_log(x, e) != 0) ||
	    index_run(x,
		private ? "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; "
			  "PRAGMA cache_size = -65536"
			: "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON",
		e) != 0 ||
	    get_number(x, "PRAGMA user_version", &version, e) != 0)
		return -1;
	if (version == 0 && make_content(x, e) != 0)
		return -1;
	if (version == 0 || version == INDEX_VERSION)
		return index_schema_check(x, e);
	return err_set(e, ERR_FORMAT, "%s: is of version %d", x->path, version);
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
	sqlite3_close(x->db);
	free(x);
}

bool
index_failed(const struct index *x)
{
	return x->failed;
}

int
index_begin(struct index *x, bool writing, struct err *e)
{
	return index_run(x, writing ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

int
index_commit(struct index *x, struct err *e)
{
	return index_run(x, "COMMIT", e);
}

void
index_rollback(struct index *x)
{
	/* The transaction is undone completely, whatever signal came. */
	if (cancel_signal() != 0)
		sqlite3_progress_handler(x->db, 0, NULL, NULL);
	sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
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
	return (uint64_t)sqlite3_total_changes64(x->db);
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

/* 1: SQLite finds the index in order; 0; -1. */
static int
is_in_order(struct index *x, struct err *e)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(x->db, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK)
		return err_index(x, e);
	int rc = sqlite3_step(s) == SQLITE_ROW
	             ? strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0
	             : err_index(x, e);
	sqlite3_finalize(s);
	return rc;
}

/* A number or a length of a fragment that is wrong is seen nowhere else. */
int
index_room(struct index *x, uint64_t *packs, uint64_t *bytes, struct err *e)
{
	uint64_t recorded;
	int good = is_in_order(x, e);

	if (good < 0 || sums(x, Q_ROOM, (uint64_t *[]){ packs, bytes, &recorded }, 3, e) != 0)
		return -1;
	return good == 1 && *bytes == recorded;
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
