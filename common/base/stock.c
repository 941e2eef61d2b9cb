/* stock.c: things that several threads share are made once and kept within a limit.  The
 * parts of random.c call this, in any thread that reads an image.
 *
 * Items that nobody uses are in a list by age, and can be forgotten.  An item whose making
 * has failed, or that was spoilt, is forgotten at once, and freed by the last thread that
 * uses it. */
#include "common/base/stock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	BUCKETS_MIN = 64,
	BUCKETS_MAX = 1 << 16,
	/* one bucket for this many bytes: a guess at how large one thing is */
	BYTES_OF_BUCKET = 1 << 16,
};

enum stock_state { MAKING, READY, FAILED, SPOILT };

struct stock_item {
	uint64_t key;
	enum stock_state state;
	unsigned users;
	struct stocked of;
	struct stock_item *chain;         /* the next of its bucket */
	struct stock_item *older, *newer; /* neighbours in the list of unused items */
	struct err err;                   /* FAILED: why */
};

struct stock {
	pthread_mutex_t lock;
	pthread_cond_t settled; /* the making of an item has succeeded or failed */
	uint64_t max_bytes, bytes;
	struct stock_item *oldest, *newest; /* ends of the list of unused items */
	size_t nbuckets;                    /* a power of two */
	struct stock_item *buckets[];
};

static size_t
count_buckets(uint64_t max_bytes)
{
	size_t n = BUCKETS_MIN;

	while (n < BUCKETS_MAX && n < max_bytes / BYTES_OF_BUCKET)
		n *= 2;
	return n;
}

int
stock_new(struct stock **out, uint64_t max_bytes, struct err *e)
{
	size_t n = count_buckets(max_bytes);
	struct stock *s = calloc(1, sizeof *s + n * sizeof s->buckets[0]);

	if (s == NULL)
		return err_nomem(e, "a cache");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->settled, NULL);
	s->max_bytes = max_bytes;
	s->nbuckets = n;
	*out = s;
	return 0;
}

static struct stock_item **
bucket_of(struct stock *s, uint64_t key)
{
	uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);

	return &s->buckets[(mixed >> 32) & (s->nbuckets - 1)];
}

static struct stock_item *
find(struct stock *s, uint64_t key)
{
	struct stock_item *i = *bucket_of(s, key);

	while (i != NULL && i->key != key)
		i = i->chain;
	return i;
}

/* Put an item into the list of unused ones, as the newest. */
static void
rest(struct stock *s, struct stock_item *i)
{
	i->older = s->newest;
	i->newer = NULL;
	*(s->newest != NULL ? &s->newest->newer : &s->oldest) = i;
	s->newest = i;
}

static void
unrest(struct stock *s, struct stock_item *i)
{
	*(i->newer != NULL ? &i->newer->older : &s->newest) = i->older;
	*(i->older != NULL ? &i->older->newer : &s->oldest) = i->newer;
}

static void
use(struct stock *s, struct stock_item *i)
{
	if (i->users++ == 0)
		unrest(s, i);
}

/* Take an item out of the table, so that nobody finds it any more. */
static void
forget(struct stock *s, const struct stock_item *i)
{
	struct stock_item **at = bucket_of(s, i->key);

	while (*at != i)
		at = &(*at)->chain;
	*at = i->chain;
}

static void
count_in(struct stock *s, struct stock_item *i, struct stocked of)
{
	i->state = READY;
	i->of = of;
	s->bytes += sizeof *i + of.bytes;
}

static void
drop(struct stock *s, struct stock_item *i)
{
	s->bytes -= sizeof *i + i->of.bytes;
	i->of.free(i->of.thing);
	free(i);
}

static void
shrink(struct stock *s)
{
	struct stock_item *i = NULL;

	while (s->bytes > s->max_bytes && (i = s->oldest) != NULL) {
		unrest(s, i);
		forget(s, i);
		drop(s, i);
	}
}

static void
unuse(struct stock *s, struct stock_item *i)
{
	if (--i->users > 0)
		return;
	if (i->state == FAILED) {
		free(i);
	} else if (i->state == SPOILT) {
		drop(s, i);
	} else {
		rest(s, i);
		shrink(s);
	}
}

/* Adds a new item, which is in use.  NULL: no memory. */
static struct stock_item *
add(struct stock *s, uint64_t key)
{
	struct stock_item *i = calloc(1, sizeof *i), **at = bucket_of(s, key);

	if (i == NULL)
		return NULL;
	i->key = key;
	i->users = 1;
	i->chain = *at;
	*at = i;
	return i;
}

struct stock_item *
stock_find(struct stock *s, uint64_t key)
{
	pthread_mutex_lock(&s->lock);
	struct stock_item *i = find(s, key);
	if (i != NULL && i->state == READY)
		use(s, i);
	else
		i = NULL;
	pthread_mutex_unlock(&s->lock);
	return i;
}

bool
stock_has(struct stock *s, uint64_t key)
{
	pthread_mutex_lock(&s->lock);
	const struct stock_item *i = find(s, key);
	bool has = i != NULL && i->state == READY;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* Makes the thing of a new item.  The caller holds the lock, which is released meanwhile. */
static void
make_item(struct stock *s, struct stock_item *i,
    int (*make)(void *arg, struct stocked *, struct err *), void *arg)
{
	struct stocked of = { 0 };
	struct err e = { 0 };

	pthread_mutex_unlock(&s->lock);
	int rc = make(arg, &of, &e);
	pthread_mutex_lock(&s->lock);
	if (rc == 0) {
		count_in(s, i, of);
	} else {
		i->state = FAILED;
		i->err = e;
		forget(s, i);
	}
	shrink(s);
	pthread_cond_broadcast(&s->settled);
}

/* Called with the lock: the item, made by this thread if it is not there, when it is settled.
 * NULL: no memory. */
static struct stock_item *
find_or_make(struct stock *s, uint64_t key,
    int (*make)(void *arg, struct stocked *, struct err *), void *arg, bool *made)
{
	struct stock_item *i = find(s, key);

	*made = i == NULL;
	if (i != NULL)
		use(s, i);
	else if ((i = add(s, key)) != NULL)
		make_item(s, i, make, arg);
	while (i != NULL && i->state == MAKING)
		pthread_cond_wait(&s->settled, &s->lock);
	return i;
}

struct stock_item *
stock_get(struct stock *s, uint64_t key,
    int (*make)(void *arg, struct stocked *, struct err *), void *arg, bool *made,
    struct err *e)
{
	struct stock_item *i = NULL;
	bool again = true;

	err_nomem(e, "a cache");
	pthread_mutex_lock(&s->lock);
	while (again && (i = find_or_make(s, key, make, arg, made)) != NULL) {
		if (i->state != FAILED)
			break;
		again = !*made && i->err.kind == ERR_FORMAT;
		*e = i->err;
		unuse(s, i);
		i = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return i;
}

struct stock_item *
stock_add(struct stock *s, uint64_t key, struct stocked of)
{
	pthread_mutex_lock(&s->lock);
	struct stock_item *i = find(s, key);
	bool old = i != NULL;
	assert(!old || i->state == READY);
	if (old) {
		use(s, i);
	} else if ((i = add(s, key)) != NULL) {
		count_in(s, i, of);
		shrink(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (old || i == NULL)
		of.free(of.thing);
	return i;
}

void *
stock_thing(const struct stock_item *i)
{
	return i->of.thing;
}

void
stock_put_back(struct stock *s, struct stock_item *i)
{
	pthread_mutex_lock(&s->lock);
	unuse(s, i);
	pthread_mutex_unlock(&s->lock);
}

void
stock_spoil(struct stock *s, struct stock_item *i)
{
	pthread_mutex_lock(&s->lock);
	if (i->state != SPOILT)
		forget(s, i);
	i->state = SPOILT;
	unuse(s, i);
	pthread_mutex_unlock(&s->lock);
}

uint64_t
stock_bytes(struct stock *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t n = s->bytes;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void
stock_free(struct stock *s)
{
	if (s == NULL)
		return;
	s->max_bytes = 0;
	shrink(s);
	assert(s->bytes == 0);
	pthread_cond_destroy(&s->settled);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
