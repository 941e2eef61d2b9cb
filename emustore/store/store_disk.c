/* store_disk.c: an image of a store as a disk.  Called through disk.h, in any thread. */
#include "emustore/store/store_disk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/pipeline.h"
#include "common/base/stock_ahead.h"
#include "emustore/store/reopened.h"

enum { MAKERS_MAX = 4 }; /* threads that redeflate chunks, and the readers that they need */

struct store_disk {
	char *store, *name;
	uint32_t chunks;
	bool redeflated; /* its chunks are redeflated, which takes long */
	bool parts;      /* what is read is made, and not the whole chunk */
	uint8_t sha256[SHA256_BYTES];
	struct store_cache *cache, own; /* the caller's, or its own */
	struct stock *stock; /* chunks that were put together, by their numbers */
	struct stock_ahead *ahead; /* only where chunks are redeflated; else NULL */
	unsigned makers;
	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t given;
	/* Readers of the image that no thread has now. */
	unsigned nidle;
	struct reopened *idle[MAKERS_MAX];
	uint32_t last; /* chunk that was read last */
};

static struct reopened *
take_reader(struct store_disk *d)
{
	pthread_mutex_lock(&d->lock);
	while (d->nidle == 0)
		pthread_cond_wait(&d->given, &d->lock);
	struct reopened *r = d->idle[--d->nidle];
	pthread_mutex_unlock(&d->lock);
	return r;
}

static void
give_reader(struct store_disk *d, struct reopened *r)
{
	pthread_mutex_lock(&d->lock);
	d->idle[d->nidle++] = r;
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
}

/* Put n bytes from byte `at` of a chunk together. */
static int
make(struct store_disk *d, uint32_t chunk, size_t at, size_t n, void *out, struct err *e)
{
	struct reopened *r = take_reader(d);
	int rc = reopened_part(r, chunk, at, n, out, e);

	give_reader(d, r);
	return rc;
}

/* A chunk, for whoever makes it. */
struct wanted {
	struct store_disk *d;
	uint32_t chunk;
};

/* The room of the chunk that was forgotten last is that of the next one: the C library may give
 * it back to the system each time, whose fresh pages cost a third of what a server does for a
 * byte. */
static void *_Atomic spare_chunk;

static void *
take_chunk(void)
{
	void *bytes = atomic_exchange(&spare_chunk, NULL);

	return bytes != NULL ? bytes : malloc(NDZ_CHUNK_BYTES);
}

static void
give_chunk(void *bytes)
{
	free(atomic_exchange(&spare_chunk, bytes));
}

static int
make_kept(void *arg, struct stocked *out, struct err *e)
{
	struct wanted *w = arg;
	void *bytes = take_chunk();

	if (bytes == NULL)
		return err_nomem(e, "a chunk");
	if (make(w->d, w->chunk, 0, NDZ_CHUNK_BYTES, bytes, e) != 0) {
		give_chunk(bytes);
		return -1;
	}
	*out = (struct stocked){ bytes, NDZ_CHUNK_BYTES, give_chunk };
	return 0;
}

/* The chunk out of the stock, into which it is put if it is not there. */
static struct stock_item *
get_kept(struct store_disk *d, uint32_t chunk, bool *made, struct err *e)
{
	struct wanted w = { d, chunk };
	struct stock_item *i = stock_get(d->stock, chunk, make_kept, &w, made, e);
	uint64_t bytes = stock_bytes(d->stock), most = d->cache->bytes;

	while (bytes > most &&
	       !atomic_compare_exchange_weak(&d->cache->bytes, &most, bytes))
		;
	return i;
}

static struct stock_item *
get_ahead(void *d, uint64_t chunk, struct err *e)
{
	bool made;

	return get_kept(d, (uint32_t)chunk, &made, e);
}

/* Have the chunks from `chunk` to the one before `end` made, as far as there are such. */
static void
want(struct store_disk *d, uint64_t chunk, uint64_t end)
{
	for (; d->ahead != NULL && chunk < d->chunks && chunk < end; chunk++)
		stock_ahead_want(d->ahead, chunk);
}

/* After two reads in order, have the following chunks made. */
static void
guess(struct store_disk *d, uint32_t chunk)
{
	pthread_mutex_lock(&d->lock);
	bool in_order = chunk == d->last + 1;
	d->last = chunk;
	pthread_mutex_unlock(&d->lock);
	if (in_order)
		want(d, chunk + 1ull, chunk + 1ull + d->makers);
}

/* Are these bytes read past the stock?  Nobody needs the chunk there: surveys read only
 * headers, installers read whole chunks, once, and who reads parts keeps what he decodes of
 * them. */
static bool
is_past(const struct store_disk *d, size_t n, size_t at)
{
	return d->parts || at + n <= NDZ_HEADER_BYTES ||
	       (n == NDZ_CHUNK_BYTES && !d->redeflated);
}

/* Read n bytes from byte `at` of one chunk. */
static int
read_part(struct store_disk *d, uint32_t chunk, void *buf, size_t n, size_t at,
    struct err *e)
{
	struct stock_item *i = stock_find(d->stock, chunk);
	bool made = false;

	if (i == NULL && is_past(d, n, at))
		return make(d, chunk, at, n, buf, e);
	if (i == NULL)
		i = get_kept(d, chunk, &made, e);
	*(made ? &d->cache->misses : &d->cache->hits) += 1;
	guess(d, chunk);
	if (i == NULL)
		return -1;
	memcpy(buf, (const uint8_t *)stock_thing(i) + at, n);
	stock_put_back(d->stock, i);
	return 0;
}

static int
read_chunks(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	for (size_t done = 0, n; done < len; done += n, off += n) {
		size_t at = off % NDZ_CHUNK_BYTES;
		n = NDZ_CHUNK_BYTES - at < len - done ? NDZ_CHUNK_BYTES - at : len - done;
		if (read_part(ctx, (uint32_t)(off / NDZ_CHUNK_BYTES),
			(uint8_t *)buf + done, n, at, e) != 0)
			return -1;
	}
	return 0;
}

static void
want_chunks(void *ctx, uint64_t off, uint64_t len)
{
	want(ctx, off / NDZ_CHUNK_BYTES,
	    (off + len + NDZ_CHUNK_BYTES - 1) / NDZ_CHUNK_BYTES);
}

static const uint8_t *
digest(void *ctx)
{
	const struct store_disk *d = ctx;

	return d->sha256;
}

static int
close_image(void *ctx)
{
	struct store_disk *d = ctx;

	stock_ahead_end(d->ahead);
	stock_free(d->stock);
	/* Some were opened again by the threads of d->ahead, and have threads of their own. */
	for (unsigned i = 0; i < d->nidle; i++)
		reopened_free(d->idle[i]);
	stock_ahead_free(d->ahead);
	free(d->store);
	free(d->name);
	pthread_cond_destroy(&d->given);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

/* Open the image, and make what its chunks are kept in.  Only chunks that are redeflated are
 * worth threads, and several readers. */
static int
open_image(struct store_disk *d, struct err *e)
{
	size_t cpus = pipeline_jobs(0);

	const struct store_place place = { .url = d->store };
	unsigned how = d->cache == &d->own ? REOPENED_PARTS : 0;
	if (reopened_open(&d->idle[0], &place, d->name, how, e) != 0)
		return -1;
	const struct recipe_image *a = reopened_about(d->idle[0]);
	d->nidle = 1;
	d->chunks = a->chunks;
	d->last = UINT32_MAX;
	d->parts = how != 0 && !a->redeflated;
	memcpy(d->sha256, a->sha256, sizeof d->sha256);
	uint64_t bytes = d->cache->max_bytes, least;
	if (a->redeflated) {
		d->redeflated = true;
		d->makers = cpus < MAKERS_MAX ? (unsigned)cpus : MAKERS_MAX;
		least = (2 * d->makers + 1) * (uint64_t)NDZ_CHUNK_BYTES;
		bytes = bytes > least ? bytes : least;
	}
	for (; d->nidle < d->makers; d->nidle++)
		if (reopened_more(&d->idle[d->nidle], d->idle[0], e) != 0)
			return -1;
	if (stock_new(&d->stock, bytes, e) != 0)
		return -1;
	/* What is wanted fills half of the room, so that chunks that were read stay. */
	if (a->redeflated &&
	    (d->ahead = stock_ahead_new(d->stock, d->makers,
		 (unsigned)(bytes / 2 / NDZ_CHUNK_BYTES), get_ahead, d)) == NULL)
		return err_nomem(e, d->name);
	return 0;
}

int
store_disk_open(struct disk **out, const char *store, const char *name,
    struct store_cache *cache, struct err *e)
{
	static const struct disk_ops ops = { .read = read_chunks,
		.want = want_chunks,
		.digest = digest,
		.close = close_image };
	struct store_disk *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, name);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->given, NULL);
	d->store = strdup(store);
	d->name = strdup(name);
	d->own = (struct store_cache){ .max_bytes = STORE_CACHE_BYTES };
	d->cache = cache != NULL ? cache : &d->own;
	int rc = d->store == NULL || d->name == NULL ? err_nomem(e, name)
	                                             : open_image(d, e);
	if (rc == 0)
		rc = disk_open_ops(out, stored_title(reopened_about(d->idle[0])).text, DISK_FILE,
		    (uint64_t)d->chunks * NDZ_CHUNK_BYTES, &ops, d, e);
	if (rc != 0)
		close_image(d);
	return rc;
}
