/* lru.c: keeps slots of an array in the order of use, and finds them by a hash of their
 * key.  The users of this are the store's disk, the server's engine, and the lists of
 * clients, senders and strangers; each calls its table in one thread at a time, under its
 * lock if it has one. */
#include "common/base/lru.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int
lru_init(struct lru *l, uint32_t max, uint64_t seed)
{
	const struct lru_class none = { LRU_NONE, LRU_NONE };

	assert(max > 0 && max < LRU_NONE);
	*l = (struct lru){ .max = max, .seed = seed, .free = LRU_NONE };
	l->order[0] = l->order[1] = none;
	l->bucket = malloc(max * sizeof *l->bucket);
	l->link = calloc(max, sizeof *l->link);
	if (l->bucket == NULL || l->link == NULL) {
		lru_fini(l);
		return -1;
	}
	for (uint32_t i = 0; i < max; i++)
		l->bucket[i] = LRU_NONE;
	return 0;
}

void
lru_fini(struct lru *l)
{
	free(l->bucket);
	free(l->link);
	memset(l, 0, sizeof *l);
}

static uint32_t
bucket_of(const struct lru *l, uint64_t key)
{
	uint64_t z = (key ^ l->seed) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 32 ^ l->seed) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)((z >> 32) % l->max);
}

static void
unlink_order(struct lru *l, uint32_t i)
{
	struct lru_link *x = &l->link[i];
	struct lru_class *c = &l->order[x->protected];

	if (x->newer != LRU_NONE)
		l->link[x->newer].older = x->older;
	else
		c->newest = x->older;
	if (x->older != LRU_NONE)
		l->link[x->older].newer = x->newer;
	else
		c->oldest = x->newer;
}

static void
link_newest(struct lru *l, uint32_t i)
{
	struct lru_link *x = &l->link[i];
	struct lru_class *c = &l->order[x->protected];

	x->newer = LRU_NONE;
	x->older = c->newest;
	if (c->newest != LRU_NONE)
		l->link[c->newest].newer = i;
	else
		c->oldest = i;
	c->newest = i;
}

uint32_t
lru_first(const struct lru *l, uint64_t key)
{
	return l->bucket[bucket_of(l, key)];
}

uint32_t
lru_next(const struct lru *l, uint32_t i)
{
	return l->link[i].chain;
}

void
lru_remove(struct lru *l, uint32_t i)
{
	uint32_t *at = &l->bucket[l->link[i].bucket];

	assert(l->link[i].used);
	while (*at != i)
		at = &l->link[*at].chain;
	*at = l->link[i].chain;
	unlink_order(l, i);
	l->link[i] = (struct lru_link){ .chain = l->free };
	l->free = i;
	l->n--;
}

uint32_t
lru_add(struct lru *l, uint64_t key, bool *old)
{
	uint32_t i;

	*old = l->n == l->max;
	if (*old) {
		bool protected = l->order[0].oldest == LRU_NONE;
		lru_remove(l, l->order[protected].oldest);
	}
	if (l->free != LRU_NONE) {
		i = l->free;
		l->free = l->link[i].chain;
	} else {
		i = l->fresh++;
	}
	uint32_t b = bucket_of(l, key);
	l->link[i] = (struct lru_link){
		.used = true, .bucket = b, .chain = l->bucket[b]
	};
	l->bucket[b] = i;
	link_newest(l, i);
	l->n++;
	return i;
}

void
lru_touch(struct lru *l, uint32_t i, bool protected)
{
	unlink_order(l, i);
	l->link[i].protected |= protected;
	link_newest(l, i);
}

uint32_t
lru_newest(const struct lru *l, bool protected)
{
	return l->order[protected].newest;
}

uint32_t
lru_older(const struct lru *l, uint32_t i)
{
	return l->link[i].older;
}

uint32_t
lru_oldest(const struct lru *l, bool protected)
{
	return l->order[protected].oldest;
}

uint32_t
lru_newer(const struct lru *l, uint32_t i)
{
	return l->link[i].newer;
}
