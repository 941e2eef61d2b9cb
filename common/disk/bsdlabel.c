/* bsdlabel.c: disklabels are read and checked.  fsmods, areas.c and imagezip's bsdparts.c
 * and relocate.c call this, in any thread.  The label is in sector 1 of the slice:
 *
 *	0	le32 magic 0x82564557
 *	40	le32 bytes of a sector
 *	114	le16 version (OpenBSD: 1), else 0
 *	132	le32 magic again
 *	136	le16 checksum: the exclusive or of all words to the last partition is 0
 *	138	le16 partitions
 *	148	partitions of 16 bytes: le32 size, le32 offset; le32 fragment size, or in
 *		version 1 le16 high part of the offset and le16 of the size; u8 type, ...
 *
 * Offsets count from the beginning of the disk or, in old FreeBSD, of the slice.
 * Partition c tells which: it begins where the slice does (FreeBSD, NetBSD), or is the
 * whole disk (OpenBSD).  Where c begins at 0 and is no longer than the slice, the label
 * is one of old FreeBSD, or one of OpenBSD with a wrong c; the other partitions tell which.
 */
#include "common/disk/bsdlabel.h"

#include <stdlib.h>

#include "common/base/rd.h"

enum {
	LABEL_AT = 512,
	LABEL_BYTES = 512,
	SECSIZE_AT = 40,
	VERSION_AT = 114,
	MAGIC2_AT = 132,
	PARTS_AT = 148,
	PART_BYTES = 16,
	RAW_PART = 2, /* c */
	SECSIZE_MAX = 4096,
};

#define LABEL_MAGIC UINT32_C(0x82564557)

struct raw_part {
	uint64_t off, len; /* in the label's sectors */
	uint8_t type;
};

struct raw_label {
	uint32_t sector_bytes;
	unsigned version, nparts;
	struct raw_part part[BSDLABEL_PARTS_MAX];
};

static bool
sum_right(const uint8_t *block, unsigned nparts)
{
	struct rd r = rd_from(block, PARTS_AT + (size_t)nparts * PART_BYTES);
	uint16_t sum = 0;

	while (rd_left(&r) > 0)
		sum ^= rd_le16(&r);
	return sum == 0;
}

static void
decode_part(struct raw_part *p, struct rd *r, bool high_parts)
{
	p->len = rd_le32(r);
	p->off = rd_le32(r);
	uint64_t off_high = rd_le16(r), len_high = rd_le16(r);
	if (high_parts) {
		p->off |= off_high << 32;
		p->len |= len_high << 32;
	}
	p->type = rd_u8(r);
	rd_skip(r, 3);
}

/* Decode a label.  False: these bytes are no label. */
static bool
decode(struct raw_label *l, const uint8_t block[LABEL_BYTES])
{
	struct rd r = rd_from(block, LABEL_BYTES);

	if (rd_le32(&r) != LABEL_MAGIC)
		return false;
	rd_skip(&r, SECSIZE_AT - 4);
	l->sector_bytes = rd_le32(&r);
	rd_skip(&r, VERSION_AT - SECSIZE_AT - 4);
	l->version = rd_le16(&r);
	rd_skip(&r, MAGIC2_AT - VERSION_AT - 2);
	if (rd_le32(&r) != LABEL_MAGIC)
		return false;
	rd_skip(&r, 2);
	l->nparts = rd_le16(&r);
	rd_skip(&r, PARTS_AT - MAGIC2_AT - 8);
	if (l->nparts == 0 || l->nparts > BSDLABEL_PARTS_MAX ||
	    !sum_right(block, l->nparts))
		return false;
	for (unsigned i = 0; i < l->nparts; i++)
		decode_part(&l->part[i], &r, l->version == 1);
	return rd_ok(&r);
}

static int
read_raw(struct raw_label *l, struct disk *d, struct range slice, struct err *e)
{
	uint8_t block[LABEL_BYTES];

	if (slice.len * SECTOR_BYTES < LABEL_AT + LABEL_BYTES)
		return 0;
	if (disk_read(d, block, sizeof block, slice.off * SECTOR_BYTES + LABEL_AT, e) !=
	    0)
		return -1;
	return decode(l, block);
}

int
bsdlabel_found(struct disk *d, struct range slice, struct err *e)
{
	struct raw_label l;

	return read_raw(&l, d, slice, e);
}

/* Convert the label to sectors of 512 bytes, whatever sectors it counts in. */
static int
scale(struct raw_label *l, struct err *e)
{
	uint64_t factor = l->sector_bytes / SECTOR_BYTES;

	if (l->sector_bytes < SECTOR_BYTES || l->sector_bytes > SECSIZE_MAX ||
	    (l->sector_bytes & (l->sector_bytes - 1)) != 0)
		return err_set(e, ERR_FORMAT, "its disklabel has sectors of %u bytes",
		    (unsigned)l->sector_bytes);
	for (unsigned i = 0; i < l->nparts; i++) {
		l->part[i].off *= factor; /* below 2^48 */
		l->part[i].len *= factor;
	}
	return 0;
}

/* Do the partitions fit into the slice, when it begins at offset `base` of the label?  A
 * partition may lie outside, but not partly. */
static bool
fits(const struct raw_label *l, uint64_t base, struct range slice)
{
	uint64_t end = base + slice.len;

	for (unsigned i = 0; i < l->nparts; i++) {
		const struct raw_part *p = &l->part[i];
		if (i == RAW_PART || p->len == 0 || p->off >= end ||
		    p->off + p->len <= base)
			continue;
		if (p->off < base || p->off + p->len > end)
			return false;
	}
	return true;
}

/* For a label whose c begins at 0 and is no longer than the slice: do its offsets count from the
 * beginning of the disk?  Old FreeBSD counts from the slice.  OpenBSD counts from the disk, and
 * its c may be another disk's, or as long as the slice.  In a label of OpenBSD, partition a
 * begins where the slice does, all partitions fit, and the label is of version 1 or would not fit
 * if it counted from the slice. */
static bool
counts_from_disk(const struct raw_label *l, struct range slice)
{
	bool begins = l->part[0].len != 0 && l->part[0].off == slice.off;

	return begins && fits(l, slice.off, slice) &&
	       (l->version == 1 || !fits(l, 0, slice));
}

/* Find *base, the offset in the label at which the slice begins.  False: the label does not
 * tell.  A label that was moved with its slice still has the c of its old place. */
static bool
find_base(const struct raw_label *l, struct range slice, uint64_t *base)
{
	*base = 0;
	if (l->nparts <= RAW_PART || l->part[RAW_PART].len == 0)
		return false;
	const struct raw_part *c = &l->part[RAW_PART];
	if (c->off == 0 && c->len <= slice.len && counts_from_disk(l, slice)) {
		*base = slice.off;
		return true;
	}
	if (c->len <= slice.len) {
		*base = c->off;
		return c->off == 0 || c->off == slice.off || c->len == slice.len;
	}
	*base = slice.off;
	return c->off == 0 && c->len >= slice.off && c->len - slice.off >= slice.len;
}

static int
by_place(const void *a, const void *b)
{
	const struct bsdlabel_part *x = a, *y = b;

	return (x->sectors.off > y->sectors.off) - (x->sectors.off < y->sectors.off);
}

static int
check_overlap(const struct bsdlabel *l, struct err *e)
{
	for (unsigned i = 1; i < l->nparts; i++)
		if (l->parts[i].sectors.off < range_end(l->parts[i - 1].sectors))
			return err_set(e, ERR_FORMAT,
			    "partitions %c and %c of its disklabel overlap",
			    l->parts[i - 1].letter, l->parts[i].letter);
	return 0;
}

/* Add one partition, unless it is to be left out. */
static int
add_part(struct bsdlabel *l, const struct raw_part *p, unsigned i, uint64_t base,
    struct range slice, struct err *e)
{
	uint64_t end = p->off + p->len; /* both are below 2^51 */

	if (p->len == 0 || i == RAW_PART || end <= base || p->off >= base + slice.len ||
	    (p->off <= base && end >= base + slice.len))
		return 0;
	if (p->off < base || end > base + slice.len)
		return err_set(e, ERR_FORMAT,
		    "partition %c of its disklabel is partly outside of the slice",
		    'a' + (int)i);
	l->parts[l->nparts++] = (struct bsdlabel_part){ .letter = (char)('a' + i),
		.type = p->type,
		.sectors = { p->off - base, p->len } };
	return 0;
}

/* A single partition that holds all of the slice is not the raw one: it is added. */
static void
add_only_part(
    struct bsdlabel *l, const struct raw_label *raw, uint64_t base, struct range slice)
{
	for (unsigned i = 0; i < raw->nparts && l->nparts == 0; i++)
		if (i != RAW_PART && raw->part[i].off == base &&
		    raw->part[i].len == slice.len)
			l->parts[l->nparts++] = (struct bsdlabel_part){
				.letter = (char)('a' + i),
				.type = raw->part[i].type,
				.sectors = { 0, slice.len }
			};
}

int
bsdlabel_read(struct bsdlabel *l, struct disk *d, struct range slice, struct err *e)
{
	struct raw_label raw;
	uint64_t base;
	int found = read_raw(&raw, d, slice, e);

	*l = (struct bsdlabel){ 0 };
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(e, ERR_FORMAT, "it has no disklabel");
	l->version = raw.version;
	if (scale(&raw, e) != 0)
		return -1;
	if (!find_base(&raw, slice, &base))
		return err_set(e, ERR_UNSUPPORTED,
		    "its disklabel does not say what its offsets count from");
	for (unsigned i = 0; i < raw.nparts; i++)
		if (add_part(l, &raw.part[i], i, base, slice, e) != 0)
			return -1;
	add_only_part(l, &raw, base, slice);
	qsort(l->parts, l->nparts, sizeof l->parts[0], by_place);
	return check_overlap(l, e);
}
