#include "emustore/store/remote_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/parallel.h"
#include "emustore/store/remote_impl.h"

enum { TABLE_TRIES = 3 };

/* What was found of a pack. */
struct state {
	struct index_object o;
	bool there;
	uint8_t *bad; /* one byte for each block; owned */
	uint32_t nblocks, nbad;
};

struct checking {
	struct check *c;
	struct store *s;
	struct listing packs;
	struct state *v; /* ascending by number */
	size_t n;
	/* Of the pack whose data are read: */
	struct state *now;
	struct buf digests;
};

static int
add_state(void *arg, const struct index_object *o, struct err *e)
{
	struct checking *k = arg;
	struct state *v = realloc(k->v, (k->n + 1) * sizeof *v);

	if (v == NULL)
		return err_nomem(e, "the list of packs");
	k->v = v;
	uint32_t nblocks = (uint32_t)((o->bytes + TOC_BLOCK_BYTES - 1) /
				      TOC_BLOCK_BYTES);
	v[k->n] = (struct state){ .o = *o, .nblocks = nblocks };
	v[k->n].bad = calloc(nblocks + 1u, 1);
	return v[k->n++].bad != NULL ? 0 : err_nomem(e, "the list of packs");
}

static struct state *
find_state(struct checking *k, uint32_t number)
{
	for (size_t lo = 0, hi = k->n; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		if (k->v[mid].o.number == number)
			return &k->v[mid];
		if (k->v[mid].o.number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int
check_block(void *arg, size_t i, struct err *e)
{
	struct checking *k = arg;
	uint8_t *bytes = malloc(TOC_BLOCK_BYTES);

	if (bytes == NULL)
		return err_nomem(e, "a block");
	int rc = blocks_fetch(k->s->remote->s3, k->now->o.id, k->now->o.bytes,
	    k->digests.base, (uint32_t)i, bytes, e);
	free(bytes);
	if (rc == 0)
		return 0;
	if (e->kind != ERR_FORMAT)
		return -1;
	k->now->bad[i] = 1;
	return 0;
}

static int
check_data(struct checking *k, struct state *t, struct err *e)
{
	struct index_object o;

	k->now = t;
	k->digests.len = 0;
	if (index_get_object(k->s->index, t->o.number, &o, &k->digests, e) != 1 ||
	    parallel_do(t->nblocks, REMOTE_THREADS, check_block, k, e) != 0)
		return -1;
	for (uint32_t i = 0; i < t->nblocks; i++) {
		if (!t->bad[i])
			continue;
		t->nbad++;
		check_problem(k->c,
		    "%s: pack %.12s...: the SHA-256 of its block %u is wrong",
		    k->s->dir, t->o.id, i);
	}
	return 0;
}

static int
check_object(struct checking *k, struct state *t, struct err *e)
{
	char key[REMOTE_KEY_BYTES];

	key_of_pack(t->o.id, key);
	const struct listed *x = listing_find(&k->packs, key + strlen("packs/"));
	t->there = x != NULL && x->bytes == t->o.bytes;
	if (x == NULL)
		check_problem(
		    k->c, "%s: pack %.12s...: is missing", k->s->dir, t->o.id);
	else if (!t->there)
		check_problem(k->c,
		    "%s: pack %.12s...: has %" PRIu64 " bytes, not %" PRIu64, k->s->dir,
		    t->o.id, x->bytes, t->o.bytes);
	int rc = t->there && k->c->data ? check_data(k, t, e) : 0;
	k->c->bytes += t->o.bytes;
	if (k->c->progress != NULL)
		k->c->progress(k->c->arg, k->c->bytes);
	return rc;
}

static bool
is_good(struct checking *k, const struct index_fragment *f)
{
	const struct state *t = find_state(k, f->pack);
	uint64_t first = f->at / TOC_BLOCK_BYTES,
		 last = (f->at + FRAGMENT_DATA_AT + f->bytes - 1) / TOC_BLOCK_BYTES;

	if (t == NULL || !t->there || last >= t->nblocks)
		return false;
	for (uint64_t i = first; i <= last; i++)
		if (t->bad[i])
			return false;
	return true;
}

static int
mark_good(struct checking *k, struct err *e)
{
	struct index_fragment f = { 0 };
	int rc;

	while ((rc = index_fragment_from(k->s->index, f.number + 1, &f, e)) == 1) {
		k->c->fragments++;
		if (is_good(k, &f))
			marks_add(&k->c->good, f.number);
	}
	return rc;
}

static int
check_all(struct checking *k, struct err *e)
{
	const char *first;
	uint64_t unreadable = remote_unreadable(k->s->remote, &first);

	if (unreadable > 0)
		check_problem(k->c,
		    "%s: %" PRIu64 " objects cannot be read; the first: %s", k->s->dir,
		    unreadable, first);
	if (marks_new(&k->c->good, k->s, e) != 0 ||
	    listing_get(&k->packs, k->s->remote->s3, "packs/", NULL, e) != 0 ||
	    index_each_object(k->s->index, add_state, k, e) != 0)
		return -1;
	for (size_t i = 0; i < k->n; i++)
		if (check_object(k, &k->v[i], e) != 0)
			return -1;
	return mark_good(k, e) == 0 ? check_images(k->c, k->s, e) : -1;
}

static void
end_checking(struct checking *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->v[i].bad);
	free(k->v);
	listing_free(&k->packs);
	buf_free(&k->digests);
}

int
remote_check(struct check *c, struct store *s, struct err *e)
{
	struct checking k = { .c = c, .s = s };
	int rc = check_all(&k, e);

	end_checking(&k);
	return rc;
}

static int
save_good(struct checking *k, struct remote_put *put, uint32_t pack, struct err *e)
{
	struct index_fragment f = { 0 };
	int rc;

	while ((rc = index_fragment_from(k->s->index, f.number + 1, &f, e)) == 1) {
		if (f.pack != pack || !marks_has(&k->c->good, f.number))
			continue;
		struct index_fragment copy = f;
		if (remote_put_copy(put, &copy, e) != 0)
			return -1;
	}
	return rc;
}

/* 1: the table cannot be read, however often it is fetched: what one answer says may
 * have been altered on its way.  0: it can, or it is a newer program's. */
static int
is_bad_table(struct remote *r, const char *id, struct buf *bytes, struct err *e)
{
	char key[REMOTE_KEY_BYTES];
	struct toc t;

	key_of_table(id, key);
	for (int tries = 0; tries < TABLE_TRIES; tries++) {
		bytes->len = 0;
		if (s3_get(r->s3, key, TOC_BYTES_MAX, bytes, e) != 0)
			return -1;
		if (toc_open(&t, id, bytes->base, bytes->len, e) == 0 ||
		    e->kind != ERR_FORMAT)
			return 0;
	}
	return 1;
}

/* Tables that say nothing that can be read; those of newer programs stay. */
static int
remove_bad_tables(struct checking *k, struct err *e)
{
	struct remote *r = k->s->remote;
	struct buf bytes = { 0 };
	char id[PACK_ID_CHARS + 1], key[REMOTE_KEY_BYTES];
	struct index_object o;
	int rc = 0;

	for (size_t i = 0; i < r->tables.n && rc >= 0; i++) {
		if (!key_is_table(r->tables.v[i].key, id))
			continue;
		rc = index_find_object(r->index, id, &o, e);
		if (rc == 0 && (rc = is_bad_table(r, id, &bytes, e)) == 1) {
			key_of_table(id, key);
			rc = s3_delete(r->s3, key, e);
		}
	}
	buf_free(&bytes);
	return rc < 0 ? -1 : 0;
}

/* The table goes: then the pack counts no longer, and gc removes it. */
static int
remove_bad_packs(struct checking *k, struct err *e)
{
	char key[REMOTE_KEY_BYTES];

	for (size_t i = 0; i < k->n; i++) {
		const struct state *t = &k->v[i];
		if (t->there && t->nbad == 0)
			continue;
		key_of_table(t->o.id, key);
		if (s3_delete(k->s->remote->s3, key, e) != 0)
			return -1;
	}
	return 0;
}

int
remote_repair(struct check *c, struct store *s, struct err *e)
{
	struct checking k = { .c = c, .s = s };
	struct remote_put *put = NULL;
	int rc = check_all(&k, e);

	if (rc == 0)
		rc = remote_put_new(&put, s->remote, e);
	for (size_t i = 0; i < k.n && rc == 0; i++)
		if (k.v[i].there && k.v[i].nbad > 0)
			rc = save_good(&k, put, k.v[i].o.number, e);
	if (rc == 0)
		rc = remote_put_flush(put, e);
	if (rc == 0)
		rc = remove_bad_packs(&k, e);
	if (rc == 0)
		rc = remove_bad_tables(&k, e);
	if (rc == 0)
		rc = remote_refresh(s->remote, e);
	remote_put_free(put);
	end_checking(&k);
	return rc;
}
