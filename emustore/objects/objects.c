/* objects.c: counts who holds the objects of a store, and keeps lists of them in memory.
 * Called by the store, in any thread. */
#include "emustore/objects/objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

enum { LISTED_MAX = 10000000 }; /* a server may send a list that does not end */

struct objects *
objects_new(
    const struct object_ops *ops, void *ctx, const char *title, const char *address)
{
	struct objects *o = malloc(sizeof *o);

	if (o == NULL)
		return NULL;
	o->ops = ops;
	o->ctx = ctx;
	o->title = title;
	o->address = address;
	atomic_init(&o->refs, 1);
	return o;
}

struct objects *
objects_hold(struct objects *o)
{
	atomic_fetch_add(&o->refs, 1);
	return o;
}

void
objects_release(struct objects *o)
{
	if (o == NULL || atomic_fetch_sub(&o->refs, 1) > 1)
		return;
	o->ops->close(o->ctx);
	free(o);
}

static int
add_listed(void *arg, const struct object *o, struct err *e)
{
	struct listing *l = arg;

	if (l->n == LISTED_MAX)
		return err_set(e, ERR_FORMAT, "the list of objects does not end");
	if (grow_array(&l->v, &l->cap, l->n, sizeof *l->v, "a list of objects", e) != 0)
		return -1;
	struct listed *x = &l->v[l->n++];
	*x = (struct listed){ strdup(o->key), strdup(o->etag), o->bytes, o->modified };
	return x->key != NULL && x->etag != NULL ? 0
	                                         : err_nomem(e, "a list of objects");
}

static int
compare_listed(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->key, ((const struct listed *)b)->key);
}

int
listing_get(struct listing *l, struct objects *o, const char *folder, uint64_t *now,
    struct err *e)
{
	listing_free(l);
	if (o->ops->list(o->ctx, folder, add_listed, l, now, e) != 0)
		return -1;
	if (l->n > 0)
		qsort(l->v, l->n, sizeof *l->v, compare_listed);
	return 0;
}

static int
compare_key(const void *key, const void *x)
{
	return strcmp(key, ((const struct listed *)x)->key);
}

const struct listed *
listing_find(const struct listing *l, const char *key)
{
	return l->n == 0 ? NULL : bsearch(key, l->v, l->n, sizeof *l->v, compare_key);
}

int
objects_have(struct objects *o, const char *key, struct err *e)
{
	struct listing l = { 0 };
	int rc = listing_get(&l, o, key, NULL, e);

	if (rc == 0)
		rc = listing_find(&l, "") != NULL;
	listing_free(&l);
	return rc;
}

void
listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].key), free(l->v[i].etag);
	free(l->v);
	*l = (struct listing){ 0 };
}
