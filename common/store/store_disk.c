#include "common/store/store_disk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/stored.h"

struct cached {
	uint32_t chunk;
	uint64_t used; /* when; 0: nothing in it */
	uint8_t *bytes;
};

struct store_disk {
	struct stored *image;
	char *store; /* to open it again */
	uint32_t chunks;
	uint8_t sha256[SHA256_BYTES];
	pthread_mutex_t lock;
	uint64_t clock;
	unsigned n;
	struct cached *cache;
	struct err err; /* why the last read failed */
};

static struct cached *
find(struct store_disk *d, uint32_t chunk)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->cache[i].used != 0 && d->cache[i].chunk == chunk)
			return &d->cache[i];
	return NULL;
}

static int
open_image(struct stored **out, const char *store, const char *name, struct err *e)
{
	struct store_name parsed;
	struct store s;

	if (store_name_get(&parsed, name, e) != 0 ||
	    store_open(&s, store, STORE_READ, e) != 0)
		return -1;
	int rc = stored_open(out, &s, &parsed, e);
	store_close(&s);
	return rc;
}

/* The same image, not another that has got its name meanwhile. */
static bool
open_again(struct store_disk *d)
{
	struct err ignored; /* why it is needed says more */
	struct stored *again;
	const char *name = stored_title(stored_about(d->image));

	if (open_image(&again, d->store, name, &ignored) != 0)
		return false;
	const struct recipe_image *a = stored_about(again);
	bool same = a->chunks == d->chunks &&
	            memcmp(a->sha256, d->sha256, sizeof d->sha256) == 0;
	stored_free(same ? d->image : again);
	if (same)
		d->image = again;
	return same;
}

/* In a bucket gc takes packs away from readers, and copies what is in use before. */
static int
get_chunk(struct store_disk *d, uint32_t chunk, void *out)
{
	int rc = stored_chunk(d->image, chunk, out, &d->err);

	if (rc != 0 && d->err.os == ENOENT && open_again(d))
		rc = stored_chunk(d->image, chunk, out, &d->err);
	return rc;
}

/* The chunk in the place of the one that was not used for longest. */
static struct cached *
fetch(struct store_disk *d, uint32_t chunk)
{
	struct cached *c = &d->cache[0];

	for (unsigned i = 1; i < d->n; i++)
		if (d->cache[i].used < c->used)
			c = &d->cache[i];
	if (c->bytes == NULL)
		c->bytes = malloc(NDZ_CHUNK_BYTES);
	c->used = 0;
	if (c->bytes == NULL) {
		err_nomem(&d->err, "a chunk");
		return NULL;
	}
	if (get_chunk(d, chunk, c->bytes) != 0)
		return NULL;
	c->chunk = chunk;
	return c;
}

/* Within one chunk: 0, or -1 with d->err. */
static int
read_part(struct store_disk *d, uint32_t chunk, void *buf, size_t n, size_t at)
{
	uint8_t header[NDZ_HEADER_BYTES];
	struct cached *c = find(d, chunk);

	/* Surveys read only headers, and installers whole chunks, once. */
	if (c == NULL && at + n <= sizeof header) {
		int rc = stored_header(d->image, chunk, header, &d->err);
		memcpy(buf, header + at, rc == 0 ? n : 0);
		return rc;
	}
	/* One that took much to make may be asked for again in parts. */
	if (c == NULL && n == NDZ_CHUNK_BYTES && !stored_about(d->image)->made)
		return get_chunk(d, chunk, buf);
	if (c == NULL)
		c = fetch(d, chunk);
	if (c == NULL)
		return -1;
	c->used = ++d->clock;
	memcpy(buf, c->bytes + at, n);
	return 0;
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
	pthread_mutex_lock(&d->lock);
	int rc = read_part(d, (uint32_t)chunk, buf, n, at);
	/* Damage does not pass by itself: no EIO, which is tried again. */
	int os = rc == 0 ? 0 : d->err.os != 0 ? d->err.os : EBADMSG;
	pthread_mutex_unlock(&d->lock);
	errno = os;
	return rc == 0 ? (ssize_t)n : -1;
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

	for (unsigned i = 0; i < d->n; i++)
		free(d->cache[i].bytes);
	free(d->cache);
	stored_free(d->image);
	free(d->store);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

int
store_disk_open(struct disk **out, const char *store, const char *name,
    unsigned cache_chunks, struct err *e)
{
	static const struct disk_ops ops = { .pread = read_chunks,
		.why = tell_why,
		.digest = digest,
		.close = close_image };
	struct store_disk *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, name);
	pthread_mutex_init(&d->lock, NULL);
	d->n = cache_chunks;
	d->cache = calloc(d->n, sizeof *d->cache);
	d->store = strdup(store);
	int rc = d->cache == NULL || d->store == NULL
	             ? err_nomem(e, name)
	             : open_image(&d->image, store, name, e);
	if (rc == 0) {
		const struct recipe_image *a = stored_about(d->image);
		d->chunks = a->chunks;
		memcpy(d->sha256, a->sha256, sizeof d->sha256);
		rc = disk_open_ops(out, stored_title(a), DISK_FILE,
		    (uint64_t)a->chunks * NDZ_CHUNK_BYTES, &ops, d, e);
	}
	if (rc != 0)
		close_image(d);
	return rc;
}
