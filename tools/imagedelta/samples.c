/* samples.c: a delta carries digests of what its base stores at places all over the disk,
 * so that an installer can tell the base's disk from any other.  main.c asks for them in
 * the first thread before the delta is made, because chunk 0 carries them and is written
 * first.  The images have not been compared by then; therefore only some places are looked
 * at, not the whole disk: those that every use of a filesystem changes (hot.c), and some that
 * are spread. */
#include "tools/imagedelta/samples.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/format/pick.h"
#include "tools/imagedelta/hot.h"

enum {
	PLACES = 2 * SAMPLES_SPREAD_MAX, /* looked at, roughly; fewer of a small image */
	PLACE_SECTORS = 32,              /* length of a place, at most */
	HOT_SECTORS = 2048, /* length of a hot place, at most */
	HOT_BYTES = HOT_SECTORS * SECTOR_BYTES,
};

struct finder {
	struct sectors *old, *new;
	const struct rangeset *avoid;
	struct pick pick; /* owned */
	uint8_t *before, *after; /* HOT_BYTES each; owned */
};

int
samples_avoid(
    struct rangeset *avoid, struct sectors *old, struct sectors *new, struct err *e)
{
	struct sectors *const images[] = { old, new };

	for (unsigned k = 0; k < 2; k++) {
		size_t n;
		const struct ndz_reloc *r = sectors_relocs(images[k], &n);
		if (pick_avoid(avoid, r, n, e) != 0)
			return -1;
	}
	rangeset_seal(avoid);
	return 0;
}

/* May a sample be made of the place r?  Not when it has sectors to avoid, ends behind the new
 * image's disk, or is partly stored by the new image.  *stored: the new image stores it. */
static bool
is_sure(const struct finder *f, struct range r, bool *stored)
{
	uint64_t there = rangeset_total_in(sectors_stored(f->new), r);

	*stored = there != 0;
	return rangeset_total_in(f->avoid, r) == 0 &&
	       range_within(r, sectors_total(f->new)) && (there == 0 || there == r.len);
}

/* Read the place r of both images; where the new one does not store it, its data stays on the
 * disk. */
static int
read_both(struct finder *f, struct range r, bool stored, struct err *e)
{
	if (sectors_read(f->old, r, f->before, e) != 0)
		return -1;
	if (stored)
		return sectors_read(f->new, r, f->after, e);
	memcpy(f->after, f->before, r.len * SECTOR_BYTES);
	return 0;
}

static int
look_at(struct finder *f, struct range r, bool hot, struct err *e)
{
	struct sample x;
	bool stored;

	if (cancel_check(e) != 0)
		return -1;
	if (!is_sure(f, r, &stored))
		return 0;
	if (read_both(f, r, stored, e) != 0 ||
	    pick_sample(&x, SAMPLE_SHA256, r, f->before, f->after, e) != 0)
		return -1;
	if (hot)
		return pick_add_hot(&f->pick, &x, e);
	enum fate fate = !stored           ? FATE_FREED
	                 : sample_stays(&x) ? FATE_STAYS
	                                    : FATE_REPLACED;
	bool zero = f->before[0] == 0 &&
	            memcmp(f->before, f->before + 1, r.len * SECTOR_BYTES - 1) == 0;
	return pick_add(&f->pick, fate, &x, zero, e);
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
			if (look_at(f, place_at(r, before, at), false, e) != 0)
				return -1;
		before += r.len;
	}
	return 0;
}

/* Look at all of these sectors, each piece of which must be sure. */
static int
look_at_hot(struct finder *f, const struct rangeset *set, struct err *e)
{
	for (size_t i = 0; i < rangeset_count(set); i++) {
		struct range left = rangeset_get(set, i);
		while (left.len > 0) {
			struct range r = { left.off,
				left.len < HOT_SECTORS ? left.len : HOT_SECTORS };
			if (look_at(f, r, true, e) != 0)
				return -1;
			left.off += r.len;
			left.len -= r.len;
		}
	}
	return 0;
}

/* What the old image stores of hot places is looked at, once as far as the new one stores it,
 * and once as far as it does not. */
static int
look_at_places(struct finder *f, struct rangeset *hot, struct err *e)
{
	const struct rangeset *stored = sectors_stored(f->new);
	struct rangeset kept;

	rangeset_init(&kept);
	rangeset_clip(hot, 0, sectors_total(f->new));
	int rc = rangeset_intersect(hot, sectors_stored(f->old), e);
	if (rc == 0)
		rc = rangeset_minus(hot, f->avoid, e);
	if (rc == 0)
		rc = rangeset_union(&kept, hot, e);
	if (rc == 0)
		rc = rangeset_intersect(&kept, stored, e);
	if (rc == 0)
		rc = look_at_hot(f, &kept, e);
	if (rc == 0)
		rc = rangeset_minus(hot, stored, e);
	if (rc == 0)
		rc = look_at_hot(f, hot, e);
	rangeset_free(&kept);
	return rc;
}

static int
look_at_filesystems(struct finder *f, struct err *e)
{
	struct rangeset hot;

	rangeset_init(&hot);
	int rc = hot_sectors(f->old, &hot, e);
	if (rc == 0)
		rc = look_at_places(f, &hot, e);
	rangeset_free(&hot);
	return rc;
}

static int
find(struct finder *f, struct basis *b, struct err *e)
{
	f->before = malloc(HOT_BYTES);
	f->after = malloc(HOT_BYTES);
	if (f->before == NULL || f->after == NULL)
		return err_nomem(e, "samples of the base");
	if (look_at_filesystems(f, e) != 0 || look_around(f, e) != 0 ||
	    sectors_done(f->old, e) != 0 || sectors_done(f->new, e) != 0)
		return -1;
	return pick_end(&f->pick, b, e);
}

int
samples_find(struct basis *b, struct sectors *old, struct sectors *new,
    const struct rangeset *avoid, struct err *e)
{
	struct finder f = { .old = old, .new = new, .avoid = avoid };
	int rc = find(&f, b, e);

	pick_free(&f.pick);
	free(f.before);
	free(f.after);
	return rc;
}
