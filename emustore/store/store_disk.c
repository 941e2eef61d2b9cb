/* store_disk.c: an image of a store as a disk.  Called through disk.h, in any thread. */
#include "emustore/store/store_disk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/lru.h"
#include "common/base/pipeline.h"
#include "emustore/store/ahead.h"

/* Threads that make chunks of an image again.  Each has its own copy of the places of all
 * fragments. */
enum { MAKERS_MAX = 4 };

struct cached {
	uint32_t chunk;
	uint8_t *bytes;
};

struct store_disk {
	struct reopened *image;
	char *store, *name;
	struct ahead *ahead; /* only for an image whose chunks are made again; else NULL */
	uint32_t chunks;
	uint8_t sha256[SHA256_BYTES];
	pthread_mutex_t lock;
	struct store_cache *cache, least;
	struct lru lru; /* chooses which of `cached` is replaced */
	struct cached *cached;
	struct err err; /* why the last read failed */
};

static uint32_t
find(const struct store_disk *d, uint32_t chunk)
{
	if (d->cached == NULL)
		return LRU_NONE;
	uint32_t i = lru_first(&d->lru, chunk);
	while (i != LRU_NONE && d->cached[i].chunk != chunk)
		i = lru_next(&d->lru, i);
	return i;
}

static int
fill(struct store_disk *d, struct cached *c, uint32_t chunk)
{
	if (c->bytes == NULL) {
		c->bytes = malloc(NDZ_CHUNK_BYTES);
		if (c->bytes == NULL)
			return err_nomem(&d->err, "a chunk");
		d->cache->bytes += NDZ_CHUNK_BYTES;
	}
	c->chunk = chunk;
	return reopened_chunk(d->image, chunk, c->bytes, &d->err);
}

/* Read a chunk into the slot that was not used for the longest time.  Returns the slot, or
 * LRU_NONE with d->err. */
static uint32_t
fetch(struct store_disk *d, uint32_t chunk)
{
	bool old;
	uint32_t i = lru_add(&d->lru, chunk, &old);

	d->cache->misses++;
	if (fill(d, &d->cached[i], chunk) == 0)
		return i;
	lru_remove(&d->lru, i);
	return LRU_NONE;
}

/* Read n bytes from byte `at` of one chunk.  0, or -1 with d->err. */
static int
read_part(struct store_disk *d, uint32_t chunk, void *buf, size_t n, size_t at)
{
	uint8_t header[NDZ_HEADER_BYTES];
	uint32_t i = find(d, chunk);

	/* Surveys read only headers, and installers read whole chunks, once: neither needs
	 * the cache. */
	if (i == LRU_NONE && at + n <= sizeof header) {
		int rc = reopened_header(d->image, chunk, header, &d->err);
		memcpy(buf, header + at, rc == 0 ? n : 0);
		return rc;
	}
	if (i == LRU_NONE && n == NDZ_CHUNK_BYTES)
		return reopened_chunk(d->image, chunk, buf, &d->err);
	if (i == LRU_NONE)
		i = fetch(d, chunk);
	else
		d->cache->hits++;
	if (i == LRU_NONE)
		return -1;
	lru_touch(&d->lru, i, false);
	memcpy(buf, d->cached[i].bytes + at, n);
	return 0;
}

/* Read n bytes from byte `at` of a chunk that other threads (ahead.c) make again, without
 * holding up other readers. */
static int
read_made(
    struct store_disk *d, uint32_t chunk, void *buf, size_t n, size_t at, struct err *e)
{
	uint8_t header[NDZ_HEADER_BYTES];

	if (at + n > sizeof header)
		return ahead_read(d->ahead, chunk, buf, n, at, e);
	pthread_mutex_lock(&d->lock);
	int rc = reopened_header(d->image, chunk, header, e);
	pthread_mutex_unlock(&d->lock);
	memcpy(buf, header + at, rc == 0 ? n : 0);
	return rc;
}

static int
read_any(struct store_disk *d, uint32_t chunk, void *buf, size_t n, size_t at)
{
	struct err e;
	int rc = d->ahead != NULL ? read_made(d, chunk, buf, n, at, &e) : 0;

	pthread_mutex_lock(&d->lock);
	if (d->ahead == NULL)
		rc = read_part(d, chunk, buf, n, at);
	else if (rc != 0)
		d->err = e;
	/* Damage does not pass by itself, so it is not reported as EIO, which is tried
	 * again. */
	int os = rc == 0 ? 0 : d->err.os != 0 ? d->err.os : EBADMSG;
	pthread_mutex_unlock(&d->lock);
	errno = os;
	return rc;
}

static ssize_t
read_chunks(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct store_disk *d = ctx;
	uint64_t chunk = off / NDZ_CHUNK_BYTES;
	size_t at = off % NDZ_CHUNK_BYTES, n = NDZ_CHUNK_BYTES - at;

	if (chunk >= d->chunks)
		return 0;
	n = n < len ? n : len;
	return read_any(d, (uint32_t)chunk, buf, n, at) == 0 ? (ssize_t)n : -1;
}

static void
want_chunks(void *ctx, uint64_t off, uint64_t len)
{
	struct store_disk *d = ctx;

	for (uint64_t c = off / NDZ_CHUNK_BYTES;
	     d->ahead != NULL && c < d->chunks && c * NDZ_CHUNK_BYTES < off + len; c++)
		ahead_want(d->ahead, (uint32_t)c);
}

static void
tell_why(void *ctx, struct err *e)
{
	struct store_disk *d = ctx;

	pthread_mutex_lock(&d->lock);
	*e = d->err;
	pthread_mutex_unlock(&d->lock);
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

	ahead_free(d->ahead);
	for (uint32_t i = 0; i < d->lru.max && d->cached != NULL; i++)
		free(d->cached[i].bytes);
	free(d->cached);
	lru_fini(&d->lru);
	reopened_free(d->image);
	free(d->store);
	free(d->name);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

/* Allocate the cache.  Images of this suite need no threads; for images whose chunks are
 * made again, ahead.c starts some. */
static int
make_room(struct store_disk *d, struct err *e)
{
	size_t cpus = pipeline_jobs(0);
	unsigned jobs = cpus > MAKERS_MAX ? MAKERS_MAX : (unsigned)cpus;
	uint64_t bound = d->cache->max_bytes / NDZ_CHUNK_BYTES;
	uint32_t room = (uint32_t)(bound < d->chunks ? bound : d->chunks);

	if (reopened_about(d->image)->made)
		return ahead_new(
		    &d->ahead, d->store, d->name, d->image, d->cache, room, jobs, e);
	room += room == 0;
	d->cached = calloc(room, sizeof *d->cached);
	return d->cached != NULL && lru_init(&d->lru, room, 0) == 0
	           ? 0
	           : err_nomem(e, d->name);
}

int
store_disk_open(struct disk **out, const char *store, const char *name,
    struct store_cache *cache, struct err *e)
{
	static const struct disk_ops ops = { .pread = read_chunks,
		.want = want_chunks,
		.why = tell_why,
		.digest = digest,
		.close = close_image };
	struct store_disk *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, name);
	pthread_mutex_init(&d->lock, NULL);
	d->store = strdup(store);
	d->name = strdup(name);
	d->cache = cache != NULL ? cache : &d->least;
	int rc = d->store == NULL || d->name == NULL
	             ? err_nomem(e, name)
	             : reopened_open(&d->image, d->store, d->name, NULL, e);
	const struct recipe_image *a = rc == 0 ? reopened_about(d->image) : NULL;
	if (rc == 0) {
		d->chunks = a->chunks;
		rc = make_room(d, e);
	}
	if (rc == 0) {
		memcpy(d->sha256, a->sha256, sizeof d->sha256);
		rc = disk_open_ops(out, stored_title(a).text, DISK_FILE,
		    (uint64_t)a->chunks * NDZ_CHUNK_BYTES, &ops, d, e);
	}
	if (rc != 0)
		close_image(d);
	return rc;
}
