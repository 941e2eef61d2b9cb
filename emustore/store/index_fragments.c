/* index_fragments.c: the fragments that the index knows, and the walk over them.  Called
 * by the other files of the store, in the thread that has the index. */
#include <string.h>

#include "emustore/store/index_impl.h"

int
index_add_fragment(struct index *x, const struct index_fragment *i, struct err *e)
{
	const struct pack_fragment *f = &i->f;
	sqlite3_stmt *s = index_ask(x, Q_ADD_FRAGMENT, 5,
	    (uint64_t[]){ i->pack, f->at, f->bytes, f->head.raw_bytes, f->head.adler },
	    e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 6, f->head.sha256, sizeof f->head.sha256, SQLITE_STATIC);
	sqlite3_bind_blob(
	    s, 7, f->head.raw_digest, sizeof f->head.raw_digest, SQLITE_STATIC);
	return index_step(x, s, e);
}

static void
fragment_row(sqlite3_stmt *s, struct index_fragment *i)
{
	struct pack_fragment *f = &i->f;

	i->number = index_column(s, 0);
	i->pack = (uint32_t)index_column(s, 1);
	f->at = index_column(s, 2);
	f->bytes = (uint32_t)index_column(s, 3);
	index_column_bytes(s, 4, f->head.sha256, sizeof f->head.sha256);
	index_column_bytes(s, 5, f->head.raw_digest, sizeof f->head.raw_digest);
	f->head.raw_bytes = (uint32_t)index_column(s, 6);
	f->head.adler = (uint32_t)index_column(s, 7);
}

int
index_find_fragment(struct index *x, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *i, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_FRAGMENT, 0, NULL, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 1, sha256, SHA256_BYTES, SQLITE_STATIC);
	int rc = index_step(x, s, e);
	if (rc != 1)
		return rc;
	fragment_row(s, i);
	sqlite3_reset(s);
	return 1;
}

int
index_find_raw(struct index *x, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint64_t raw_bytes, struct index_fragment *out, size_t most, size_t *n, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_FIND_RAW, 2, (uint64_t[]){ raw_bytes, most }, e);
	int rc = 1;

	*n = 0;
	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 3, raw_digest, RAW_DIGEST_BYTES, SQLITE_STATIC);
	while (*n < most && (rc = index_step(x, s, e)) == 1)
		fragment_row(s, &out[(*n)++]);
	sqlite3_reset(s);
	return rc < 0 ? -1 : 0;
}

int
index_has_raw(struct index *x, const struct fragment_head *h, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_HAS_RAW, 1, (uint64_t[]){ h->raw_bytes }, e);

	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 2, h->raw_digest, RAW_DIGEST_BYTES, SQLITE_STATIC);
	int rc = index_step(x, s, e);
	sqlite3_reset(s);
	return rc;
}

int
index_count_fragments(struct index *x,
    int (*fn)(void *, uint32_t, uint64_t, struct err *), void *arg, struct err *e)
{
	sqlite3_stmt *s = index_ask(x, Q_COUNT_FRAGMENTS, 0, NULL, e);
	int rc;

	while ((rc = index_step(x, s, e)) == 1) {
		rc = fn(arg, (uint32_t)index_column(s, 0), index_column(s, 1), e);
		if (rc != 0)
			break;
	}
	if (s != NULL)
		sqlite3_reset(s);
	return rc;
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
	w->at_row = false;
}

static bool
is_at(const struct index_walk *w, sqlite3_stmt *s, const uint8_t *sha256)
{
	return w->at_row && sqlite3_column_bytes(s, 4) == SHA256_BYTES &&
	       memcmp(sqlite3_column_blob(s, 4), sha256, SHA256_BYTES) == 0;
}

/* Go to the next row of the walk. */
static int
step_on(struct index_walk *w, sqlite3_stmt *s, struct err *e)
{
	int rc = w->at_row ? index_step(w->x, s, e) : 0;

	w->at_row = rc == 1;
	return rc < 0 ? -1 : 0;
}

/* Go to the row that has this digest, by SQLite's index of digests. */
static int
go_to(struct index_walk *w, const uint8_t *sha256, struct err *e)
{
	sqlite3_stmt *s = index_ask(w->x, Q_FIND_NUMBER, 0, NULL, e);

	w->at_row = false;
	if (s == NULL)
		return -1;
	sqlite3_bind_blob(s, 1, sha256, SHA256_BYTES, SQLITE_STATIC);
	int rc = index_step(w->x, s, e);
	if (rc != 1)
		return rc;
	uint64_t number = index_column(s, 0);
	sqlite3_reset(s);
	s = index_ask(w->x, Q_PLACES_FROM, 1, &number, e);
	rc = index_step(w->x, s, e);
	w->at_row = rc == 1;
	return rc < 0 ? -1 : 0;
}

int
index_walk_to(struct index_walk *w, const uint8_t sha256[SHA256_BYTES],
    struct index_place *p, struct err *e)
{
	sqlite3_stmt *s = w->x->stmt[Q_PLACES_FROM];

	if (step_on(w, s, e) != 0)
		return -1;
	if (!is_at(w, s, sha256) && go_to(w, sha256, e) != 0)
		return -1;
	s = w->x->stmt[Q_PLACES_FROM];
	if (!is_at(w, s, sha256))
		return 0;
	*p = (struct index_place){ .number = index_column(s, 0),
		.pack = (uint32_t)index_column(s, 1),
		.at = index_column(s, 2),
		.bytes = (uint32_t)index_column(s, 3),
		.raw.bytes = (uint32_t)index_column(s, 6) };
	index_column_bytes(s, 5, p->raw.digest, sizeof p->raw.digest);
	return 1;
}
