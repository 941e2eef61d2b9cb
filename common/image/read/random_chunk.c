/* random_chunk.c: finds out what the chunks of an image say that is read anywhere.  Of most
 * chunks only header and table are read, of others everything.  random.c calls this, in any
 * thread. */
#include <stdlib.h>

#include "common/image/read/places.h"
#include "common/image/read/random_impl.h"

static void
free_chunk(void *thing)
{
	struct random_chunk *k = thing;

	chunk_free(&k->c);
	pthread_mutex_destroy(&k->decoding);
	free(k->fragments);
	free(k->bytes);
	free(k);
}

static size_t
count_bytes(const struct random_chunk *k)
{
	const struct ext *x = &k->c.ext;

	return sizeof *k + (k->bytes != NULL ? NDZ_CHUNK_BYTES : 0) +
	       x->nfragments * (sizeof *x->fragments + sizeof *k->fragments) +
	       x->nfreed * sizeof *x->freed + x->samples.n * sizeof *x->samples.v +
	       x->lost.nranges * sizeof *x->lost.ranges;
}

static int
read_whole(struct random_chunk *k, struct err *e)
{
	k->bytes = malloc(NDZ_CHUNK_BYTES);
	if (k->bytes == NULL)
		return err_nomem(e, "a chunk");
	return sectors_whole_chunk(k->image, k->number, k->bytes, &k->c, e);
}

/* Read header and table.  Returns 1, 0 when they cannot be trusted without the rest, or -1. */
static int
read_part(struct random *r, struct random_chunk *k, struct err *e)
{
	struct random_work *w = random_work_get(r, e);
	struct blockmap here;

	if (w == NULL)
		return -1;
	int rc = sectors_read_table(k->image, k->number, w->bytes, &k->c, &here, e);
	random_work_put(r, w);
	return rc;
}

/* Read a chunk, as much of it as is needed.  On failure k->c need not be freed. */
static int
read_chunk(struct random *r, struct random_chunk *k, struct err *e)
{
	int rc = k->image->proved ? 0 : read_part(r, k, e);

	if (rc == 0 && read_whole(k, e) != 0)
		rc = -1;
	if (rc < 0 || k->c.ext.fragments == NULL)
		return rc < 0 ? -1 : 0;
	if (places_fragments(&k->fragments, &k->c, e) == 0)
		return 0;
	chunk_free(&k->c);
	return -1;
}

/* The bit that keys of chunks have in the stock; keys of pieces are smaller. */
#define CHUNK_KEY (UINT64_C(1) << 63)

struct making {
	struct random *r;
	struct sectors *image;
	uint32_t number;
};

static int
make_chunk(void *arg, struct stocked *of, struct err *e)
{
	const struct making *m = arg;
	struct random_chunk *k = calloc(1, sizeof *k);

	if (k == NULL)
		return err_nomem(e, "a chunk");
	k->image = m->image;
	k->number = m->number;
	k->opening = ++m->r->opened;
	if (read_chunk(m->r, k, e) != 0) {
		free(k->bytes);
		free(k);
		return -1;
	}
	pthread_mutex_init(&k->decoding, NULL);
	*of = (struct stocked){ k, count_bytes(k), free_chunk };
	return 0;
}

struct stock_item *
random_chunk_get(struct random *r, size_t image, uint32_t i, struct err *e)
{
	struct making m = { r, r->images[image], i };
	bool made;

	return stock_get(
	    r->stock, CHUNK_KEY | (uint64_t)image << 32 | i, make_chunk, &m, &made, e);
}
