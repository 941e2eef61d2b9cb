/* pick.c: the samples of a base that chunk 0 of a delta gets are picked from those of many
 * places.  imagedelta's samples.c and imagezip's delta_samples.c offer them, each in the
 * first thread of its program, before chunk 0 is made. */
#include "common/image/format/pick.h"

/* The most sectors that an installer has to read for these samples: 32 MiB for those that are
 * spread, and 64 MiB for those of hot places, which may be in large blocks of a signature. */
enum { SPREAD_SECTORS_MAX = 65536, HOT_SECTORS_MAX = 131072 };

int
pick_sample(struct sample *x, enum sample_hash hash, struct range r, const void *before,
    const void *after, struct err *e)
{
	size_t bytes = r.len * SECTOR_BYTES;

	*x = (struct sample){ .sectors = r };
	if (sample_digest(hash, before, bytes, x->before, e) != 0)
		return -1;
	return sample_digest(hash, after, bytes, x->after, e);
}

int
pick_add(struct pick *p, enum fate fate, const struct sample *x, bool zero, struct err *e)
{
	if (fate == FATE_UNKNOWN)
		return 0;
	return samples_add(zero ? &p->zeros[fate] : &p->kinds[fate], x, e);
}

int
pick_add_hot(struct pick *p, const struct sample *x, struct err *e)
{
	return samples_add(&p->hot, x, e);
}

static int
add_all(struct samples *out, const struct samples *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++)
		if (samples_add(out, &s->v[i], e) != 0)
			return -1;
	return 0;
}

/* Add as many samples of each kind as there is room for, evenly spread over them. */
static int
add_kinds(struct samples *out, struct samples kinds[FATES], struct err *e)
{
	for (unsigned k = 0; k < FATES; k++) {
		samples_thin(&kinds[k], SAMPLES_SPREAD_MAX - out->n);
		if (add_all(out, &kinds[k], e) != 0)
			return -1;
	}
	return 0;
}

static uint64_t
longest(const struct samples *s)
{
	uint64_t most = 1;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].sectors.len > most)
			most = s->v[i].sectors.len;
	return most;
}

static void
thin_hot(struct samples *s)
{
	uint64_t total = 0;

	samples_thin(s, SAMPLES_HOT_MAX);
	for (size_t i = 0; i < s->n; i++)
		total += s->v[i].sectors.len;
	if (total > HOT_SECTORS_MAX)
		samples_thin(s, (size_t)(s->n * HOT_SECTORS_MAX / total));
}

int
pick_end(struct pick *p, struct basis *b, struct err *e)
{
	struct samples spread = { .n = 0 };
	int rc = add_kinds(&spread, p->kinds, e);

	if (rc == 0 && spread.n == 0)
		rc = add_kinds(&spread, p->zeros, e);
	samples_thin(&spread, SPREAD_SECTORS_MAX / longest(&spread));
	thin_hot(&p->hot);
	if (rc == 0)
		rc = add_all(&b->spread, &p->hot, e);
	if (rc == 0)
		rc = add_all(&b->spread, &spread, e);
	samples_free(&spread);
	return rc;
}

void
pick_free(struct pick *p)
{
	samples_free(&p->hot);
	for (unsigned k = 0; k < FATES; k++) {
		samples_free(&p->kinds[k]);
		samples_free(&p->zeros[k]);
	}
}

int
pick_avoid(struct rangeset *set, const struct ndz_reloc *relocs, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (rangeset_add(set, reloc_sectors(&relocs[i]), e) != 0)
			return -1;
	return 0;
}
