#include "emustore/store/index_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emustore/store/index_impl.h"

#define OBJECT_COLUMNS "o.number, o.condemned, o.id, p.bytes, o.digests"
#define OBJECTS "objects o JOIN packs p ON p.number = o.number"
#define GOOD "(SELECT number FROM objects WHERE condemned = 0)"

int
index_open_remote(struct index **out, const char *path, struct err *e)
{
	bool there = access(path, F_OK) == 0;

	if (index_open(out, path, there ? INDEX_WRITE : INDEX_CREATE, e) != 0)
		return -1;
	if (index_schema_make(*out, INDEX_TABLES_REMOTE, e) == 0)
		return 0;
	index_close(*out);
	return -1;
}

/* Prepared for one use; NULL: *e says why. */
static sqlite3_stmt *
prepare(struct index *x, const char *sql, struct err *e)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(x->db, sql, -1, &s, NULL) != SQLITE_OK)
		err_index(x, e);
	return s;
}

/* 1 a row, 0 none; then the statement is finished, unless there was a row. */
static int
step(struct index *x, sqlite3_stmt *s, struct err *e)
{
	int rc = s != NULL ? sqlite3_step(s) : SQLITE_ERROR;

	if (rc == SQLITE_ROW)
		return 1;
	rc = s == NULL ? -1 : rc == SQLITE_DONE ? 0 : err_index(x, e);
	sqlite3_finalize(s);
	return rc;
}

/* A statement with one number. */
static int
tell(struct index *x, const char *sql, uint64_t number, struct err *e)
{
	sqlite3_stmt *s = prepare(x, sql, e);

	if (s != NULL)
		sqlite3_bind_int64(s, 1, (sqlite3_int64)number);
	return step(x, s, e);
}

static void
column_string(sqlite3_stmt *s, int i, char *out, size_t cap)
{
	const unsigned char *text = sqlite3_column_text(s, i);

	snprintf(out, cap, "%s", text != NULL ? (const char *)text : "");
}

static void
object_row(sqlite3_stmt *s, struct index_object *o)
{
	o->number = (uint32_t)sqlite3_column_int64(s, 0);
	o->condemned = sqlite3_column_int(s, 1) != 0;
	column_string(s, 2, o->id, sizeof o->id);
	o->bytes = (uint64_t)sqlite3_column_int64(s, 3);
}

int
index_find_object(
    struct index *x, const char *id, struct index_object *o, struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "SELECT " OBJECT_COLUMNS " FROM " OBJECTS " WHERE o.id = ?1", e);

	if (s != NULL)
		sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
	int rc = step(x, s, e);
	if (rc == 1) {
		object_row(s, o);
		sqlite3_finalize(s);
	}
	return rc;
}

int
index_get_object(struct index *x, uint32_t number, struct index_object *o,
    struct buf *digests, struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "SELECT " OBJECT_COLUMNS " FROM " OBJECTS " WHERE o.number = ?1", e);

	if (s != NULL)
		sqlite3_bind_int64(s, 1, number);
	int rc = step(x, s, e);
	if (rc == 1) {
		object_row(s, o);
		if (digests != NULL)
			buf_bytes(digests, sqlite3_column_blob(s, 4),
			    (size_t)sqlite3_column_bytes(s, 4));
		sqlite3_finalize(s);
	}
	return rc == 1 && digests != NULL && !buf_ok(digests) ? err_nomem(e, "a pack")
	                                                      : rc;
}

int
index_each_object(struct index *x,
    int (*fn)(void *, const struct index_object *, struct err *), void *arg,
    struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "SELECT " OBJECT_COLUMNS " FROM " OBJECTS " ORDER BY o.number", e);
	struct index_object o;
	int rc;

	while ((rc = step(x, s, e)) == 1) {
		object_row(s, &o);
		if (fn(arg, &o, e) != 0) {
			sqlite3_finalize(s);
			return -1;
		}
	}
	return rc;
}

static int
add_object(struct index *x, uint32_t number, const char *id, const struct toc *t,
    struct err *e)
{
	struct index_pack p = { number, t->pack_bytes };
	sqlite3_stmt *s = prepare(x,
	    "INSERT INTO objects (number, id, condemned, digests) "
	    "VALUES (?1, ?2, 0, ?3)",
	    e);

	if (s != NULL) {
		sqlite3_bind_int64(s, 1, number);
		sqlite3_bind_text(s, 2, id, -1, SQLITE_STATIC);
		sqlite3_bind_blob(
		    s, 3, t->digests, (int)(t->nblocks * SHA256_BYTES), SQLITE_STATIC);
	}
	return step(x, s, e) == 0 ? index_put_pack(x, &p, e) : -1;
}

static int
add_spare(struct index *x, const struct index_fragment *f, struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "INSERT OR IGNORE INTO spares VALUES (?1, ?2, ?3)", e);

	if (s != NULL) {
		sqlite3_bind_blob(s, 1, f->head.sha256, SHA256_BYTES, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, f->pack);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)f->at);
	}
	return step(x, s, e);
}

int
index_add_pack(struct index *x, const char *id, struct toc *t, struct err *e)
{
	struct index_fragment f, there;
	uint64_t pack, next;

	if (index_next(x, INDEX_NEXT_PACK, &pack, e) != 0 ||
	    index_next(x, INDEX_NEXT_FRAGMENT, &next, e) != 0 ||
	    add_object(x, (uint32_t)pack, id, t, e) != 0)
		return -1;
	while (toc_next(t, &f)) {
		f.pack = (uint32_t)pack;
		int known = index_find_fragment(x, f.head.sha256, &there, e);
		f.number = next;
		if (known == 0)
			known = index_add_fragment(x, &f, e) == 0 ? (next++, 0) : -1;
		else if (known == 1)
			known = add_spare(x, &f, e);
		if (known < 0)
			return -1;
	}
	if (index_set_next(x, INDEX_NEXT_FRAGMENT, next, e) != 0)
		return -1;
	return index_set_next(x, INDEX_NEXT_PACK, pack + 1, e);
}

int
index_condemn(struct index *x, uint32_t pack, struct err *e)
{
	return tell(x, "UPDATE objects SET condemned = 1 WHERE number = ?1", pack, e);
}

int
index_drop_object(struct index *x, uint32_t pack, struct err *e)
{
	if (tell(x, "DELETE FROM spares WHERE pack = ?1", pack, e) != 0 ||
	    tell(x, "DELETE FROM objects WHERE number = ?1", pack, e) != 0)
		return -1;
	return index_delete_pack(x, pack, e);
}

int
index_settle(struct index *x, struct err *e)
{
	return index_run(x,
	    /* Condemned places become spares where there is a better one. */
	    "CREATE TEMP TABLE IF NOT EXISTS moves (number INTEGER PRIMARY KEY, "
	    "pack INTEGER, at INTEGER);"
	    "DELETE FROM moves;"
	    "INSERT OR IGNORE INTO moves SELECT f.number, s.pack, s.at FROM spares s "
	    "JOIN fragments f ON f.sha256 = s.sha256 WHERE f.pack NOT IN " GOOD
	    " AND s.pack IN " GOOD ";"
	    "INSERT OR IGNORE INTO moves SELECT f.number, s.pack, s.at FROM spares s "
	    "JOIN fragments f ON f.sha256 = s.sha256 WHERE f.pack NOT IN "
	    "(SELECT number FROM objects);"
	    "INSERT OR IGNORE INTO spares SELECT sha256, pack, at FROM fragments "
	    "WHERE number IN (SELECT number FROM moves) "
	    "AND pack IN (SELECT number FROM objects);"
	    "UPDATE fragments SET "
	    "pack = (SELECT pack FROM moves m WHERE m.number = fragments.number), "
	    "at = (SELECT at FROM moves m WHERE m.number = fragments.number) "
	    "WHERE number IN (SELECT number FROM moves);"
	    "DELETE FROM spares WHERE EXISTS (SELECT 1 FROM fragments f "
	    "WHERE f.sha256 = spares.sha256 AND f.pack = spares.pack);"
	    "DELETE FROM fragments WHERE pack NOT IN (SELECT number FROM objects)",
	    e);
}

static void
recipe_row(sqlite3_stmt *s, struct index_recipe *r)
{
	r->number = (uint64_t)sqlite3_column_int64(s, 0);
	column_string(s, 1, r->key, sizeof r->key);
	column_string(s, 2, r->etag, sizeof r->etag);
	r->bytes = (uint64_t)sqlite3_column_int64(s, 3);
}

int
index_add_recipe(struct index *x, const struct index_recipe *r, struct err *e)
{
	sqlite3_stmt *s = prepare(x, "INSERT INTO recipes VALUES (?1, ?2, ?3, ?4)", e);

	if (s != NULL) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)r->number);
		sqlite3_bind_text(s, 2, r->key, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, r->etag, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 4, (sqlite3_int64)r->bytes);
	}
	return step(x, s, e);
}

static int
one_recipe(struct index *x, sqlite3_stmt *s, struct index_recipe *r, struct err *e)
{
	int rc = step(x, s, e);

	if (rc == 1) {
		recipe_row(s, r);
		sqlite3_finalize(s);
	}
	return rc;
}

int
index_find_recipe(
    struct index *x, const char *key, struct index_recipe *r, struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "SELECT number, key, etag, bytes FROM recipes WHERE key = ?1", e);

	if (s != NULL)
		sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	return one_recipe(x, s, r, e);
}

int
index_get_recipe(
    struct index *x, uint64_t number, struct index_recipe *r, struct err *e)
{
	sqlite3_stmt *s = prepare(
	    x, "SELECT number, key, etag, bytes FROM recipes WHERE number = ?1", e);

	if (s != NULL)
		sqlite3_bind_int64(s, 1, (sqlite3_int64)number);
	return one_recipe(x, s, r, e);
}

int
index_each_recipe(struct index *x,
    int (*fn)(void *, const struct index_recipe *, struct err *), void *arg,
    struct err *e)
{
	sqlite3_stmt *s = prepare(x, "SELECT number, key, etag, bytes FROM recipes", e);
	struct index_recipe r;
	int rc;

	while ((rc = step(x, s, e)) == 1) {
		recipe_row(s, &r);
		if (fn(arg, &r, e) != 0) {
			sqlite3_finalize(s);
			return -1;
		}
	}
	return rc;
}

int
index_drop_recipe(struct index *x, uint64_t number, struct err *e)
{
	return tell(x, "DELETE FROM recipes WHERE number = ?1", number, e) == 0
	           ? index_delete_image(x, number, e)
	           : -1;
}
