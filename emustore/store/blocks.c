/* blocks.c: reads packs that are far away, in blocks that are kept in memory (stock.h).  Called
 * by packs.c, in any thread; the threads of stock_ahead.c fetch blocks before they are read.
 *
 * Who reads here and there has no use for whole blocks, and gets the range that he asks for,
 * until he has read nearly all of a block: then he reads in order, and gets blocks. */
#include "emustore/store/blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/stock_ahead.h"
#include "emustore/store/blockfiles.h"
#include "emustore/store/keys.h"

enum {
	KEPT_BYTES = 32 << 20, /* blocks in memory */
	COMING = 16,           /* blocks that are on their way at once, */
	THREADS = 8,           /* and how many threads fetch them */
	NEXT = 4,              /* blocks behind the one that is read, in order */
	SIXTY_FOURTH = TOC_BLOCK_BYTES / 64,
	NEARLY_ALL = 56, /* sixty-fourths of a block; the others may be on their way */
	BEHIND = 4,      /* sixty-fourths behind what was read, where the next read in order may begin */
	TRIES = 3,
};

struct pack {
	uint32_t number;
	char id[PACK_ID_CHARS + 1];
	uint64_t bytes;
	uint8_t *digests;
	_Atomic uint64_t *seen; /* of each block: a bit for each sixty-fourth that was read */
};

struct blocks {
	struct objects *objects;
	struct blockfiles *files;
	struct stock *kept; /* by block_key() */
	struct stock_ahead *ahead;
	pthread_mutex_t lock; /* of the members below */
	unsigned refs;
	struct pack **packs; /* ascending; each stays where it is */
	size_t npacks;
};

/* The argument of make_block(): the block that is to be made. */
struct block {
	struct blocks *b;
	const struct pack *pack;
	uint32_t number;
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

/* gc has removed the pack.  This is no damage: a program that opens the store again finds
 * the fragments in other packs. */
static int
err_gone(struct objects *objects, const char *id, struct err *e)
{
	err_set(e, ERR_IO, "%s: pack %.12s... does not exist any more", objects->title, id);
	e->os = ENOENT;
	return -1;
}

/* Fetch n bytes of a pack.  1: the answer is not what was asked for, which says nothing of
 * the pack: ask again. */
static int
fetch(struct objects *objects, const char *id, uint64_t from, size_t n, void *out, struct err *e)
{
	char key[KEY_BYTES];

	key_of_pack(id, key);
	if (objects->ops->get(objects->ctx, key, from, n, out, e) == 0)
		return 0;
	if (e->os == ENOENT)
		return err_gone(objects, id, e);
	if (e->kind != ERR_FORMAT)
		return -1;
	e->kind = ERR_IO;
	return 1;
}

int
blocks_fetch(struct objects *objects, const char *id, uint64_t pack_bytes, const uint8_t *digests,
    uint32_t block, uint8_t *out, struct err *e)
{
	size_t n = block_bytes(pack_bytes, block);
	int rc = 1;

	for (int tries = 0; tries < TRIES && rc > 0; tries++) {
		rc = fetch(objects, id, (uint64_t)block * TOC_BLOCK_BYTES, n, out, e);
		if (rc != 0 || is_right(digests, block, out, n))
			continue;
		err_set(e, ERR_FORMAT,
		    "%s: pack %.12s...: the SHA-256 of its block %u is wrong",
		    objects->title, id, block);
		rc = 1;
	}
	return rc == 0 ? 0 : -1;
}

/* Load a block from the cache's folder, or from the bucket and then into that folder. */
static int
load(const struct block *x, uint8_t *out, struct err *e)
{
	struct blocks *b = x->b;
	const struct pack *p = x->pack;
	size_t n = block_bytes(p->bytes, x->number);
	uint64_t at = (uint64_t)x->number * TOC_BLOCK_BYTES;

	if (blockfiles_get(b->files, p->id, at, out, n) &&
	    is_right(p->digests, x->number, out, n))
		return 0;
	if (blocks_fetch(b->objects, p->id, p->bytes, p->digests, x->number, out, e) != 0)
		return -1;
	blockfiles_put(b->files, p->id, at, out, n);
	return 0;
}

static int
make_block(void *arg, struct stocked *out, struct err *e)
{
	uint8_t *bytes = malloc(TOC_BLOCK_BYTES);

	if (bytes == NULL)
		return err_nomem(e, "a block");
	if (load(arg, bytes, e) != 0) {
		free(bytes);
		return -1;
	}
	*out = (struct stocked){ bytes, TOC_BLOCK_BYTES, free };
	return 0;
}

static uint64_t
block_key(const struct pack *p, uint32_t block)
{
	return (uint64_t)p->number << 32 | block;
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

static struct pack *
find_known(struct blocks *b, uint32_t number)
{
	pthread_mutex_lock(&b->lock);
	struct pack *p = find_pack(b, number);
	pthread_mutex_unlock(&b->lock);
	return p;
}

/* The block with this key; the threads of stock_ahead.c call this, too. */
static struct stock_item *
get_block(void *arg, uint64_t key, struct err *e)
{
	struct blocks *b = arg;
	struct block x = { b, find_known(b, (uint32_t)(key >> 32)), (uint32_t)key };
	bool made;

	return stock_get(b->kept, key, make_block, &x, &made, e);
}

static void
want(struct blocks *b, const struct pack *p, uint32_t block)
{
	if (block_bytes(p->bytes, block) > 0)
		stock_ahead_want(b->ahead, block_key(p, block));
}

/* Note that n bytes, at least one, from byte `at` of a pack are read. */
static void
note_read(const struct pack *p, uint64_t at, size_t n)
{
	for (uint64_t i = at / SIXTY_FOURTH; i <= (at + n - 1) / SIXTY_FOURTH; i++)
		p->seen[i / 64] |= UINT64_C(1) << i % 64;
}

/* Was nearly all of this block read? */
static bool
was_read(const struct pack *p, uint32_t block)
{
	return __builtin_popcountll(p->seen[block]) >= NEARLY_ALL;
}

/* After reads in order, have as many of the following blocks fetched as were read before
 * this one, NEXT at most.  Who reads here and there needs none of them. */
static void
guess(struct blocks *b, const struct pack *p, uint32_t block)
{
	for (uint32_t k = 1; k <= NEXT && k <= block && was_read(p, block - k); k++)
		want(b, p, block + k);
}

/* Copy a part of one block. */
static int
read_part(struct blocks *b, const struct pack *p, uint32_t block, void *out, size_t n,
    size_t at, struct err *e)
{
	struct stock_item *i = get_block(b, block_key(p, block), e);

	if (i == NULL)
		return -1;
	note_read(p, (uint64_t)block * TOC_BLOCK_BYTES + at, n);
	guess(b, p, block);
	memcpy(out, (const uint8_t *)stock_thing(i) + at, n);
	stock_put_back(b->kept, i);
	return 0;
}

ssize_t
blocks_read(
    struct blocks *b, uint32_t number, void *buf, size_t n, uint64_t at, struct err *e)
{
	const struct pack *p = find_known(b, number);
	size_t done = 0;

	if (at >= p->bytes)
		return 0;
	n = n < p->bytes - at ? n : (size_t)(p->bytes - at);
	while (done < n) {
		uint32_t block = (uint32_t)((at + done) / TOC_BLOCK_BYTES);
		size_t in = (size_t)((at + done) % TOC_BLOCK_BYTES);
		size_t part = TOC_BLOCK_BYTES - in < n - done ? TOC_BLOCK_BYTES - in
		                                              : n - done;
		if (read_part(b, p, block, (uint8_t *)buf + done, part, in, e) != 0)
			return -1;
		done += part;
	}
	return (ssize_t)n;
}

/* Was something read shortly before byte `at` of a pack? */
static bool
follows_read(const struct pack *p, uint64_t at)
{
	uint64_t i = at / SIXTY_FOURTH;

	for (uint64_t k = 1; k <= BEHIND && k <= i; k++)
		if ((p->seen[(i - k) / 64] >> (i - k) % 64 & 1) != 0)
			return true;
	return false;
}

/* Is the block in memory or in the folder, or is it the next one in order for who reads from byte `at` of
 * the pack on?  Who reads anywhere in the block behind one that was read is not in order. */
static bool
is_near(struct blocks *b, const struct pack *p, uint32_t block, uint64_t at)
{
	return stock_has(b->kept, block_key(p, block)) ||
	       blockfiles_have(b->files, p->id, (uint64_t)block * TOC_BLOCK_BYTES,
		   block_bytes(p->bytes, block)) ||
	       (block > 0 && was_read(p, block - 1) && follows_read(p, at));
}

static int
fetch_range(struct blocks *b, const struct pack *p, void *buf, size_t n, uint64_t at,
    struct err *e)
{
	int rc = 1;

	for (int tries = 0; tries < TRIES && rc > 0; tries++)
		rc = fetch(b->objects, p->id, at, n, buf, e);
	if (rc != 0)
		return -1;
	blockfiles_put(b->files, p->id, at, buf, n);
	return 0;
}

ssize_t
blocks_read_range(
    struct blocks *b, uint32_t number, void *buf, size_t n, uint64_t at, struct err *e)
{
	const struct pack *p = find_known(b, number);
	uint64_t first = at / TOC_BLOCK_BYTES, last = (at + n - 1) / TOC_BLOCK_BYTES;
	bool near = true;

	if (n == 0 || at >= p->bytes || n > p->bytes - at)
		return blocks_read(b, number, buf, n, at, e);
	for (uint64_t i = first; near && i <= last; i++)
		near = is_near(b, p, (uint32_t)i, at);
	if (near)
		return blocks_read(b, number, buf, n, at, e);
	note_read(p, at, n);
	if (blockfiles_get(b->files, p->id, at, buf, n) || fetch_range(b, p, buf, n, at, e) == 0)
		return (ssize_t)n;
	return -1;
}

void
blocks_want(struct blocks *b, uint32_t number, uint64_t at, size_t n)
{
	const struct pack *p = find_known(b, number);

	for (uint64_t i = at / TOC_BLOCK_BYTES;
	     p != NULL && i <= (at + n - 1) / TOC_BLOCK_BYTES; i++)
		want(b, p, (uint32_t)i);
}

void
blocks_note_loads(struct blocks *b, uint64_t loads)
{
	blockfiles_note_loads(b->files, loads);
}

bool
blocks_has_pack(struct blocks *b, uint32_t number)
{
	return find_known(b, number) != NULL;
}

/* Insert a pack in the order of the numbers.  A pack stays where it is in memory, since
 * readers keep pointers to it. */
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
	size_t n = (size_t)((bytes + TOC_BLOCK_BYTES - 1) / TOC_BLOCK_BYTES);
	struct pack *p = calloc(1, sizeof *p);
	_Atomic uint64_t *seen = calloc(n + 1, sizeof *seen);

	if (digests->len != n * SHA256_BYTES) {
		free(p);
		free(seen);
		return err_set(e, ERR_FORMAT,
		    "the index of the cache is damaged (emustore repair --index)");
	}
	pthread_mutex_lock(&b->lock);
	struct pack **packs = realloc(b->packs, (b->npacks + 1) * sizeof *packs);
	if (packs != NULL)
		b->packs = packs;
	bool ok = p != NULL && seen != NULL && packs != NULL;
	if (ok && find_pack(b, number) == NULL) {
		*p = (struct pack){ number, "", bytes, digests->base, seen };
		snprintf(p->id, sizeof p->id, "%s", id);
		*digests = (struct buf){ 0 };
		insert_pack(b, p);
		p = NULL;
		seen = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	free(p);
	free(seen);
	return ok ? 0 : err_nomem(e, "the list of packs");
}

static void
free_blocks(struct blocks *b)
{
	stock_ahead_free(b->ahead);
	stock_free(b->kept);
	for (size_t i = 0; i < b->npacks; i++)
		free(b->packs[i]->digests), free(b->packs[i]->seen), free(b->packs[i]);
	free(b->packs);
	blockfiles_free(b->files);
	pthread_mutex_destroy(&b->lock);
	objects_release(b->objects);
	free(b);
}

int
blocks_new(struct blocks **out, struct objects *objects, const char *dir, uint64_t max_bytes,
    struct err *e)
{
	struct blocks *b = calloc(1, sizeof *b);

	if (b == NULL)
		return err_nomem(e, "blocks");
	b->refs = 1;
	pthread_mutex_init(&b->lock, NULL);
	int rc = blockfiles_new(&b->files, dir, max_bytes, e);
	if (rc == 0)
		rc = stock_new(&b->kept, KEPT_BYTES, e);
	if (rc == 0 &&
	    (b->ahead = stock_ahead_new(b->kept, THREADS, COMING, get_block, b)) == NULL)
		rc = err_nomem(e, "blocks");
	if (rc != 0) {
		free_blocks(b);
		return -1;
	}
	b->objects = objects_hold(objects);
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
	pthread_mutex_unlock(&b->lock);
	if (last)
		free_blocks(b);
}
