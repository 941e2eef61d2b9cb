/* pick.c: the samples of a base that chunk 0 of a delta gets are picked from those of many
 * places.  imagedelta's samples.c and imagezip's delta_samples.c offer them, each in the
 * first thread of its program, before chunk 0 is made. */
#include "common/image/format/pick.h"

/* The most sectors that an installer has to read for these samples: 32 MiB. */
enum { SPREAD_SECTORS_MAX = 65536 };

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

/* Add as many samples of each kind as there is room for, evenly spread over them. */
static int
add_kinds(struct samples *out, struct samples kinds[FATES], struct err *e)
{
	for (unsigned k = 0; k < FATES; k++) {
		samples_thin(&kinds[k], SAMPLES_SPREAD_MAX - out->n);
		for (size_t i = 0; i < kinds[k].n; i++)
			if (samples_add(out, &kinds[k].v[i], e) != 0)
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

int
pick_end(struct pick *p, struct basis *b, struct err *e)
{
	if (add_kinds(&b->spread, p->kinds, e) != 0)
		return -1;
	if (b->spread.n == 0 && add_kinds(&b->spread, p->zeros, e) != 0)
		return -1;
	samples_thin(&b->spread, SPREAD_SECTORS_MAX / longest(&b->spread));
	return 0;
}

void
pick_free(struct pick *p)
{
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
