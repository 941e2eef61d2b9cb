/* basis.c: the samples of a base on their way into a delta.  imagezip -H, imagedelta and
 * imagerezip fill a basis, and the packer takes from it; imagedelta fills it from the
 * thread that reads while the packer's thread takes, so a lock guards it. */
#include "common/image/format/basis.h"

#include <assert.h>

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
	       b->replaced.v[b->replaced.n - 1].sectors.off < x->sectors.off);
	int rc = samples_add(&b->replaced, x, e);
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* The first sample that begins at this sector or behind it. */
static size_t
find(const struct samples *s, uint64_t sector)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->v[mid].sectors.off < sector)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A sample that reaches into the next chunk is left out: that chunk may be installed first. */
static void
take_own(const struct samples *s, struct range own, size_t most, struct samples *out)
{
	size_t from = find(s, own.off), to = find(s, range_end(own)), n = to - from;
	size_t take = n < most ? n : most;

	for (size_t i = 0; i < take; i++) {
		const struct sample *x = &s->v[from + i * n / take];
		if (range_end(x->sectors) <= range_end(own))
			out->v[out->n++] = *x;
	}
}

void
basis_take(
    struct basis *b, bool first, struct range own, size_t most, struct samples *out)
{
	out->hash = b->spread.hash;
	out->n = 0;
	for (size_t i = 0; first && i < b->spread.n && out->n < most; i++)
		out->v[out->n++] = b->spread.v[i];
	pthread_mutex_lock(&b->lock);
	take_own(&b->replaced, own, most - out->n, out);
	pthread_mutex_unlock(&b->lock);
}
