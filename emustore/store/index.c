#include "emustore/store/index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "emustore/store/index_impl.h"

/* Of SQLite's machine: about a millisecond. */
enum { SIGNAL_STEPS = 20000 };

static const char marks[] = "PRAGMA application_id = 1162695540;" /* "EMSt" */
			    "PRAGMA user_version = 1;";           /* STORE_FORMAT */

/* SQLITE_FULL and the like are the system's; SQLITE_CORRUPT is damage. */
int
err_index(const struct index *x, struct err *e)
{
	int code = x->db != NULL ? sqlite3_errcode(x->db) & 0xff : SQLITE_NOMEM;
	bool damage = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
	              code == SQLITE_SCHEMA || code == SQLITE_ERROR ||
	              code == SQLITE_CONSTRAINT;

	if (code == SQLITE_INTERRUPT && cancel_check(e) != 0)
		return err_ctx(e, "%s", x->path);
	int os = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
	             ? sqlite3_system_errno(x->db)
	             : 0;
	if (os != 0) /* says more than "disk I/O error" */
		return err_set(e, ERR_IO, "%s: %s", x->path, strerror(os));
	return err_set(e, damage ? ERR_FORMAT : ERR_IO, "%s: %s%s", x->path,
	    x->db != NULL ? sqlite3_errmsg(x->db) : "out of memory",
	    damage ? " (emustore repair --index makes it again)" : "");
}

int
index_run(struct index *x, const char *text, struct err *e)
{
	return sqlite3_exec(x->db, text, NULL, NULL, NULL) == SQLITE_OK
	           ? 0
	           : err_index(x, e);
}

static int
check_version(struct index *x, struct err *e)
{
	sqlite3_stmt *s;
	int version = -1;

	if (sqlite3_prepare_v2(x->db, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK)
		return err_index(x, e);
	if (sqlite3_step(s) == SQLITE_ROW)
		version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	if (version < 0)
		return err_index(x, e);
	if (version > STORE_FORMAT)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: of format %d; this program knows no format "
		    "behind %d",
		    x->path, version, STORE_FORMAT);
	if (version != STORE_FORMAT)
		return err_set(e, ERR_FORMAT,
		    "%s: is no index of a store (emustore repair --index makes it "
		    "again)",
		    x->path);
	return 0;
}

static bool
no_room(const struct index *x)
{
	int code = x->db != NULL ? sqlite3_errcode(x->db) & 0xff : SQLITE_OK;

	return code == SQLITE_IOERR || code == SQLITE_FULL;
}

/* What takes long ends when a signal came. */
static int
is_told_to_end(void *unused)
{
	(void)unused;
	return cancel_signal() != 0;
}

/* The file may be somebody else's work: SQLite is to run nothing that it says. */
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

static int
check_content(struct index *x, struct err *e)
{
	if (guard(x, e) != 0 || check_version(x, e) != 0)
		return -1;
	return index_schema_check(x, e);
}

static int
make_content(struct index *x, struct err *e)
{
	if (guard(x, e) != 0 || index_run(x, "PRAGMA journal_mode = WAL", e) != 0 ||
	    index_run(x, marks, e) != 0)
		return -1;
	return index_schema_make(x, INDEX_TABLES_ALL, e);
}

static int
open_there(struct index *x, enum index_access how, struct err *e)
{
	if (access(x->path, F_OK) != 0)
		return err_os(e, "%s (emustore repair --index makes it from the packs)",
		    x->path);
	if (index_file_open(x, how, e) != 0)
		return -1;
	int rc = check_content(x, e);
	/* A reader, too, needs a little room beside the index. */
	if (rc != 0 && how == INDEX_READ && no_room(x)) {
		rc = index_file_reopen(x, e);
		rc = rc == 0 ? check_content(x, e) : rc;
	}
	return rc;
}

int
index_open(
    struct index **out, const char *path, enum index_access how, struct err *e)
{
	bool create = how == INDEX_CREATE;
	struct index *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, path);
	x->lock_fd = -1;
	snprintf(x->path, sizeof x->path, "%.500s", path);
	int rc = create ? index_file_open(x, how, e) : open_there(x, how, e);
	if (rc == 0)
		rc = index_run(
		    x, "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON", e);
	if (rc == 0 && create)
		rc = make_content(x, e);
	if (rc != 0) {
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
	if (x->lock_fd >= 0)
		close(x->lock_fd);
	free(x);
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
	/* What was begun is undone to the end, whatever signal came. */
	if (cancel_signal() != 0)
		sqlite3_progress_handler(x->db, 0, NULL, NULL);
	sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
}

static int __attribute__((format(printf, 3, 4)))
err_damaged(struct index *x, struct err *e, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(e, ERR_FORMAT,
	    "%s: is damaged: %s (emustore repair --index makes it again)", x->path,
	    text);
}

int
index_check(struct index *x, struct err *e)
{
	char text[200];
	sqlite3_stmt *s = index_ask(x, Q_CHECK, 0, NULL, e);
	int rc = index_step(x, s, e);

	if (rc < 0)
		return -1;
	index_column_text(s, 0, text, sizeof text);
	sqlite3_reset(s);
	if (strcmp(text, "ok") == 0)
		return 0;
	return err_damaged(x, e, "%s", text);
}

int
index_next(struct index *x, enum index_next what, uint64_t *number, struct err *e)
{
	static const enum query last[] = { [INDEX_NEXT_FRAGMENT] = Q_LAST_FRAGMENT,
		[INDEX_NEXT_IMAGE] = Q_LAST_IMAGE,
		[INDEX_NEXT_PACK] = Q_LAST_PACK };
	const uint64_t most = what == INDEX_NEXT_PACK ? UINT32_MAX : INT64_MAX;
	sqlite3_stmt *s = index_ask(x, Q_NEXT, 1, (uint64_t[]){ what }, e);
	int rc = index_step(x, s, e);

	if (rc < 0)
		return -1;
	*number = rc == 1 ? index_column(s, 0) : 1;
	sqlite3_reset(s);
	s = index_ask(x, last[what], 0, NULL, e);
	if (index_step(x, s, e) != 1)
		return -1;
	uint64_t taken = index_column(s, 0);
	sqlite3_reset(s);
	if (*number > taken && *number < most)
		return 0;
	return err_damaged(
	    x, e, "the next number is %" PRIu64 " after %" PRIu64, *number, taken);
}

int
index_set_next(struct index *x, enum index_next what, uint64_t number, struct err *e)
{
	return index_tell(x, Q_SET_NEXT, 2, (uint64_t[]){ what, number }, e);
}

/* One row of numbers. */
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

int
index_totals(struct index *x, struct index_totals *t, struct err *e)
{
	if (sums(x, Q_TOTAL_FRAGMENTS,
		(uint64_t *[]){ &t->fragments, &t->fragment_bytes, &t->raw_unique }, 3,
		e) != 0 ||
	    sums(x, Q_TOTAL_IMAGES,
		(uint64_t *[]){ &t->images, &t->image_chunks, &t->data_bytes }, 3,
		e) != 0)
		return -1;
	return sums(
	    x, Q_TOTAL_PACKS, (uint64_t *[]){ &t->packs, &t->pack_bytes }, 2, e);
}
