/* index_images.c: the images that the index knows.  Called by the other files of the store
 * and by the program, in the thread that has the index. */
#include <stdlib.h>

#include "emustore/store/index_impl.h"

int
index_add_image(struct index *x, struct index_image *i, struct err *e)
{
	const struct recipe_image *a = &i->about;
	sqlite3_stmt *s = index_ask(x, Q_ADD_IMAGE, 5,
	    (uint64_t[]){
		i->bytes, a->name.version, a->chunks, a->data_bytes, a->put_at },
	    e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 6, i->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 7, i->etag, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 8, a->name.name, -1, SQLITE_STATIC);
	sqlite3_bind_blob(s, 9, a->sha256, sizeof a->sha256, SQLITE_STATIC);
	sqlite3_bind_text(s, 10, a->parent, -1, SQLITE_STATIC);
	int rc = index_step(x, s, e);
	i->number = (uint64_t)sqlite3_last_insert_rowid(x->db.sql);
	return rc;
}

static void
image_row(sqlite3_stmt *s, struct index_image *i)
{
	struct recipe_image *a = &i->about;

	a->nlabels = 0; /* the labels are not cleared: that would be slow in lists of thousands */
	i->number = index_column(s, 0);
	index_column_text(s, 1, i->key, sizeof i->key);
	index_column_text(s, 2, i->etag, sizeof i->etag);
	i->bytes = index_column(s, 3);
	index_column_text(s, 4, a->name.name, sizeof a->name.name);
	a->name.version = (uint32_t)index_column(s, 5);
	a->chunks = (uint32_t)index_column(s, 6);
	a->data_bytes = index_column(s, 7);
	a->put_at = index_column(s, 8);
	index_column_bytes(s, 9, a->sha256, sizeof a->sha256);
	index_column_text(s, 10, a->parent, sizeof a->parent);
}

/* Read the one row that s gives, if there is one. */
static int
one_image(struct index *x, sqlite3_stmt *s, struct index_image *i, struct err *e)
{
	int rc = index_step(x, s, e);

	if (rc == 1) {
		image_row(s, i);
		sqlite3_reset(s);
	}
	return rc;
}

int
index_find_image(
    struct index *x, const struct store_name *n, struct index_image *i, struct err *e)
{
	sqlite3_stmt *s = index_ask(
	    x, n->version == 0 ? Q_LATEST_IMAGE : Q_FIND_IMAGE, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, n->name, -1, SQLITE_STATIC);
	if (n->version != 0)
		sqlite3_bind_int64(s, 2, n->version);
	return one_image(x, s, i, e);
}

int
index_find_key(struct index *x, const char *key, struct index_image *i, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_KEY, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	return one_image(x, s, i, e);
}

int
index_drop_image(struct index *x, uint64_t number, struct err *e)
{
	return index_tell(x, Q_DROP_IMAGE, 1, &number, e);
}

int
index_each_image(struct index *x,
    int (*fn)(void *, const struct index_image *, struct err *), void *arg,
    struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_EACH_IMAGE, 0, NULL, e);
	struct index_image *i = malloc(sizeof *i);
	int rc = i == NULL ? err_nomem(e, "an image") : 0;

	while (rc == 0 && (rc = index_step(x, s, e)) == 1) {
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
	sqlite3_stmt *s = index_ask(x, Q_COUNT_VERSIONS, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (index_step(x, s, e) != 1)
		return -1;
	*n = index_column(s, 0);
	sqlite3_reset(s);
	return 0;
}

/* Ask about an image of this name and version; v: the numbers that come before the name. */
static sqlite3_stmt *
ask_named(struct index *x, enum query q, const char *name, size_t n, const uint64_t *v)
{
	struct err ignored;
	sqlite3_stmt *s = index_ask(x, q, n, v, &ignored);

	if (s != NULL)
		sqlite3_bind_text(s, (int)n + 1, name, -1, SQLITE_STATIC);
	return s;
}

/* A load does not wait for its count, and a count that fails says nothing about the index. */
void
index_note_load(
    struct index *x, const struct store_name *n, uint64_t now, uint64_t *loads)
{
	const bool failed = x->db.failed;
	struct err ignored;

	*loads = 0;
	sqlite3_busy_timeout(x->db.sql, 0);
	sqlite3_stmt *s = ask_named(
	    x, Q_NOTE_LOAD, n->name, 2, (uint64_t[]){ now, n->version });
	if (index_step(x, s, &ignored) == 0) {
		s = ask_named(
		    x, Q_GET_LOADS, n->name, 1, (uint64_t[]){ n->version });
		if (index_step(x, s, &ignored) == 1)
			*loads = index_column(s, 0);
		if (s != NULL)
			sqlite3_reset(s);
	}
	sqlite3_busy_timeout(x->db.sql, INDEX_WAIT_MS);
	x->db.failed = failed;
}

int
index_each_load(struct index *x, bool last, uint64_t most,
    int (*fn)(void *, const struct index_load *, struct err *), void *arg, struct err *e)
{
	sqlite3_stmt *s = index_ask(
	    x, last ? Q_LOADED_LAST : Q_LOADED_MOST, 1, &most, e);
	struct index_load l;
	int rc;

	while ((rc = index_step(x, s, e)) == 1) {
		index_column_text(s, 0, l.name.name, sizeof l.name.name);
		l.name.version = (uint32_t)index_column(s, 1);
		l.loads = index_column(s, 2);
		l.loaded_at = index_column(s, 3);
		rc = fn(arg, &l, e);
		if (rc != 0)
			break;
	}
	if (s != NULL)
		sqlite3_reset(s);
	return rc;
}
