/* diff.c: two images are compared, and what the second one stores and the first one does not
 * have is given out in windows of a delta.  main.c makes and frees the struct diff, and
 * rewrite.c calls diff_done(), in the first thread; diff_next() is called in the maker's
 * reader thread. */
#include "tools/imagedelta/diff.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/marker.h"
#include "common/image/format/pick.h"
#include "common/image/read/layers.h"
#include "common/image/read/sectors_table.h"
#include "common/image/read/walk.h"

/* What differs is given out in blocks of 4 KiB, not in sectors: blocks of a filesystem change
 * as a whole, and a region costs 8 or 16 bytes of a header that has 4096. */
enum { BLOCK_SECTORS = 8, WINDOW_BLOCKS = WINDOW_SECTORS / BLOCK_SECTORS };

/* Installers hold the first 4 KiB back when the image stores them, and put the incomplete marker
 * there, by which an interrupted installation of the delta is known. */
static const struct range marker_sectors = { 0, MARKER_AREA_SECTORS };

struct diff {
	struct sectors *old, *new; /* borrowed */
	struct rangeset freed;     /* sectors that only the old image stores */
	/* Sectors that always count as different: those of relocations that only one of the
	 * images has, because an installed disk differs from the image there; the short
	 * sector of a file; what only one of the images has lost; the partition table; and
	 * the first 4 KiB. */
	struct rangeset moved;
	struct rangeset given; /* sectors that were given out; noted if `new` lost any */
	struct lostset lost;   /* of the sectors given out; filled by diff_done() */
	struct basis *basis;   /* borrowed */
	const struct rangeset *avoid; /* no sample has these sectors; borrowed */
	struct walk walk;
	struct reloc_walk relocs; /* a copy of those of the new image; owned */
	bool any; /* a window was given out */
	uint8_t new_data[FRAGMENT_WINDOW_BYTES], old_data[FRAGMENT_WINDOW_BYTES];
};

/* Does the image have a relocation of the same type for the same bytes? */
static bool
has_reloc(struct sectors *image, const struct ndz_reloc *r)
{
	size_t n;
	const struct ndz_reloc *x = sectors_relocs(image, &n);

	for (size_t i = 0; i < n; i++)
		if (x[i].type == r->type && x[i].sector == r->sector &&
		    x[i].offset == r->offset && x[i].size == r->size)
			return true;
	return false;
}

/* Add the sectors of the relocations that only `image` has to d->moved.  A short sector is
 * always added, so that the delta stores it: it tells where a file ends. */
static int
find_moved(struct diff *d, struct sectors *image, struct sectors *other, struct err *e)
{
	size_t n;
	const struct ndz_reloc *r = sectors_relocs(image, &n);

	for (size_t i = 0; i < n; i++)
		if ((r[i].type == NDZ_RELOC_SHORT_SECTOR || !has_reloc(other, &r[i])) &&
		    rangeset_add(&d->moved, reloc_sectors(&r[i]), e) != 0)
			return -1;
	return 0;
}

/* Add the sectors that only `image` has lost to d->moved.  Both images may store zeros there,
 * but zeros that stand for lost data differ from zeros that were read. */
static int
find_lost(struct diff *d, struct sectors *image, struct sectors *other, struct err *e)
{
	struct rangeset only, both;

	rangeset_init(&only);
	rangeset_init(&both);
	int rc = lost_ranges(sectors_lost(image), &only, e);
	if (rc == 0)
		rc = lost_ranges(sectors_lost(other), &both, e);
	rangeset_seal(&both);
	if (rc == 0)
		rc = rangeset_minus(&only, &both, e);
	if (rc == 0)
		rc = rangeset_union(&d->moved, &only, e);
	rangeset_free(&only);
	rangeset_free(&both);
	return rc;
}

/* Add the sectors of the partition table to the set, so that a single partition can be
 * installed from the delta (imageunzip --only); none when the image is not of a disk,
 * or has no table that can be trusted. */
static int
table_sectors(struct sectors *image, struct rangeset *set, struct err *e)
{
	const struct ext *x = sectors_ext(image);
	struct ptable pt;

	if (!x->has_image || x->image.kind != EXT_KIND_DISK)
		return 0;
	int rc = sectors_table(image, &pt, e);
	if (rc != 1)
		return rc;
	rc = rangeset_union(set, &pt.own, e);
	ptable_free(&pt);
	return rc;
}

static int
copy_relocs(struct reloc_walk *w, struct sectors *image, struct err *e)
{
	const struct ndz_reloc *r = sectors_relocs(image, &w->n);

	w->relocs = calloc(w->n + 1, sizeof *w->relocs);
	if (w->relocs == NULL)
		return err_nomem(e, "relocations");
	for (size_t i = 0; i < w->n; i++)
		w->relocs[i] = r[i];
	return 0;
}

int
diff_new(struct diff **out, struct sectors *old, struct sectors *new,
    struct basis *basis, const struct rangeset *avoid, struct err *e)
{
	struct diff *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, "the comparison");
	d->old = old;
	d->new = new;
	d->basis = basis;
	d->avoid = avoid;
	rangeset_init(&d->freed);
	rangeset_init(&d->moved);
	rangeset_init(&d->given);
	lostset_init(&d->lost);
	d->walk = (struct walk){ .set = sectors_stored(new) };
	int rc = copy_relocs(&d->relocs, new, e);
	if (rc == 0)
		rc = rangeset_union(&d->freed, sectors_stored(old), e);
	if (rc == 0)
		rc = rangeset_minus(&d->freed, sectors_stored(new), e);
	if (rc == 0 &&
	    (find_moved(d, old, new, e) != 0 || find_moved(d, new, old, e) != 0 ||
		find_lost(d, old, new, e) != 0 || find_lost(d, new, old, e) != 0 ||
		table_sectors(new, &d->moved, e) != 0 ||
		rangeset_add(&d->moved, marker_sectors, e) != 0))
		rc = -1;
	rangeset_seal(&d->moved);
	if (rc != 0) {
		diff_free(d);
		return -1;
	}
	rangeset_clip(&d->freed, 0, sectors_total(new));
	*out = d;
	return 0;
}

void
diff_free(struct diff *d)
{
	if (d == NULL)
		return;
	rangeset_free(&d->freed);
	rangeset_free(&d->moved);
	rangeset_free(&d->given);
	lostset_free(&d->lost);
	free(d->relocs.relocs);
	free(d);
}

const struct rangeset *
diff_freed(const struct diff *d)
{
	return &d->freed;
}

struct lostset *
diff_lost(struct diff *d)
{
	return &d->lost;
}

/* What an image stores of a window, by sector. */
struct contents {
	uint64_t first; /* sector with which the window begins */
	uint8_t *data;  /* FRAGMENT_WINDOW_BYTES, of which those of stored sectors count */
	bool stored[WINDOW_SECTORS];
};

/* Read the sectors of r that the image stores into w, and mark them there as stored. */
static int
read_into(struct sectors *image, struct range r, struct contents *w, struct err *e)
{
	const struct rangeset *set = sectors_stored(image);

	for (size_t i = rangeset_find(set, r.off); i < rangeset_count(set); i++) {
		struct range part = range_clip(
		    rangeset_get(set, i), r.off, range_end(r));
		if (part.len == 0)
			break;
		size_t at = (size_t)(part.off - w->first);
		if (sectors_read(image, part, w->data + at * SECTOR_BYTES, e) != 0)
			return -1;
		memset(w->stored + at, true, part.len);
	}
	return 0;
}

/* Does the new image store sector i of the window, and does that sector count as different? */
static bool
sector_differs(
    struct diff *d, const struct contents *old, const struct contents *new, unsigned i)
{
	if (!new->stored[i])
		return false;
	return !old->stored[i] ||
	       memcmp(old->data + i * SECTOR_BYTES, new->data + i *SECTOR_BYTES,
		   SECTOR_BYTES) != 0 ||
	       (rangeset_count(&d->moved) > 0 &&
		   rangeset_contains(&d->moved, new->first + i));
}

/* Mark all blocks that a relocation has in this window when one of them is marked, because a
 * relocation is applied to all of its bytes at once. */
static void
keep_relocs_whole(struct diff *d, bool block[WINDOW_BLOCKS], uint64_t first)
{
	for (size_t i = d->relocs.at; i < d->relocs.n; i++) {
		const struct ndz_reloc *x = &d->relocs.relocs[i];
		struct range r = range_clip(
		    reloc_sectors(x), first, first + WINDOW_SECTORS);
		if (x->sector >= first + WINDOW_SECTORS)
			break;
		if (r.len == 0)
			continue;
		uint64_t from = (r.off - first) / BLOCK_SECTORS;
		uint64_t to = (range_end(r) - 1 - first) / BLOCK_SECTORS;
		bool any = false;
		for (uint64_t b = from; b <= to; b++)
			any |= block[b];
		for (uint64_t b = from; b <= to && any; b++)
			block[b] = true;
	}
}

/* Mark the blocks of the window that differ.  Returns whether there are any. */
static bool
compare(struct diff *d, const struct contents *old, const struct contents *new,
    bool block[WINDOW_BLOCKS])
{
	bool any = false;

	for (unsigned i = 0; i < WINDOW_SECTORS; i++) {
		bool differs = sector_differs(d, old, new, i);
		block[i / BLOCK_SECTORS] |= differs;
		any |= differs;
	}
	if (any)
		keep_relocs_whole(d, block, new->first);
	return any;
}

/* Put the stored sectors of the marked blocks into the window, and their data into out.
 * Returns the number of bytes. */
static size_t
collect(const struct contents *w, const bool block[WINDOW_BLOCKS], struct window *f,
    uint8_t *out)
{
	size_t bytes = 0;

	f->nregions = 0;
	for (unsigned i = 0; i < WINDOW_SECTORS; i++) {
		uint64_t sector = w->first + i;
		if (!w->stored[i] || !block[i / BLOCK_SECTORS])
			continue;
		if (f->nregions > 0 && range_end(f->regions[f->nregions - 1]) == sector)
			f->regions[f->nregions - 1].len++;
		else
			f->regions[f->nregions++] = (struct range){ sector, 1 };
		memcpy(out + bytes, w->data + i * SECTOR_BYTES, SECTOR_BYTES);
		bytes += SECTOR_BYTES;
	}
	return bytes;
}

/* Add the sample of sectors [from, to) of the window to the basis. */
static int
add_sample(struct diff *d, const struct contents *old, const struct contents *new,
    unsigned from, unsigned to, struct err *e)
{
	struct sample x;
	struct range r = { new->first + from, to - from };
	size_t at = (size_t)from * SECTOR_BYTES;

	if (pick_sample(&x, SAMPLE_SHA256, r, old->data + at, new->data + at, e) != 0)
		return -1;
	return basis_add_replaced(d->basis, &x, e);
}

/* Add samples to the basis of all that the marked blocks replace of the old image, one for each
 * run of sectors; sectors to be avoided are in none. */
static int
note_replaced(struct diff *d, const struct contents *old, const struct contents *new,
    const bool block[WINDOW_BLOCKS], struct err *e)
{
	unsigned from = 0;

	for (unsigned i = 0; i <= WINDOW_SECTORS; i++) {
		if (i < WINDOW_SECTORS && block[i / BLOCK_SECTORS] && old->stored[i] &&
		    new->stored[i] && !rangeset_contains(d->avoid, new->first + i))
			continue;
		if (i > from && add_sample(d, old, new, from, i, e) != 0)
			return -1;
		from = i + 1;
	}
	return 0;
}

/* Fill the window f with the marked blocks of w.  Returns the number of bytes, or -1. */
static ssize_t
emit(struct diff *d, const struct contents *w, const bool block[WINDOW_BLOCKS],
    struct window *f, uint8_t *out, struct err *e)
{
	size_t bytes = collect(w, block, f, out);

	for (unsigned i = 0; i < f->nregions && sectors_lost(d->new)->nranges > 0; i++)
		if (rangeset_add(&d->given, f->regions[i], e) != 0)
			return -1;
	reloc_walk_take(&d->relocs, f);
	d->any = true;
	return (ssize_t)bytes;
}

/* When no window was given out, give out the first stored block of the new image, although it
 * is the same in the old one.  Returns the number of bytes, 0 when a window was given out, or
 * -1. */
static ssize_t
nothing_new(struct diff *d, struct window *f, uint8_t *out, struct err *e)
{
	struct range r = rangeset_get(sectors_stored(d->new), 0);
	struct contents new = { .first = r.off / WINDOW_SECTORS * WINDOW_SECTORS,
		.data = d->new_data };
	struct contents old = { .first = new.first, .data = d->old_data };
	struct range all = { new.first, WINDOW_SECTORS };
	bool block[WINDOW_BLOCKS] = { false };

	if (d->any)
		return 0;
	if (read_into(d->new, all, &new, e) != 0 || read_into(d->old, all, &old, e) != 0)
		return -1;
	block[(r.off - new.first) / BLOCK_SECTORS] = true;
	keep_relocs_whole(d, block, new.first);
	return note_replaced(d, &old, &new, block, e) == 0
	           ? emit(d, &new, block, f, out, e)
	           : -1;
}

/* Does the image store exactly these n ranges of the window that begins with sector `first`? */
static bool
stores_just(
    struct sectors *image, const struct range *ranges, unsigned n, uint64_t first)
{
	const struct rangeset *set = sectors_stored(image);
	size_t i = rangeset_find(set, first);
	unsigned k = 0;

	for (; i < rangeset_count(set); i++, k++) {
		struct range r = range_clip(
		    rangeset_get(set, i), first, first + WINDOW_SECTORS);
		if (r.len == 0)
			break;
		if (k == n || r.off != ranges[k].off || r.len != ranges[k].len)
			return false;
	}
	return k == n;
}

/* The sector that byte `at` of the data of these ranges belongs to. */
static uint64_t
sector_at(const struct range *ranges, uint64_t at)
{
	for (; at >= ranges->len * SECTOR_BYTES; ranges++)
		at -= ranges->len * SECTOR_BYTES;
	return ranges->off + at / SECTOR_BYTES;
}

/* Do the fragment tables of both images describe the data of these ranges, which both store,
 * as the same?  Returns 1, 0 (also where a chunk has no fragment table), or -1. */
static int
same_fragments(struct diff *d, const struct range *ranges, unsigned n, struct err *e)
{
	struct sectors_id old, new;
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += ranges[i].len * SECTOR_BYTES;
	for (size_t at = 0; at < bytes; at += new.covers) {
		uint64_t sector = sector_at(ranges, at);
		int rc = sectors_identify(d->old, sector, bytes - at, &old, e);
		if (rc == 1)
			rc = sectors_identify(d->new, sector, bytes - at, &new, e);
		if (rc != 1)
			return rc;
		if (!sectors_id_same(&old, &new))
			return 0;
	}
	return 1;
}

/* Is it known without decoding that both images have the same in the window that begins with
 * sector `first`, of which the new image stores these n ranges?  Returns 1, 0 (its data must
 * be compared), or -1. */
static int
surely_same(struct diff *d, const struct range *ranges, unsigned n, uint64_t first,
    struct err *e)
{
	size_t m = rangeset_find(&d->moved, first);

	if ((m < rangeset_count(&d->moved) &&
		rangeset_get(&d->moved, m).off < first + WINDOW_SECTORS) ||
	    !stores_just(d->old, ranges, n, first))
		return 0;
	return same_fragments(d, ranges, n, e);
}

ssize_t
diff_next(void *arg, struct window *f, void *buf, struct err *e)
{
	struct diff *d = arg;
	struct range ranges[WINDOW_REGIONS_MAX];
	unsigned n;

	while ((n = walk_next(&d->walk, ranges)) > 0) {
		uint64_t first = ranges[0].off / WINDOW_SECTORS * WINDOW_SECTORS;
		struct contents old = { .first = first, .data = d->old_data };
		struct contents new = { .first = first, .data = d->new_data };
		struct range span = { ranges[0].off,
			range_end(ranges[n - 1]) - ranges[0].off };
		bool block[WINDOW_BLOCKS] = { false };
		int same = surely_same(d, ranges, n, first, e);
		if (same < 0)
			return -1;
		if (same == 1)
			continue;
		if (read_into(d->old, span, &old, e) != 0 ||
		    read_into(d->new, span, &new, e) != 0)
			return -1;
		if (!compare(d, &old, &new, block))
			continue;
		return note_replaced(d, &old, &new, block, e) == 0
		           ? emit(d, &new, block, f, buf, e)
		           : -1;
	}
	return nothing_new(d, f, buf, e);
}

int
diff_done(void *arg, struct err *e)
{
	struct diff *d = arg;

	if (sectors_done(d->old, e) != 0 || sectors_done(d->new, e) != 0)
		return -1;
	rangeset_seal(&d->given);
	return lostset_add(&d->lost, sectors_lost(d->new), &d->given, e);
}
