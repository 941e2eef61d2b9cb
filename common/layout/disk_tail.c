/* disk_tail.c: decides what is kept of the space behind the last partition of a disk.
 *
 * The layout of imagezip calls it, in the first thread. Metadata of arrays (end_signature.h)
 * and the environments of boot loaders lie at the very end of a disk, so the last 16
 * MiB are read and kept, from the first block that is not zero on; metadata that is
 * recognised is stored completely, also if it begins in front of them. The rest of the
 * space outside of partitions is not read but for a sample (strays.c), because on a
 * large disk it can be most of the disk.
 */
#include "common/layout/disk_tail.h"

#include <stdlib.h>
#include <string.h>

#include "common/behind/behind.h"
#include "common/behind/nonzero.h"

/* How far from the end metadata that is recognised may begin. */
enum { ENDING_SECTORS = (256 << 20) / SECTOR_BYTES };

int
disk_tail_drop_missing_backup(struct rangeset *own, const struct ptable *t, struct disk *d,
    uint64_t total, struct err *e)
{
	uint64_t unit = t->sector_bytes / SECTOR_BYTES, usable = range_end(t->usable);
	struct rangeset place;
	struct err ignored;
	char magic[8];

	if (t->kind != PTABLE_GPT || usable >= total || total < unit ||
	    (disk_read(d, magic, sizeof magic, (total - unit) * SECTOR_BYTES,
		 &ignored) == 0 &&
		memcmp(magic, "EFI PART", sizeof magic) == 0))
		return 0;
	size_t i = rangeset_find(own, total - 1);
	struct range r = i < rangeset_count(own) ? rangeset_get(own, i)
	                                         : (struct range){ 0, 0 };
	if (r.off < usable)
		return 0;
	rangeset_init(&place);
	int rc = rangeset_add(&place, r, e);
	rangeset_seal(&place);
	if (rc == 0)
		rc = rangeset_minus(own, &place, e);
	rangeset_free(&place);
	return rc;
}

/* Make pieces of this kind of the sectors of r that are in *free, and remove them from
 * *free. Sectors for which there is no room among the pieces are not in the tail; they
 * are stored like any other sectors of the image. */
static int
add_pieces(struct tail *t, uint32_t kind, struct range r, struct rangeset *free,
    struct err *e)
{
	struct rangeset of;

	rangeset_init(&of);
	int rc = rangeset_add(&of, r, e) == 0 ? rangeset_intersect(&of, free, e) : -1;
	for (size_t i = 0; rc == 0 && i < rangeset_count(&of); i++)
		if (t->n < TAIL_PIECES_MAX)
			t->pieces[t->n++] = (struct tail_piece){
				rangeset_get(&of, i), kind
			};
	if (rc == 0)
		rc = rangeset_minus(free, &of, e);
	rangeset_free(&of);
	return rc;
}

static int
by_sector(const void *a, const void *b)
{
	const struct tail_piece *x = a, *y = b;

	return x->sectors.off < y->sectors.off ? -1 : x->sectors.off > y->sectors.off;
}

/* Cut the space behind all partitions, from sector `floor` on, into pieces by what is
 * recognised in it. The sectors that are recognised are added to *whole. */
static int
cut(struct outside *o, struct disk *d, const struct disk_tail_search *s, uint64_t floor,
    struct rangeset *whole, struct err *e)
{
	struct end_signature found[END_SIGNATURES_MAX];
	uint64_t far = s->total > ENDING_SECTORS ? s->total - ENDING_SECTORS : 0;
	uint64_t boot = s->boot_end > floor ? s->boot_end : floor;
	struct rangeset free;

	rangeset_init(&free);
	int rc = rangeset_add(&free, (struct range){ floor, s->total - floor }, e);
	if (rc == 0)
		rc = rangeset_minus(&free, s->own, e);
	size_t n = end_signature_find(
	    d, (struct range){ 0, s->total }, floor > far ? floor : far, found);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = rangeset_add(whole, found[i].sectors, e);
		if (rc == 0)
			rc = add_pieces(
			    &o->tail, found[i].kind, found[i].sectors, &free, e);
	}
	if (rc == 0 && boot < s->total)
		rc = add_pieces(&o->tail, TAIL_UNKNOWN,
		    (struct range){ boot, s->total - boot }, &free, e);
	rangeset_free(&free);
	qsort(o->tail.pieces, o->tail.n, sizeof o->tail.pieces[0], by_sector);
	return rc;
}

/* Count how many sectors of the ranges each piece has. */
static uint64_t
count(const struct tail *t, const struct rangeset *set, uint64_t sectors[TAIL_PIECES_MAX])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rangeset_count(set); i++) {
		struct range r = rangeset_get(set, i);
		tail_count(t, &r, 1, sectors);
	}
	for (size_t i = 0; i < t->n; i++)
		sum += sectors[i];
	return sum;
}

/* Keep what was found (s->keep), or count it; the sectors of *skip outside of *looked
 * were not read. */
static int
decide(struct outside *o, const struct disk_tail_search *s, struct rangeset *full,
    const struct rangeset *looked, struct rangeset *skip, struct err *e)
{
	struct rangeset rest;

	rangeset_init(&rest);
	int rc = rangeset_union(&rest, skip, e);
	if (rc == 0)
		rc = rangeset_minus(&rest, looked, e);
	o->not_looked_at = rangeset_total(&rest);
	if (rc == 0)
		rc = s->keep ? rangeset_minus(skip, full, e)
		             : rangeset_intersect(full, skip, e);
	if (rc == 0 && !s->keep) {
		uint64_t sectors[TAIL_PIECES_MAX] = { 0 };
		o->left_out = count(&o->tail, full, sectors);
		tail_text(&o->tail, sectors, o->left_text, sizeof o->left_text);
		o->tail.n = 0;
	}
	rangeset_free(&rest);
	return rc;
}

/* Add the sectors from the first block that is not zero on, except those that cannot be
 * read; a block begins at a multiple of its size, or with the search. */
static int
add_unknown(struct rangeset *full, struct range found, uint64_t from, uint64_t total,
    const struct rangeset *bad, struct err *e)
{
	uint64_t block = found.off / NONZERO_BLOCK_SECTORS * NONZERO_BLOCK_SECTORS;
	struct rangeset data;

	rangeset_init(&data);
	block = block > from ? block : from;
	int rc = rangeset_add(&data, (struct range){ block, total - block }, e);
	rangeset_seal(&data);
	if (rc == 0)
		rc = rangeset_minus(&data, bad, e);
	if (rc == 0)
		rc = rangeset_union(full, &data, e);
	rangeset_free(&data);
	return rc;
}

/* Search the sectors from `from` on, except those in *full, which are recognised, and
 * the table's, for data, and add it to *full. */
static int
find_unknown(struct outside *o, struct disk *d, const struct disk_tail_search *s,
    uint64_t from, struct rangeset *full, struct err *e)
{
	struct range all = { from, s->total - from }, found = { 0, 0 };
	struct rangeset known, bad;

	rangeset_init(&known);
	rangeset_init(&bad);
	int rc = rangeset_union(&known, s->own, e);
	if (rc == 0)
		rc = rangeset_union(&known, full, e);
	if (rc == 0)
		rc = nonzero_find(&found, d, all, &known, &bad, e);
	rangeset_seal(&bad);
	o->unreadable = rangeset_total(&bad);
	if (rc == 0 && found.len > 0)
		rc = add_unknown(full, found, from, s->total, &bad, e);
	rangeset_free(&known);
	rangeset_free(&bad);
	return rc;
}

uint64_t
disk_tail_looked_from(const struct disk_tail_search *s)
{
	uint64_t from = s->total > BEHIND_END_SECTORS ? s->total - BEHIND_END_SECTORS : 0;

	return from > s->floor ? from : s->floor;
}

int
disk_tail_find(struct outside *o, struct disk *d, const struct disk_tail_search *s,
    struct rangeset *skip, struct err *e)
{
	uint64_t from = disk_tail_looked_from(s);
	struct rangeset full, looked;

	o->tail = (struct tail){ .disk_sectors = s->total };
	rangeset_init(&full);
	rangeset_init(&looked);
	int rc = s->floor < s->total ? cut(o, d, s, s->floor, &full, e) : 0;
	rangeset_seal(&full);
	if (rc == 0)
		rc = rangeset_union(&looked, &full, e);
	if (rc == 0 && from < s->total)
		rc = rangeset_add(&looked, (struct range){ from, s->total - from }, e);
	rangeset_seal(&looked);
	if (rc == 0 && from < s->total)
		rc = find_unknown(o, d, s, from, &full, e);
	if (rc == 0)
		rc = decide(o, s, &full, &looked, skip, e);
	rangeset_free(&full);
	rangeset_free(&looked);
	return rc;
}

void
disk_tail_settle(struct outside *o, const struct rangeset *store)
{
	struct tail *t = &o->tail;
	uint64_t stored[TAIL_PIECES_MAX] = { 0 };
	size_t n = 0;

	count(t, store, stored);
	for (size_t i = 0; i < t->n; i++) {
		if (stored[i] == 0)
			continue;
		t->pieces[n] = t->pieces[i];
		o->stored[n++] = stored[i];
	}
	t->n = n;
	t->needed = 0;
	for (size_t i = 0; i < rangeset_count(store); i++) {
		struct range r = rangeset_get(store, i);
		uint64_t end = tail_rest_end(t, &r, 1);
		t->needed = end > t->needed ? end : t->needed;
	}
}
