#include "common/store/index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store/index_impl.h"

enum {
	BUSY_MS = 20000,
	WALK_ROWS = 8, /* to read so many takes about as long as to look for one */
};

#define FRAGMENT_COLUMNS "number, pack, at, bytes, sha256, raw_digest, raw_bytes, adler"
#define IMAGE_COLUMNS \
	"number, name, version, pack, at, bytes, chunks, data_bytes, put_at, " \
	"sha256, parent"

static const char *const sql[QUERIES] = {
	[Q_NEXT] = "SELECT number FROM next WHERE what = ?1",
	[Q_LAST_FRAGMENT] = "SELECT max(number) FROM fragments",
	[Q_LAST_IMAGE] = "SELECT max(number) FROM images",
	[Q_LAST_PACK] = "SELECT max(number) FROM packs",
	[Q_SET_NEXT] = "INSERT OR REPLACE INTO next VALUES (?1, ?2)",
	[Q_ADD_FRAGMENT] = "INSERT INTO fragments (" FRAGMENT_COLUMNS ") "
			   "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[Q_FIND_FRAGMENT] = "SELECT " FRAGMENT_COLUMNS
			    " FROM fragments WHERE sha256 = ?1",
	[Q_FIND_RAW] = "SELECT " FRAGMENT_COLUMNS
		       " FROM fragments WHERE raw_digest = ?2 AND raw_bytes = ?1 "
		       "AND pack != 0 LIMIT 1",
	[Q_GET_FRAGMENT] = "SELECT " FRAGMENT_COLUMNS
			   " FROM fragments WHERE number = ?1",
	[Q_FRAGMENT_FROM] = "SELECT " FRAGMENT_COLUMNS
			    " FROM fragments WHERE number >= ?1 "
			    "ORDER BY number LIMIT 1",
	[Q_PLACES_FROM] = "SELECT number, pack, at, bytes FROM fragments "
			  "WHERE number >= ?1 ORDER BY number",
	[Q_MOVE_FRAGMENT] = "UPDATE fragments SET pack = ?2, at = ?3 WHERE number = ?1",
	[Q_DELETE_FRAGMENT] = "DELETE FROM fragments WHERE number = ?1",
	[Q_PUT_PACK] = "INSERT OR REPLACE INTO packs VALUES (?1, ?2)",
	[Q_DELETE_PACK] = "DELETE FROM packs WHERE number = ?1",
	[Q_PACK_FROM] = "SELECT number, bytes FROM packs WHERE number >= ?1 ORDER BY "
			"number LIMIT 1",
	[Q_PACK_END] =
	    "SELECT max(at) + 1 FROM (SELECT at FROM fragments "
	    "WHERE pack = ?1 UNION ALL SELECT at FROM images WHERE pack = ?1)",
	[Q_ADD_IMAGE] = "INSERT INTO images (" IMAGE_COLUMNS ") "
			"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[Q_FIND_IMAGE] = "SELECT " IMAGE_COLUMNS
			 " FROM images WHERE name = ?1 AND version = ?2",
	[Q_LATEST_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images WHERE name = ?1 "
			   "ORDER BY version DESC LIMIT 1",
	[Q_MOVE_IMAGE] = "UPDATE images SET pack = ?2, at = ?3 WHERE number = ?1",
	[Q_DELETE_IMAGE] = "DELETE FROM images WHERE number = ?1",
	[Q_EACH_IMAGE] = "SELECT " IMAGE_COLUMNS " FROM images ORDER BY name, version",
	[Q_COUNT_VERSIONS] = "SELECT count(*) FROM images WHERE name = ?1",
	[Q_TOTAL_FRAGMENTS] =
	    "SELECT count(*), total(bytes), count(DISTINCT raw_digest) FROM fragments",
	[Q_TOTAL_IMAGES] =
	    "SELECT count(*), total(chunks), total(data_bytes) FROM images",
	[Q_TOTAL_PACKS] = "SELECT count(*), total(bytes) FROM packs",
	[Q_CHECK] = "PRAGMA integrity_check(1)",
};

static const char schema[] =
    "PRAGMA application_id = 1162695540;" /* "EMSt" */
    "PRAGMA user_version = 1;"            /* STORE_FORMAT */
    "CREATE TABLE next (what INTEGER PRIMARY KEY, number INTEGER NOT NULL);"
    "CREATE TABLE packs (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);"
    "CREATE TABLE fragments (number INTEGER PRIMARY KEY, pack INTEGER NOT NULL, "
    "at INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL UNIQUE, "
    "raw_digest BLOB NOT NULL, raw_bytes INTEGER NOT NULL, adler INTEGER NOT NULL);"
    "CREATE TABLE images (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "version INTEGER NOT NULL, pack INTEGER NOT NULL, at INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL, chunks INTEGER NOT NULL, data_bytes INTEGER NOT NULL, "
    "put_at INTEGER NOT NULL, sha256 BLOB NOT NULL, parent TEXT NOT NULL, "
    "UNIQUE (name, version));";

/* SQLITE_FULL and the like are the system's; SQLITE_CORRUPT is damage. */
int
err_index(const struct index *x, struct err *e)
{
	int code = x->db != NULL ? sqlite3_errcode(x->db) & 0xff : SQLITE_NOMEM;
	bool damage = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
	              code == SQLITE_SCHEMA || code == SQLITE_ERROR ||
	              code == SQLITE_CONSTRAINT;

	if (code == SQLITE_READONLY && x->full)
		return err_set(e, ERR_IO, "%s: the disk is full", x->path);
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

/* On a file system to which nothing can be written, where SQLite could not make the
 * files by which readers and a writer keep apart. */
static int
open_unchanging(struct index *x, const char *path, struct err *e)
{
	char wal[INDEX_PATH_BYTES + 8], uri[3 * INDEX_PATH_BYTES + 32] = "file:";
	size_t n = strlen(uri);
	struct stat st;

	snprintf(wal, sizeof wal, "%s-wal", path);
	if (stat(wal, &st) == 0 && st.st_size > 0)
		return err_set(e, ERR_REFUSED,
		    "%s: a writer was cut short, and what it has left cannot be taken "
		    "in on a file system that is full or read-only",
		    path);
	for (const char *p = path; *p != '\0' && n + 16 < sizeof uri; p++)
		n += (size_t)snprintf(uri + n, sizeof uri - n,
		    strchr("%?#", *p) != NULL ? "%%%02x" : "%c", *p);
	snprintf(uri + n, sizeof uri - n, "?immutable=1");
	return sqlite3_open_v2(uri, &x->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
		   NULL) == SQLITE_OK
	           ? 0
	           : err_index(x, e);
}

static bool
no_room(const struct index *x)
{
	int code = x->db != NULL ? sqlite3_errcode(x->db) & 0xff : SQLITE_OK;

	return code == SQLITE_IOERR || code == SQLITE_FULL;
}

int
index_open(struct index **out, const char *path, bool create, struct err *e)
{
	struct index *x = calloc(1, sizeof *x);

	if (x == NULL)
		return err_nomem(e, path);
	snprintf(x->path, sizeof x->path, "%.500s", path);
	int rc = 0;
	if (!create && access(path, F_OK) != 0)
		rc = err_os(
		    e, "%s (emustore repair --index makes it from the packs)", path);
	if (rc == 0 && !create && access(path, W_OK) != 0 && errno == EROFS)
		rc = open_unchanging(x, path, e);
	else if (rc == 0 &&
		 sqlite3_open_v2(path, &x->db,
		     SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0),
		     NULL) != SQLITE_OK)
		rc = err_index(x, e);
	if (rc == 0) {
		sqlite3_busy_timeout(x->db, BUSY_MS);
		rc = create ? index_run(x, "PRAGMA journal_mode = WAL", e)
		            : check_version(x, e);
	}
	/* A reader, too, needs a little room beside the index. */
	if (rc != 0 && !create && no_room(x)) {
		sqlite3_close(x->db);
		x->db = NULL;
		rc = open_unchanging(x, path, e);
		x->full = rc == 0;
		rc = rc == 0 ? check_version(x, e) : rc;
	}
	if (rc == 0)
		rc = index_run(
		    x, "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON", e);
	if (rc == 0 && create)
		rc = index_run(x, schema, e);
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
	sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
}

/* A query with its first parameters, all numbers; more are bound by the caller. */
static sqlite3_stmt *
ask(struct index *x, enum query q, size_t n, const uint64_t *v, struct err *e)
{
	sqlite3_stmt **s = &x->stmt[q];

	if (*s == NULL && sqlite3_prepare_v3(x->db, sql[q], -1,
			      SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK) {
		err_index(x, e);
		return NULL;
	}
	sqlite3_reset(*s);
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*s, (int)i + 1, (sqlite3_int64)v[i]);
	return *s;
}

/* 1 a row, 0 done, -1. */
static int
step(struct index *x, sqlite3_stmt *s, struct err *e)
{
	int rc = s == NULL ? SQLITE_ERROR : sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	if (s == NULL)
		return -1;
	rc = rc == SQLITE_DONE ? 0 : err_index(x, e);
	sqlite3_reset(s);
	return rc;
}

/* A statement of numbers that gives no rows. */
static int
tell(struct index *x, enum query q, size_t n, const uint64_t *v, struct err *e)
{
	return step(x, ask(x, q, n, v, e), e);
}

static uint64_t
column(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

static void
column_bytes(sqlite3_stmt *s, int i, uint8_t *out, size_t n)
{
	const void *p = sqlite3_column_blob(s, i);

	memset(out, 0, n);
	if (p != NULL && (size_t)sqlite3_column_bytes(s, i) == n)
		memcpy(out, p, n);
}

static void
column_text(sqlite3_stmt *s, int i, char *out, size_t cap)
{
	const unsigned char *p = sqlite3_column_text(s, i);

	snprintf(out, cap, "%s", p != NULL ? (const char *)p : "");
}

static int err_damaged(struct index *x, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int
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
	sqlite3_stmt *s = ask(x, Q_CHECK, 0, NULL, e);
	int rc = step(x, s, e);

	if (rc < 0)
		return -1;
	column_text(s, 0, text, sizeof text);
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
	sqlite3_stmt *s = ask(x, Q_NEXT, 1, (uint64_t[]){ what }, e);
	int rc = step(x, s, e);

	if (rc < 0)
		return -1;
	*number = rc == 1 ? column(s, 0) : 1;
	sqlite3_reset(s);
	s = ask(x, last[what], 0, NULL, e);
	if (step(x, s, e) != 1)
		return -1;
	uint64_t taken = column(s, 0);
	sqlite3_reset(s);
	if (*number > taken && *number < most)
		return 0;
	return err_damaged(
	    x, e, "the next number is %" PRIu64 " after %" PRIu64, *number, taken);
}

int
index_pack_end(struct index *x, uint32_t number, uint64_t *end, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_PACK_END, 1, (uint64_t[]){ number }, e);

	if (step(x, s, e) != 1)
		return -1;
	*end = column(s, 0);
	sqlite3_reset(s);
	return 0;
}

int
index_set_next(struct index *x, enum index_next what, uint64_t number, struct err *e)
{
	return tell(x, Q_SET_NEXT, 2, (uint64_t[]){ what, number }, e);
}

int
index_add_fragment(struct index *x, const struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_ADD_FRAGMENT, 4,
	    (uint64_t[]){ f->number, f->pack, f->at, f->bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 5, f->head.sha256, sizeof f->head.sha256, SQLITE_STATIC);
	sqlite3_bind_blob(
	    s, 6, f->head.raw_digest, sizeof f->head.raw_digest, SQLITE_STATIC);
	sqlite3_bind_int64(s, 7, f->head.raw_bytes);
	sqlite3_bind_int64(s, 8, f->head.adler);
	return step(x, s, e);
}

/* The row that s is to give: 1, 0, -1. */
static int
fragment_row(struct index *x, sqlite3_stmt *s, struct index_fragment *f, struct err *e)
{
	int rc = step(x, s, e);

	if (rc != 1)
		return rc;
	f->number = column(s, 0);
	f->pack = (uint32_t)column(s, 1);
	f->at = column(s, 2);
	f->bytes = (uint32_t)column(s, 3);
	column_bytes(s, 4, f->head.sha256, sizeof f->head.sha256);
	column_bytes(s, 5, f->head.raw_digest, sizeof f->head.raw_digest);
	f->head.raw_bytes = (uint32_t)column(s, 6);
	f->head.adler = (uint32_t)column(s, 7);
	sqlite3_reset(s);
	return 1;
}

int
index_find_fragment(struct index *x, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_FIND_FRAGMENT, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 1, sha256, SHA256_BYTES, SQLITE_STATIC);
	return fragment_row(x, s, f, e);
}

int
index_find_raw(struct index *x, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint32_t raw_bytes, struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_FIND_RAW, 1, (uint64_t[]){ raw_bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 2, raw_digest, RAW_DIGEST_BYTES, SQLITE_STATIC);
	return fragment_row(x, s, f, e);
}

int
index_prepare_raw(struct index *x, struct err *e)
{
	return index_run(
	    x, "CREATE INDEX IF NOT EXISTS fragments_raw ON fragments (raw_digest)", e);
}

int
index_get_fragment(
    struct index *x, uint64_t number, struct index_fragment *f, struct err *e)
{
	return fragment_row(x, ask(x, Q_GET_FRAGMENT, 1, &number, e), f, e);
}

int
index_fragment_from(
    struct index *x, uint64_t number, struct index_fragment *f, struct err *e)
{
	return fragment_row(x, ask(x, Q_FRAGMENT_FROM, 1, &number, e), f, e);
}

struct index_walk
index_walk_of(struct index *x)
{
	return (struct index_walk){ .x = x };
}

void
index_walk_end(struct index_walk *w)
{
	if (w->x->stmt[Q_PLACES_FROM] != NULL)
		sqlite3_reset(w->x->stmt[Q_PLACES_FROM]);
	w->number = 0;
}

int
index_walk_to(
    struct index_walk *w, uint64_t number, struct index_place *p, struct err *e)
{
	sqlite3_stmt *s = w->x->stmt[Q_PLACES_FROM];
	int rc = 1;

	for (int i = 0; i < WALK_ROWS && w->number != 0 && w->number < number; i++) {
		if ((rc = step(w->x, s, e)) < 0)
			return -1;
		w->number = rc == 1 ? column(s, 0) : 0;
	}
	if (w->number != number) {
		s = ask(w->x, Q_PLACES_FROM, 1, &number, e);
		if ((rc = step(w->x, s, e)) < 0)
			return -1;
		w->number = rc == 1 ? column(s, 0) : 0;
	}
	if (w->number != number)
		return 0;
	*p = (struct index_place){ .pack = (uint32_t)column(s, 1),
		.at = column(s, 2),
		.bytes = (uint32_t)column(s, 3) };
	return 1;
}

int
index_move_fragment(
    struct index *x, uint64_t number, uint32_t pack, uint64_t at, struct err *e)
{
	return tell(x, Q_MOVE_FRAGMENT, 3, (uint64_t[]){ number, pack, at }, e);
}

int
index_delete_fragment(struct index *x, uint64_t number, struct err *e)
{
	return tell(x, Q_DELETE_FRAGMENT, 1, &number, e);
}

int
index_put_pack(struct index *x, const struct index_pack *p, struct err *e)
{
	return tell(x, Q_PUT_PACK, 2, (uint64_t[]){ p->number, p->bytes }, e);
}

int
index_delete_pack(struct index *x, uint32_t number, struct err *e)
{
	return tell(x, Q_DELETE_PACK, 1, (uint64_t[]){ number }, e);
}

int
index_pack_from(struct index *x, uint32_t number, struct index_pack *p, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_PACK_FROM, 1, (uint64_t[]){ number }, e);
	int rc = step(x, s, e);

	if (rc != 1)
		return rc;
	p->number = (uint32_t)column(s, 0);
	p->bytes = column(s, 1);
	sqlite3_reset(s);
	return 1;
}

int
index_add_image(struct index *x, const struct index_image *i, struct err *e)
{
	const struct recipe_image *a = &i->about;
	sqlite3_stmt *s = ask(x, Q_ADD_IMAGE, 9,
	    (uint64_t[]){ i->number, 0, a->name.version, i->pack, i->at, i->bytes,
		a->chunks, a->data_bytes, a->put_at },
	    e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 2, a->name.name, -1, SQLITE_STATIC);
	sqlite3_bind_blob(s, 10, a->sha256, sizeof a->sha256, SQLITE_STATIC);
	sqlite3_bind_text(s, 11, a->parent, -1, SQLITE_STATIC);
	return step(x, s, e);
}

static void
image_row(sqlite3_stmt *s, struct index_image *i)
{
	struct recipe_image *a = &i->about;

	a->nlabels = 0; /* not all of its room is cleared, for lists of thousands */
	i->number = column(s, 0);
	column_text(s, 1, a->name.name, sizeof a->name.name);
	a->name.version = (uint32_t)column(s, 2);
	i->pack = (uint32_t)column(s, 3);
	i->at = column(s, 4);
	i->bytes = column(s, 5);
	a->chunks = (uint32_t)column(s, 6);
	a->data_bytes = column(s, 7);
	a->put_at = column(s, 8);
	column_bytes(s, 9, a->sha256, sizeof a->sha256);
	column_text(s, 10, a->parent, sizeof a->parent);
}

int
index_find_image(
    struct index *x, const struct store_name *n, struct index_image *i, struct err *e)
{
	sqlite3_stmt *s = ask(
	    x, n->version == 0 ? Q_LATEST_IMAGE : Q_FIND_IMAGE, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, n->name, -1, SQLITE_STATIC);
	if (n->version != 0)
		sqlite3_bind_int64(s, 2, n->version);
	int rc = step(x, s, e);
	if (rc != 1)
		return rc;
	image_row(s, i);
	sqlite3_reset(s);
	return 1;
}

int
index_move_image(
    struct index *x, uint64_t number, uint32_t pack, uint64_t at, struct err *e)
{
	return tell(x, Q_MOVE_IMAGE, 3, (uint64_t[]){ number, pack, at }, e);
}

int
index_delete_image(struct index *x, uint64_t number, struct err *e)
{
	return tell(x, Q_DELETE_IMAGE, 1, &number, e);
}

int
index_each_image(struct index *x,
    int (*fn)(void *, const struct index_image *, struct err *), void *arg,
    struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_EACH_IMAGE, 0, NULL, e);
	struct index_image *i = malloc(sizeof *i);
	int rc = i == NULL ? err_nomem(e, "an image") : 0;

	while (rc == 0 && (rc = step(x, s, e)) == 1) {
		image_row(s, i);
		rc = fn(arg, i, e);
	}
	if (s != NULL)
		sqlite3_reset(s);
	free(i);
	return rc;
}

int
index_count_versions(struct index *x, const char *name, uint64_t *n, struct err *e)
{
	sqlite3_stmt *s = ask(x, Q_COUNT_VERSIONS, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (step(x, s, e) != 1)
		return -1;
	*n = column(s, 0);
	sqlite3_reset(s);
	return 0;
}

/* One row of numbers. */
static int
sums(struct index *x, enum query q, uint64_t *const out[], int n, struct err *e)
{
	sqlite3_stmt *s = ask(x, q, 0, NULL, e);

	if (step(x, s, e) != 1)
		return -1;
	for (int i = 0; i < n; i++)
		*out[i] = column(s, i);
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
