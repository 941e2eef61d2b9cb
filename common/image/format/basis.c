/* basis.c: the samples of a base on their way into a delta.  imagezip -H, imagedelta and
 * imagerezip fill a basis, and the packer takes from it; imagedelta fills it from the
 * thread that reads while the packer's thread takes, so a lock guards it. */
#include "common/image/format/basis.h"

#include <assert.h>

#include "common/base/bisect.h"

void
basis_init(struct basis *b, enum sample_hash hash)
{
	*b = (struct basis){ .spread.hash = hash, .replaced.hash = hash };
	pthread_mutex_init(&b->lock, NULL);
}

void
basis_free(struct basis *b)
{
	samples_free(&b->spread);
	samples_free(&b->replaced);
	pthread_mutex_destroy(&b->lock);
}

int
basis_add_replaced(struct basis *b, const struct sample *x, struct err *e)
{
	pthread_mutex_lock(&b->lock);
	assert(b->replaced.n == 0 ||
	       range_end(b->replaced.v[b->replaced.n - 1].sectors) <= x->sectors.off);
	int rc = samples_add(&b->replaced, x, e);
	pthread_mutex_unlock(&b->lock);
	return rc;
}

static bool
begins_before(const void *samples, size_t i, uint64_t sector)
{
	const struct samples *s = samples;

	return s->v[i].sectors.off < sector;
}

/* The first sample that begins at this sector or behind it. */
static size_t
find(const struct samples *s, uint64_t sector)
{
	return bisect(s->n, s, sector, begins_before);
}

size_t
basis_count(struct basis *b, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&b->lock);
	size_t n = find(&b->replaced, to) - find(&b->replaced, from);
	pthread_mutex_unlock(&b->lock);
	return n;
}

uint64_t
basis_next(struct basis *b, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&b->lock);
	size_t i = find(&b->replaced, from);
	uint64_t next = i < b->replaced.n ? b->replaced.v[i].sectors.off : to;
	pthread_mutex_unlock(&b->lock);
	return next < to ? next : to;
}

/* Share out the samples that have sectors of `own`, which are next to each other. */
static void
take_own(const struct samples *s, struct range own, size_t most, struct samples *out,
    struct samples *shared)
{
	size_t i = find(s, own.off);

	if (i > 0 && range_end(s->v[i - 1].sectors) > own.off)
		shared->v[shared->n++] = s->v[i - 1];
	for (; i < s->n && s->v[i].sectors.off < range_end(own); i++)
		if (range_end(s->v[i].sectors) > range_end(own))
			shared->v[shared->n++] = s->v[i];
		else if (out->n < most)
			out->v[out->n++] = s->v[i];
}

void
basis_take(struct basis *b, bool first, struct range own, size_t most,
    struct samples *out, struct samples *shared)
{
	out->hash = shared->hash = b->spread.hash;
	out->n = shared->n = 0;
	for (size_t i = 0; first && i < b->spread.n && out->n < most; i++)
		out->v[out->n++] = b->spread.v[i];
	pthread_mutex_lock(&b->lock);
	take_own(&b->replaced, own, most, out, shared);
	pthread_mutex_unlock(&b->lock);
}
