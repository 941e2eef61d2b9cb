/* blocks.c: blocks of packs that are far away, in memory.  Called by packs.c, in any thread;
 * threads of its own fetch ahead. */
#include "emustore/store/blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/sha256.h"
#include "emustore/store/blockfiles.h"
#include "emustore/store/keys.h"

enum { SLOTS = 32, AHEAD = 4, THREADS = 8, TRIES = 3 };

struct pack {
	uint32_t number;
	char id[PACK_ID_CHARS + 1];
	uint64_t bytes;
	uint8_t *digests;
};

enum state { EMPTY, WANTED, LOADING, READY, FAILED };

struct slot {
	enum state state;
	const struct pack *pack;
	uint32_t block;
	unsigned readers; /* who wait for it */
	uint64_t used;
	uint8_t *bytes;
	struct err err;
};

struct blocks {
	struct objects *objects;
	struct blockfiles *files;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	bool stopping;
	struct pack **packs; /* ascending; each stays where it is */
	size_t npacks;
	struct slot slots[SLOTS];
	uint64_t clock;
	pthread_t threads[THREADS];
	unsigned nthreads;
};

static size_t
block_bytes(uint64_t pack_bytes, uint32_t block)
{
	uint64_t at = (uint64_t)block * TOC_BLOCK_BYTES;
	uint64_t left = pack_bytes > at ? pack_bytes - at : 0;

	return (size_t)(left < TOC_BLOCK_BYTES ? left : TOC_BLOCK_BYTES);
}

static bool
is_right(const uint8_t *digests, uint32_t block, const uint8_t *bytes, size_t n)
{
	uint8_t digest[SHA256_BYTES];

	sha256(bytes, n, digest);
	return memcmp(digest, digests + (size_t)block * SHA256_BYTES, sizeof digest) ==
	       0;
}

/* The mirror of what gc does: it is no damage, and who asks again finds the rest. */
static int
err_gone(struct objects *objects, const char *id, struct err *e)
{
	err_set(e, ERR_IO,
	    "%s: pack %.12s... does not exist any more: gc removed it after the store "
	    "was opened; run the command again",
	    objects->title, id);
	e->os = ENOENT;
	return -1;
}

int
blocks_fetch(struct objects *objects, const char *id, uint64_t pack_bytes, const uint8_t *digests,
    uint32_t block, uint8_t *out, struct err *e)
{
	size_t n = block_bytes(pack_bytes, block);
	char key[KEY_BYTES];

	key_of_pack(id, key);
	for (int tries = 0; tries < TRIES; tries++) {
		if (objects->ops->get(objects->ctx, key,
			(uint64_t)block * TOC_BLOCK_BYTES, n, out, e) != 0) {
			if (e->os == ENOENT)
				return err_gone(objects, id, e);
			if (e->kind != ERR_FORMAT)
				return -1;
			/* Not what was asked for: once more.  It says nothing of the
			 * pack. */
			e->kind = ERR_IO;
			continue;
		}
		if (is_right(digests, block, out, n))
			return 0;
		err_set(e, ERR_FORMAT,
		    "%s: pack %.12s...: the SHA-256 of its block %u is wrong",
		    objects->title, id, block);
	}
	return -1;
}

/* From the cache's folder, or from the bucket and then into it. */
static int
load(
    struct blocks *b, const struct pack *p, uint32_t block, uint8_t *out, struct err *e)
{
	size_t n = block_bytes(p->bytes, block);

	if (blockfiles_get(b->files, p->id, block, out, n) &&
	    is_right(p->digests, block, out, n))
		return 0;
	if (blocks_fetch(b->objects, p->id, p->bytes, p->digests, block, out, e) != 0)
		return -1;
	blockfiles_put(b->files, p->id, block, out, n);
	return 0;
}

/* With the lock, which is let go meanwhile. */
static void
load_slot(struct blocks *b, struct slot *s)
{
	struct err e = { 0 };
	const struct pack *p = s->pack;
	uint32_t block = s->block;

	s->state = LOADING;
	pthread_mutex_unlock(&b->lock);
	if (s->bytes == NULL)
		s->bytes = malloc(TOC_BLOCK_BYTES);
	int rc = s->bytes == NULL ? err_nomem(&e, "a block")
	                          : load(b, p, block, s->bytes, &e);
	pthread_mutex_lock(&b->lock);
	s->state = rc == 0 ? READY : FAILED;
	s->err = e;
	pthread_cond_broadcast(&b->changed);
}

static void *
fetch_ahead(void *arg)
{
	struct blocks *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->stopping) {
		struct slot *oldest = NULL;
		for (int i = 0; i < SLOTS; i++)
			if (b->slots[i].state == WANTED &&
			    (oldest == NULL || b->slots[i].used < oldest->used))
				oldest = &b->slots[i];
		if (oldest != NULL)
			load_slot(b, oldest);
		else
			pthread_cond_wait(&b->changed, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static struct slot *
find_slot(struct blocks *b, const struct pack *p, uint32_t block)
{
	for (int i = 0; i < SLOTS; i++)
		if (b->slots[i].state != EMPTY && b->slots[i].pack == p &&
		    b->slots[i].block == block)
			return &b->slots[i];
	return NULL;
}

/* The slot that was not used for longest and that no reader waits for; NULL: there is none. */
static struct slot *
free_slot(struct blocks *b)
{
	struct slot *best = NULL;

	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &b->slots[i];
		if (s->state == LOADING || s->readers > 0)
			continue;
		if (best == NULL || s->used < best->used)
			best = s;
	}
	return best;
}

static struct slot *
want(struct blocks *b, const struct pack *p, uint32_t block)
{
	struct slot *s = find_slot(b, p, block);

	if (s != NULL && s->state != FAILED)
		return s;
	if (s == NULL)
		s = free_slot(b);
	if (s == NULL || s->readers > 0)
		return NULL;
	s->state = WANTED;
	s->pack = p;
	s->block = block;
	s->used = ++b->clock;
	return s;
}

static void
want_ahead(struct blocks *b, const struct pack *p, uint32_t block)
{
	bool any = false;

	for (uint32_t i = block + 1; i <= block + AHEAD; i++)
		if (block_bytes(p->bytes, i) > 0 && find_slot(b, p, i) == NULL)
			any = want(b, p, i) != NULL || any;
	if (any)
		pthread_cond_broadcast(&b->changed);
}

/* A part of one block. */
static int
read_part(struct blocks *b, const struct pack *p, uint32_t block, void *out, size_t n,
    size_t at, struct err *e)
{
	struct slot *s;

	while ((s = want(b, p, block)) == NULL)
		pthread_cond_wait(&b->changed, &b->lock);
	s->readers++;
	s->used = ++b->clock;
	if (s->state == WANTED)
		load_slot(b, s);
	want_ahead(b, p, block);
	while (s->state == LOADING)
		pthread_cond_wait(&b->changed, &b->lock);
	s->readers--;
	pthread_cond_broadcast(&b->changed);
	if (s->state == READY) {
		memcpy(out, s->bytes + at, n);
		return 0;
	}
	*e = s->err;
	return -1;
}

static struct pack *
find_pack(struct blocks *b, uint32_t number)
{
	for (size_t lo = 0, hi = b->npacks; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		if (b->packs[mid]->number == number)
			return b->packs[mid];
		if (b->packs[mid]->number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

ssize_t
blocks_read(
    struct blocks *b, uint32_t number, void *buf, size_t n, uint64_t at, struct err *e)
{
	size_t done = 0;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	const struct pack *p = find_pack(b, number);
	if (at >= p->bytes)
		n = 0;
	else if (n > p->bytes - at)
		n = (size_t)(p->bytes - at);
	while (done < n && rc == 0) {
		uint32_t block = (uint32_t)((at + done) / TOC_BLOCK_BYTES);
		size_t in = (size_t)((at + done) % TOC_BLOCK_BYTES);
		size_t part = TOC_BLOCK_BYTES - in < n - done ? TOC_BLOCK_BYTES - in
		                                              : n - done;
		rc = read_part(b, p, block, (uint8_t *)buf + done, part, in, e);
		done += part;
	}
	pthread_mutex_unlock(&b->lock);
	return rc == 0 ? (ssize_t)n : -1;
}

/* How many blocks are still to be loaded. */
static unsigned
count_coming(const struct blocks *b)
{
	unsigned n = 0;

	for (int i = 0; i < SLOTS; i++)
		n += b->slots[i].state == WANTED || b->slots[i].state == LOADING;
	return n;
}

void
blocks_want(struct blocks *b, uint32_t number, uint64_t at, size_t n)
{
	bool any = false;

	pthread_mutex_lock(&b->lock);
	const struct pack *p = find_pack(b, number);
	unsigned coming = count_coming(b);
	for (uint64_t i = at / TOC_BLOCK_BYTES;
	     p != NULL && coming < SLOTS / 2 && at < p->bytes &&
	     i <= (at + n - 1) / TOC_BLOCK_BYTES;
	     i++) {
		uint32_t block = (uint32_t)i;
		if (block_bytes(p->bytes, block) > 0 &&
		    find_slot(b, p, block) == NULL && want(b, p, block) != NULL) {
			coming++;
			any = true;
		}
	}
	if (any)
		pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

void
blocks_note_loads(struct blocks *b, uint64_t loads)
{
	blockfiles_note_loads(b->files, loads);
}

bool
blocks_has_pack(struct blocks *b, uint32_t number)
{
	pthread_mutex_lock(&b->lock);
	bool has = find_pack(b, number) != NULL;
	pthread_mutex_unlock(&b->lock);
	return has;
}

/* Where it belongs among the others; whoever reads keeps its pack, which stays. */
static void
insert_pack(struct blocks *b, struct pack *p)
{
	size_t i = b->npacks++;

	for (; i > 0 && b->packs[i - 1]->number > p->number; i--)
		b->packs[i] = b->packs[i - 1];
	b->packs[i] = p;
}

int
blocks_add_pack(struct blocks *b, uint32_t number, const char *id, uint64_t bytes,
    struct buf *digests, struct err *e)
{
	struct pack *p = calloc(1, sizeof *p);

	if (digests->len != (bytes + TOC_BLOCK_BYTES - 1) / TOC_BLOCK_BYTES * SHA256_BYTES) {
		free(p);
		return err_set(e, ERR_FORMAT,
		    "the index of the cache is damaged (emustore repair --index)");
	}
	pthread_mutex_lock(&b->lock);
	struct pack **packs = realloc(b->packs, (b->npacks + 1) * sizeof *packs);
	if (packs != NULL)
		b->packs = packs;
	bool ok = p != NULL && packs != NULL;
	if (ok && find_pack(b, number) == NULL) {
		*p = (struct pack){ number, "", bytes, digests->base };
		snprintf(p->id, sizeof p->id, "%s", id);
		*digests = (struct buf){ 0 };
		insert_pack(b, p);
		p = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	free(p);
	return ok ? 0 : err_nomem(e, "the list of packs");
}

int
blocks_new(struct blocks **out, struct objects *objects, const char *dir, uint64_t max_bytes,
    struct err *e)
{
	struct blocks *b = calloc(1, sizeof *b);

	if (b == NULL)
		return err_nomem(e, "blocks");
	if (blockfiles_new(&b->files, dir, max_bytes, e) != 0) {
		free(b);
		return -1;
	}
	b->objects = objects_hold(objects);
	b->refs = 1;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	/* Without threads it works as well, only slower. */
	while (b->nthreads < THREADS &&
	       thread_start(&b->threads[b->nthreads], fetch_ahead, b) == 0)
		b->nthreads++;
	*out = b;
	return 0;
}

struct blocks *
blocks_hold(struct blocks *b)
{
	pthread_mutex_lock(&b->lock);
	b->refs++;
	pthread_mutex_unlock(&b->lock);
	return b;
}

void
blocks_release(struct blocks *b)
{
	if (b == NULL)
		return;
	pthread_mutex_lock(&b->lock);
	bool last = --b->refs == 0;
	b->stopping = last;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (!last)
		return;
	while (b->nthreads > 0)
		pthread_join(b->threads[--b->nthreads], NULL);
	for (int i = 0; i < SLOTS; i++)
		free(b->slots[i].bytes);
	for (size_t i = 0; i < b->npacks; i++)
		free(b->packs[i]->digests), free(b->packs[i]);
	free(b->packs);
	blockfiles_free(b->files);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	objects_release(b->objects);
	free(b);
}
