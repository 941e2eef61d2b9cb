/* random.c: an image is read anywhere, from chunks and pieces that all threads share.  Whoever
 * has the image calls this, in any thread. */
#include "common/image/read/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/random_impl.h"

/* A stream without a table is decoded as a whole.  At most this share of the cache is kept
 * of one such stream, so that it does not push out everything else. */
enum { STREAM_SHARE = 4 };

static void
close_images(struct sectors *const images[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		sectors_close(images[i]);
}

/* NULL: it is out of memory, and the images were closed. */
static struct random *
new_random(struct sectors *const images[], size_t n)
{
	struct random *r = calloc(1, sizeof *r);
	struct sectors **v = calloc(n, sizeof(struct sectors *));

	if (r == NULL || v == NULL) {
		free(r);
		free(v);
		close_images(images, n);
		return NULL;
	}
	memcpy(v, images, n * sizeof(struct sectors *));
	r->images = v;
	r->nimages = n;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

int
random_open_layers(struct random **out, struct sectors *const images[], size_t n,
    uint64_t cache_bytes, struct err *e)
{
	struct random *r = new_random(images, n);

	if (r == NULL)
		return err_nomem(e, "an image");
	r->stream_bytes = cache_bytes / STREAM_SHARE;
	if (layers_new(&r->layers, r->images, n, e) != 0 ||
	    stock_new(&r->stock, cache_bytes, e) != 0) {
		random_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

int
random_open(struct random **out, struct sectors *s, uint64_t cache_bytes, struct err *e)
{
	return random_open_layers(out, &s, 1, cache_bytes, e);
}

const struct rangeset *
random_stored(const struct random *r)
{
	return layers_stored(r->layers);
}

uint64_t
random_total(const struct random *r)
{
	return layers_total(r->layers);
}

uint64_t
random_lost(const struct random *r)
{
	return layers_lost(r->layers)->sectors;
}

static void
free_work(struct random_work *w)
{
	decoder_free(w->dec);
	free(w->bytes);
	free(w);
}

void
random_close(struct random *r)
{
	struct random_work *w;

	if (r == NULL)
		return;
	stock_free(r->stock);
	while ((w = r->idle) != NULL) {
		r->idle = w->next;
		free_work(w);
	}
	pthread_mutex_destroy(&r->lock);
	layers_free(r->layers);
	close_images(r->images, r->nimages);
	free(r->images);
	free(r);
}

static struct random_work *
new_work(struct err *e)
{
	struct random_work *w = calloc(1, sizeof *w);

	if (w != NULL) {
		w->dec = decoder_new();
		w->bytes = malloc(NDZ_CHUNK_BYTES);
		if (w->dec != NULL && w->bytes != NULL)
			return w;
		free_work(w);
	}
	err_nomem(e, "a decoder");
	return NULL;
}

struct random_work *
random_work_get(struct random *r, struct err *e)
{
	pthread_mutex_lock(&r->lock);
	struct random_work *w = r->idle;
	if (w != NULL)
		r->idle = w->next;
	pthread_mutex_unlock(&r->lock);
	return w != NULL ? w : new_work(e);
}

void
random_work_put(struct random *r, struct random_work *w)
{
	pthread_mutex_lock(&r->lock);
	w->next = r->idle;
	r->idle = w;
	pthread_mutex_unlock(&r->lock);
}

static size_t
copy_piece(const struct random_piece *p, uint64_t at, size_t n, uint8_t *out)
{
	uint64_t from = at - p->at, left = p->bytes - from;
	size_t now = n < left ? n : (size_t)left;

	if (p->zero)
		memset(out, 0, now);
	else
		memcpy(out, p->data + from, now);
	return now;
}

/* Copy bytes [at, at + n) of the chunk's data, which has them. */
static int
copy_data(struct random *r, struct random_chunk *k, uint64_t at, size_t n, uint8_t *out,
    struct err *e)
{
	while (n > 0) {
		struct stock_item *i = random_piece_get(r, k, at, e);
		if (i == NULL)
			return -1;
		size_t now = copy_piece(stock_thing(i), at, n, out);
		stock_put_back(r->stock, i);
		at += now;
		out += now;
		n -= now;
	}
	return 0;
}

/* Give back a chunk.  A chunk whose data is damaged is not trusted any more: it will be read
 * again. */
static void
put_back_chunk(struct random *r, struct stock_item *i, bool damaged)
{
	if (damaged)
		stock_spoil(r->stock, i);
	else
		stock_put_back(r->stock, i);
}

/* Read as many of the sectors, the first of which is stored, as one chunk of one image has
 * in a row. */
static int
read_some(
    struct random *r, struct range sectors, uint8_t *out, uint64_t *n, struct err *e)
{
	uint64_t at, own_end, end;
	size_t image = layers_owner(r->layers, sectors.off, &own_end);
	uint32_t number = sectors_chunk_of(r->images[image], sectors.off, &end);
	struct stock_item *i = random_chunk_get(r, image, number, e);

	if (i == NULL)
		return -1;
	struct random_chunk *k = stock_thing(i);
	sectors = range_clip(sectors, sectors.off, own_end);
	int rc = sectors_place(k->image, number, &k->c, sectors, n, &at, e);
	if (rc == 0)
		rc = copy_data(r, k, at, *n * SECTOR_BYTES, out, e);
	put_back_chunk(r, i, rc != 0 && e->kind == ERR_FORMAT);
	return rc;
}

/* How many of the sectors, from the first one on, are not stored. */
static uint64_t
count_missing(const struct random *r, struct range sectors)
{
	const struct rangeset *stored = random_stored(r);
	size_t i = rangeset_find(stored, sectors.off);
	struct range next = sectors;

	if (i < rangeset_count(stored))
		next = range_clip(sectors, sectors.off, rangeset_get(stored, i).off);
	return next.len;
}

int
random_read(struct random *r, struct range sectors, void *buf, struct err *e)
{
	uint8_t *out = buf;

	while (sectors.len > 0) {
		uint64_t n = count_missing(r, sectors);
		if (n > 0)
			memset(out, 0, n * SECTOR_BYTES);
		else if (read_some(r, sectors, out, &n, e) != 0)
			return -1;
		out += n * SECTOR_BYTES;
		sectors.off += n;
		sectors.len -= n;
	}
	return 0;
}

uint64_t
random_chunks(const struct random *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->nimages; i++)
		n += sectors_chunks(r->images[i]);
	return n;
}

int
random_learn(struct random *r, uint64_t n, struct err *e)
{
	size_t image = 0;

	assert(n < random_chunks(r));
	for (; n >= sectors_chunks(r->images[image]); image++)
		n -= sectors_chunks(r->images[image]);
	struct stock_item *i = random_chunk_get(r, image, (uint32_t)n, e);
	if (i == NULL)
		return -1;
	stock_put_back(r->stock, i);
	return 0;
}

struct random_stats
random_stats(struct random *r)
{
	return (struct random_stats){ .hits = r->hits,
		.misses = r->misses,
		.decoded = r->decoded,
		.kept = stock_bytes(r->stock) };
}
