/* samples.c: a delta carries digests of what its base stores at places all over the disk,
 * so that an installer can tell the base's disk from any other.  main.c asks for them in
 * the first thread before the delta is made, because chunk 0 carries them and is written
 * first.  The images have not been compared by then; therefore only some places are looked
 * at, not the whole disk. */
#include "tools/imagedelta/samples.h"

#include <string.h>

#include "common/base/cancel.h"
#include "common/image/read/window.h"

enum {
	PLACES = 2 * SAMPLES_SPREAD_MAX, /* looked at, roughly; fewer of a small image */
	PLACE_SECTORS = 32,              /* length of a place, at most */
	PLACE_BYTES = PLACE_SECTORS * SECTOR_BYTES,
};

/* What the delta does to the data of a place.  UNKNOWN: no sample is made of the place. */
enum fate { STAYS, REPLACED, FREED, FATES, UNKNOWN = FATES };

struct finder {
	struct sectors *old, *new;
	const struct rangeset *avoid;
	struct samples kinds[FATES], zeros; /* owned; zeros: of places that hold only zeros */
};

int
samples_avoid(
    struct rangeset *avoid, struct sectors *old, struct sectors *new, struct err *e)
{
	struct sectors *const images[] = { old, new };

	for (unsigned k = 0; k < 2; k++) {
		size_t n;
		const struct ndz_reloc *r = sectors_relocs(images[k], &n);
		for (size_t i = 0; i < n; i++)
			if (rangeset_add(avoid, reloc_sectors(&r[i]), e) != 0)
				return -1;
	}
	rangeset_seal(avoid);
	return 0;
}

/* Compare the images at the place r: *x is its sample, *fate what the delta does to it, and
 * *zero whether the old image has only zeros there.  With UNKNOWN, *zero is not set: r has
 * sectors to avoid, ends behind the new image's disk, or is partly stored by the new image. */
static int
compare(struct finder *f, struct range r, struct sample *x, enum fate *fate,
    bool *zero, struct err *e)
{
	uint8_t data[PLACE_BYTES];
	size_t bytes = r.len * SECTOR_BYTES;

	*x = (struct sample){ .sectors = r };
	*fate = UNKNOWN;
	uint64_t there = rangeset_total_in(sectors_stored(f->new), r);
	if (rangeset_total_in(f->avoid, r) > 0 || !range_within(r, sectors_total(f->new)) ||
	    (there != 0 && there != r.len))
		return 0;
	if (sectors_read(f->old, r, data, e) != 0 ||
	    sample_digest(SAMPLE_SHA256, data, bytes, x->before, e) != 0)
		return -1;
	*zero = data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
	memcpy(x->after, x->before, sizeof x->after);
	*fate = FREED;
	if (there == 0)
		return 0;
	if (sectors_read(f->new, r, data, e) != 0 ||
	    sample_digest(SAMPLE_SHA256, data, bytes, x->after, e) != 0)
		return -1;
	*fate = sample_stays(x) ? STAYS : REPLACED;
	return 0;
}

/* Add the sample of the place r to the list that it belongs to.  Places of zeros have a list
 * of their own, which is used last, because zeros are found on any empty disk. */
static int
look_at(struct finder *f, struct range r, struct err *e)
{
	struct sample x;
	enum fate fate;
	bool zero;

	if (compare(f, r, &x, &fate, &zero, e) != 0 || cancel_check(e) != 0)
		return -1;
	if (fate == UNKNOWN)
		return 0;
	return samples_add(zero ? &f->zeros : &f->kinds[fate], &x, e);
}

/* The place in the stored range r that begins with sector number `at` of all sectors that the
 * old image stores; `before` of these sectors come before r. */
static struct range
place_at(struct range r, uint64_t before, uint64_t at)
{
	uint64_t skip = at - before, left = r.len - skip;

	return (struct range){ r.off + skip,
		left < PLACE_SECTORS ? left : PLACE_SECTORS };
}

/* Look at places that are evenly spread over the sectors that the old image stores. */
static int
look_around(struct finder *f, struct err *e)
{
	const struct rangeset *stored = sectors_stored(f->old);
	uint64_t total = rangeset_total(stored), before = 0;
	uint64_t step = total / PLACES > PLACE_SECTORS ? total / PLACES : PLACE_SECTORS;
	uint64_t at = 0;

	for (size_t i = 0; i < rangeset_count(stored); i++) {
		struct range r = rangeset_get(stored, i);
		for (; at - before < r.len; at += step)
			if (look_at(f, place_at(r, before, at), e) != 0)
				return -1;
		before += r.len;
	}
	return 0;
}

/* Add as many of the samples to the basis as it has room for, evenly spread over them. */
static int
add_all(struct basis *b, struct samples *s, struct err *e)
{
	samples_thin(s, SAMPLES_SPREAD_MAX - b->spread.n);
	for (size_t i = 0; i < s->n; i++)
		if (samples_add(&b->spread, &s->v[i], e) != 0)
			return -1;
	return 0;
}

/* Samples of data that stays are added first, because an installer finds that data whatever
 * part of the delta was installed before; samples of replaced and of freed data follow. */
int
samples_spread(struct basis *b, struct sectors *old, struct sectors *new,
    const struct rangeset *avoid, struct err *e)
{
	struct finder f = { .old = old, .new = new, .avoid = avoid };
	int rc = look_around(&f, e);

	if (rc == 0)
		rc = sectors_done(old, e);
	if (rc == 0)
		rc = sectors_done(new, e);
	for (unsigned k = 0; k < FATES; k++) {
		if (rc == 0)
			rc = add_all(b, &f.kinds[k], e);
		samples_free(&f.kinds[k]);
	}
	if (rc == 0 && b->spread.n == 0)
		rc = add_all(b, &f.zeros, e);
	samples_free(&f.zeros);
	return rc;
}
