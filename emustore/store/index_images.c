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
	i->number = (uint64_t)sqlite3_last_insert_rowid(x->db);
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
