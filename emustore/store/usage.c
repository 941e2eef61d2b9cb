/* usage.c: measures what each version of an image uses.  Called by the program, in its
 * thread. */
#include "emustore/store/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "emustore/store/stored.h"

/* Of each fragment: the image that needed it last, by its place in u->v, from 1; and
 * whether other images need it. */
enum { SHARED = (int)(1u << 31), LOOKS = 5 };
/* Opening one recipe takes as long as reading so many bytes of it (17 us on a local disk; a
 * request to a bucket takes longer). */
enum { RECIPE_OPEN_BYTES = 16 << 10 };

struct measuring {
	struct usage *u;
	struct store *s;
	uint32_t *user; /* by the numbers of fragments */
};

static int
use_fragment(void *arg, const struct index_place *p, struct err *e)
{
	struct measuring *m = arg;
	uint64_t bytes = record_whole_bytes(FRAGMENT_HEAD_BYTES + (uint64_t)p->bytes);
	uint32_t me = (uint32_t)m->u->n, *user = &m->user[p->number];

	(void)e;
	if ((*user & ~(uint32_t)SHARED) == me)
		return 0;
	if (*user == 0) {
		m->u->v[me - 1].only_bytes += bytes;
		m->u->only_bytes += bytes;
		*user = me;
		return 0;
	}
	if ((*user & (uint32_t)SHARED) == 0) {
		m->u->v[*user - 1].only_bytes -= bytes;
		m->u->v[*user - 1].shared_bytes += bytes;
		m->u->only_bytes -= bytes;
		m->u->shared_bytes += bytes;
	}
	m->u->v[me - 1].shared_bytes += bytes;
	*user = me | (uint32_t)SHARED;
	return 0;
}

/* An image that was removed since needs nothing, and is not listed. */
static int
use_image(void *arg, const struct index_image *i, struct err *e)
{
	struct measuring *m = arg;
	struct usage *u = m->u;
	struct err listing;

	if (grow_array(&u->v, &u->cap, u->n, sizeof *u->v, "the list of images", e) != 0)
		return -1;
	u->v[u->n++] = (struct usage_of){ .name = i->about.name, .only_bytes = i->bytes };
	if (stored_each_fragment(m->s, i, use_fragment, m, e) == 0)
		return 0;
	if (e->os != ENOENT || objects_have(m->s->objects, i->key, &listing) != 0)
		return store_err_missing(e);
	return 0;
}

static int
measure(struct measuring *m, struct err *e)
{
	uint64_t packs, bytes, last;
	int right = index_room(m->s->index, &packs, &bytes, e);

	if (right < 0 || index_last_fragment(m->s->index, &last, e) != 0)
		return -1;
	if (right == 0 && m->s->cache != NULL)
		return err_set(e, ERR_FORMAT, "the index does not know what the packs have");
	m->user = calloc(last + 1, sizeof *m->user);
	if (m->user == NULL)
		return err_nomem(e, "a mark for each fragment");
	if (index_each_image(m->s->index, use_image, m, e) != 0)
		return -1;
	uint64_t needed = m->u->only_bytes + m->u->shared_bytes + packs * record_whole_bytes(4);
	m->u->unneeded_bytes = bytes > needed ? bytes - needed : 0;
	return 0;
}

/* In one transaction of the index, so that numbers of fragments stay what they are. */
static int
measure_once(struct store *s, void *arg, struct err *e)
{
	struct measuring m = { .u = arg, .s = s };

	usage_free(m.u);
	int rc = index_begin(s->index, false, e);
	if (rc == 0) {
		rc = measure(&m, e);
		index_rollback(s->index);
	}
	free(m.user);
	return rc;
}

int
usage_measure(struct usage *u, struct store *s, struct err *e)
{
	int rc = measure_once(s, u, e);

	/* What looks like damage may be an error of the index that this machine keeps; or a writer
	 * has put fragments into another pack while the packs were looked at. */
	if (rc != 0 && (e->kind == ERR_FORMAT ? store_doubt(s, e) : store_heal(s, e)) == 1)
		rc = measure_once(s, u, e);
	for (int looks = 0; rc != 0 && e->kind == ERR_FORMAT && looks < LOOKS; looks++)
		rc = store_refresh(s, e) == 0 ? measure_once(s, u, e) : -1;
	return rc;
}

static int
add_bytes(void *arg, const struct index_image *i, struct err *e)
{
	(void)e;
	*(uint64_t *)arg += i->bytes + RECIPE_OPEN_BYTES;
	return 0;
}

static int
add_all(struct store *s, void *arg, struct err *e)
{
	*(uint64_t *)arg = 0;
	return index_each_image(s->index, add_bytes, arg, e);
}

int
usage_cost(struct store *s, uint64_t *bytes, struct err *e)
{
	return store_try(s, add_all, bytes, e);
}

static int
compare_name(const void *key, const void *x)
{
	const struct store_name *a = key, *b = &((const struct usage_of *)x)->name;
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : (a->version > b->version) - (a->version < b->version);
}

const struct usage_of *
usage_find(const struct usage *u, const struct store_name *n)
{
	return u->n == 0 ? NULL : bsearch(n, u->v, u->n, sizeof *u->v, compare_name);
}

void
usage_free(struct usage *u)
{
	free(u->v);
	*u = (struct usage){ 0 };
}
