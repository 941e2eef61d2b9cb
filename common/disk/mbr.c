/* mbr.c: the MBR and the chain of EBRs with the logical partitions are read, checked, and
 * changed in place.  ptable.c calls this, in its caller's thread.
 *
 *	446	4 entries of 16 bytes: u8 flag, CHS[3], u8 type, CHS[3],
 *		u32 first sector, u32 number of sectors
 *	510	55 AA
 *
 * An EBR looks the same.  It has one partition, relative to the EBR, and a link
 * to the next EBR, relative to the extended partition.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/base/zero.h"
#include "common/disk/ptable_impl.h"

enum {
	ENTRIES = 4,
	EBR_ENTRIES = 2, /* the other entries of an EBR are undefined */
	ENTRIES_OFFSET = 446,
	ENTRY_BYTES = 16,
	TYPE_OFFSET = 4,
	SIGNATURE = 0xaa55,
	TYPE_LINUX = 0x83,
	TYPE_PROTECTIVE = 0xee,
};

struct entry {
	uint8_t flag, type;
	uint32_t first, count;
};

struct boot_record {
	struct entry entry[ENTRIES];
	bool signature;
};

static struct boot_record
boot_record_get(const void *sector)
{
	struct rd r = rd_from(sector, MBR_BYTES);
	struct boot_record b;

	rd_skip(&r, ENTRIES_OFFSET);
	for (int i = 0; i < ENTRIES; i++) {
		struct entry *n = &b.entry[i];
		n->flag = rd_u8(&r);
		rd_skip(&r, 3);
		n->type = rd_u8(&r);
		rd_skip(&r, 3);
		n->first = rd_le32(&r);
		n->count = rd_le32(&r);
	}
	b.signature = rd_le16(&r) == SIGNATURE && rd_ok(&r);
	return b;
}

static bool
is_typed(const struct entry *n)
{
	return n->type != 0 && n->count != 0;
}

/* An entry of type 0 that has a length is a partition, too, as for the kernel and
 * fdisk, which calls it "Empty". */
static bool
is_used(const struct entry *n)
{
	return n->count != 0;
}

/* Decode an MBR.  Where no entry has a type, none is used: the boot sectors of
 * filesystems have other things in their place. */
static struct boot_record
mbr_get(const void *sector)
{
	struct boot_record b = boot_record_get(sector);
	bool typed = false;

	for (int i = 0; i < ENTRIES; i++)
		typed |= is_typed(&b.entry[i]);
	for (int i = 0; i < ENTRIES && !typed; i++)
		b.entry[i].count = 0;
	return b;
}

static bool
is_extended(unsigned type)
{
	return type == 0x05 || type == 0x0f || type == 0x85;
}

static bool
is_flag(uint8_t flag)
{
	return flag == 0 || flag == 0x80;
}

enum ptable_kind
mbr_kind(const void *sector0, uint64_t disk_lbas)
{
	struct boot_record b = boot_record_get(sector0);
	unsigned bad_flags = 0, typed = 0, credible = 0;

	if (!b.signature)
		return PTABLE_NONE;
	for (int i = 0; i < ENTRIES; i++) {
		const struct entry *n = &b.entry[i];
		if (n->type == TYPE_PROTECTIVE && n->first == 1)
			return PTABLE_GPT;
		bad_flags += !is_flag(n->flag);
		typed += is_typed(n);
		credible += is_typed(n) && n->first >= 1 && n->first < disk_lbas;
	}
	if (bad_flags > 0 || (typed > 0 && credible == 0))
		return PTABLE_NONE;
	return PTABLE_MBR;
}

bool
ptable_begins(const void *sector0, uint64_t sectors)
{
	struct boot_record b = boot_record_get(sector0);
	enum ptable_kind kind = mbr_kind(sector0, sectors);
	unsigned typed = 0;

	for (int i = 0; i < ENTRIES; i++)
		typed += is_typed(&b.entry[i]);
	return kind == PTABLE_GPT || (kind == PTABLE_MBR && typed > 0);
}

struct walk {
	struct ptable *t;
	struct disk *d;
	uint64_t *entry_at; /* see mbr_read() */
	/* how many of t->parts are primary; logical partitions follow */
	unsigned nprimary;
	struct partition ext[ENTRIES]; /* extended partitions */
	struct range ext_lbas[ENTRIES];
	unsigned next; /* the number of extended partitions */
	unsigned npassed; /* logical partitions that have a number, and are passed over */
};

/* Pass over a partition of type 0 that cannot be what it says: it may be what a program
 * has left of a partition that was removed. */
static void
pass_over(struct walk *w, unsigned number, struct range r)
{
	snprintf(w->t->warning, sizeof w->t->warning,
	    "partition %u (of type 0, sectors %" PRIu64 " to %" PRIu64
	    ") is passed over: it does not lie inside the disk or its extended partition",
	    number, r.off, range_end(r) - 1);
}

/* Add a partition whose entry is the i-th of the boot record at `lba`. */
static int
add_partition(struct walk *w, unsigned number, const struct entry *n, struct range lbas,
    uint64_t lba, int i, struct err *e)
{
	struct ptable *t = w->t;

	if (t->nparts == PTABLE_PARTS_MAX)
		return err_set(e, ERR_UNSUPPORTED, "%s: more than %u partitions",
		    disk_name(w->d), t->nparts);
	if (w->entry_at != NULL)
		w->entry_at[t->nparts] = lba * t->sector_bytes + ENTRIES_OFFSET +
		                         (uint64_t)i * ENTRY_BYTES;
	t->parts[t->nparts++] = (struct partition){
		.number = number,
		.sectors = ptable_scale(t, lbas.off, lbas.len),
		.logical = number > ENTRIES,
		.empty = n->type == 0,
		.mbr_type = n->type,
	};
	return 0;
}

/* Add a primary partition of type 0.  It may begin with the table itself, and the
 * kernel cuts one off that is longer than the disk. */
static int
add_empty(struct walk *w, unsigned number, const struct entry *n, int i, struct err *e)
{
	struct range all = { n->first, n->count };
	struct range r = range_clip(all, 0, ptable_disk_lbas(w->t, w->d));

	if (r.len != 0)
		return add_partition(w, number, n, r, 0, i, e);
	pass_over(w, number, all);
	return 0;
}

static int
read_primaries(struct walk *w, const struct boot_record *b, struct err *e)
{
	uint64_t lbas = ptable_disk_lbas(w->t, w->d);
	struct partition all[ENTRIES]; /* all partitions, the extended ones among them */

	for (int i = 0; i < ENTRIES; i++) {
		const struct entry *n = &b->entry[i];
		struct range r = { n->first, n->count };
		unsigned number = (unsigned)i + 1;
		if (!is_used(n))
			continue;
		if (n->type == 0) {
			if (add_empty(w, number, n, i, e) != 0)
				return -1;
			continue;
		}
		if (r.off == 0)
			return err_set(e, ERR_FORMAT,
			    "%s: partition %u starts at sector 0, where the table is",
			    disk_name(w->d), number);
		if (!range_within(r, lbas))
			return err_set(e, ERR_FORMAT,
			    "%s: partition %u (sectors %" PRIu64 " to %" PRIu64
			    ") reaches beyond the end of the disk (%" PRIu64
			    " sectors)",
			    disk_name(w->d), number, r.off, range_end(r) - 1, lbas);
		if (is_extended(n->type)) {
			w->ext_lbas[w->next] = r;
			w->ext[w->next++] = (struct partition){
				.number = number,
				.sectors = ptable_scale(w->t, r.off, r.len),
			};
		} else if (add_partition(w, number, n, r, 0, i, e) != 0) {
			return -1;
		}
	}
	w->nprimary = w->t->nparts;
	memcpy(all, w->t->parts, w->nprimary * sizeof all[0]);
	memcpy(all + w->nprimary, w->ext, w->next * sizeof all[0]);
	return ptable_check_overlap(w->d, all, w->nprimary + w->next, e);
}

/* Add the i-th entry of the EBR at `lba` as a logical partition. */
static int
add_logical(struct walk *w, const struct entry *n, struct range ext, uint64_t lba,
    int i, struct err *e)
{
	struct range r = { lba + n->first, n->count };
	struct range in_ext = { r.off - ext.off, r.len };
	unsigned number = ENTRIES + 1 + w->t->nparts - w->nprimary + w->npassed;
	bool inside = n->first != 0 && range_within(in_ext, ext.len);

	if (!inside && n->type == 0) {
		pass_over(w, number, r);
		w->npassed++;
		return 0;
	}
	if (!inside)
		return err_set(e, ERR_FORMAT,
		    "%s: logical partition %u (sector %" PRIu64 ", %" PRIu64
		    " sectors) "
		    "is not inside the extended partition",
		    disk_name(w->d), number, r.off, r.len);
	return add_partition(w, number, n, r, lba, i, e);
}

/* Note that a sector belongs to the table. */
static int
own_add(struct walk *w, uint64_t lba, struct err *e)
{
	int rc = rangeset_add(&w->t->own, ptable_scale(w->t, lba, 1), e);

	rangeset_seal(&w->t->own);
	return rc;
}

/* Read one EBR: add its partition, and say where the next EBR is (0: there is none). */
static int
read_ebr(struct walk *w, struct range ext, uint64_t lba, uint64_t *next, struct err *e)
{
	uint8_t sector[MBR_BYTES];

	*next = 0;
	if (rangeset_contains(&w->t->own, ptable_scale(w->t, lba, 1).off))
		return err_set(e, ERR_FORMAT,
		    "%s: the chain of logical partitions loops at sector %" PRIu64,
		    disk_name(w->d), lba);
	if (own_add(w, lba, e) != 0 ||
	    disk_read(w->d, sector, sizeof sector, lba * w->t->sector_bytes, e) != 0)
		return -1;
	struct boot_record b = boot_record_get(sector);
	if (!b.signature && lba == ext.off && is_zero(sector, sizeof sector))
		return 0;
	bool ok = b.signature;
	for (int i = 0; i < EBR_ENTRIES; i++)
		ok = ok && is_flag(b.entry[i].flag);
	if (!ok)
		return err_set(e, ERR_FORMAT,
		    "%s: sector %" PRIu64 ": not a boot record of a logical partition",
		    disk_name(w->d), lba);
	for (int i = 0; i < EBR_ENTRIES; i++) {
		const struct entry *n = &b.entry[i];
		if (!is_used(n))
			continue;
		if (is_extended(n->type)) {
			if (n->first >= ext.len)
				return err_set(e, ERR_FORMAT,
				    "%s: sector %" PRIu64
				    ": the next logical partition "
				    "is outside the extended one",
				    disk_name(w->d), lba);
			*next = ext.off + n->first;
		} else if (add_logical(w, n, ext, lba, i, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int
read_chain(struct walk *w, struct range ext, struct err *e)
{
	uint64_t lba = ext.off;

	for (unsigned links = 0; lba != 0; links++) {
		if (links > PTABLE_PARTS_MAX)
			return err_set(e, ERR_UNSUPPORTED,
			    "%s: the chain of logical partitions is longer than %u",
			    disk_name(w->d), PTABLE_PARTS_MAX);
		if (read_ebr(w, ext, lba, &lba, e) != 0)
			return -1;
	}
	return 0;
}

/* Check that no partitions overlap, logical ones included, and that no EBR lies in a
 * partition.  Those of type 0 may do both. */
static int
check_ranges(struct walk *w, struct err *e)
{
	const struct rangeset *own = &w->t->own;

	if (ptable_check_overlap(w->d, w->t->parts, w->t->nparts, e) != 0)
		return -1;
	for (unsigned i = 0; i < w->t->nparts; i++) {
		const struct partition *p = &w->t->parts[i];
		size_t k = rangeset_find(own, p->sectors.off);
		if (!p->empty && k < rangeset_count(own) &&
		    rangeset_get(own, k).off < range_end(p->sectors))
			return err_set(e, ERR_FORMAT,
			    "%s: partition %u covers a sector of the partition table",
			    disk_name(w->d), p->number);
	}
	return 0;
}

int
mbr_read(struct ptable *t, struct disk *d, const void *sector0,
    uint64_t entry_at[PTABLE_PARTS_MAX], struct err *e)
{
	struct boot_record b = mbr_get(sector0);
	struct walk w = { .t = t, .d = d, .entry_at = entry_at };

	t->kind = PTABLE_MBR;
	t->usable = ptable_scale(t, 1, ptable_disk_lbas(t, d) - 1);
	if (own_add(&w, 0, e) != 0 || read_primaries(&w, &b, e) != 0)
		return -1;
	for (unsigned i = 0; i < w.next; i++)
		if (read_chain(&w, w.ext_lbas[i], e) != 0)
			return -1;
	return check_ranges(&w, e);
}

/* Would the table be right if a primary partition had a type? */
static bool
would_be_right(struct disk *d, const uint8_t sector0[MBR_BYTES], uint64_t entry_at)
{
	struct ptable trial = { .sector_bytes = disk_sector_bytes(d) };
	uint8_t changed[MBR_BYTES];
	struct err ignored;

	memcpy(changed, sector0, sizeof changed);
	changed[entry_at + TYPE_OFFSET] = TYPE_LINUX;
	int rc = mbr_read(&trial, d, changed, NULL, &ignored);
	ptable_free(&trial);
	return rc == 0;
}

/* Can an empty partition, whose entry is at this byte of the disk, have a type?  Others
 * must lie inside the disk and apart. */
static int
check_typable(const struct ptable *t, struct disk *d, const uint8_t sector0[MBR_BYTES],
    const struct partition *p, uint64_t entry_at, struct err *e)
{
	if (!p->empty || (p->logical ? !ptable_overlaps(t, p)
				     : would_be_right(d, sector0, entry_at)))
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: partition %u, of type 0, shares sectors with another one or reaches "
	    "beyond the disk, and gets no type",
	    disk_name(d), p->number);
}

int
mbr_set_type(struct disk *d, unsigned number, unsigned code, struct err *e)
{
	uint64_t entry_at[PTABLE_PARTS_MAX];
	uint8_t sector0[MBR_BYTES], type = (uint8_t)code;
	struct ptable t = { .sector_bytes = disk_sector_bytes(d) };
	int rc = -1;

	if (code < 1 || code > 255 || is_extended(code) || code == TYPE_PROTECTIVE)
		return err_set(e, ERR_USAGE,
		    "%s: %u is not a type for a partition of an MBR disk", disk_name(d),
		    code);
	if (disk_read(d, sector0, sizeof sector0, 0, e) == 0 &&
	    mbr_read(&t, d, sector0, entry_at, e) == 0) {
		const struct partition *p = ptable_find(&t, number);
		uint64_t at = p != NULL ? entry_at[p - t.parts] : 0;
		if (p != NULL && check_typable(&t, d, sector0, p, at, e) == 0)
			rc = disk_write(d, &type, 1, at + TYPE_OFFSET, e);
		else if (p == NULL)
			err_set(
			    e, ERR_ABSENT, "%s: no partition %u", disk_name(d), number);
	}
	ptable_free(&t);
	return rc;
}

int
mbr_remove(struct disk *d, unsigned number, struct err *e)
{
	static const uint8_t unused[16];
	uint64_t entry_at[PTABLE_PARTS_MAX];
	uint8_t sector0[MBR_BYTES];
	struct ptable t = { .sector_bytes = disk_sector_bytes(d) };
	int rc = -1;

	if (disk_read(d, sector0, sizeof sector0, 0, e) == 0 &&
	    mbr_read(&t, d, sector0, entry_at, e) == 0) {
		const struct partition *p = ptable_find(&t, number);
		if (p == NULL)
			err_set(
			    e, ERR_ABSENT, "%s: no partition %u", disk_name(d), number);
		else if (p->logical)
			err_set(e, ERR_UNSUPPORTED,
			    "%s: partition %u is a logical partition", disk_name(d),
			    number);
		else
			rc = disk_write(
			    d, unused, sizeof unused, entry_at[p - t.parts], e);
	}
	ptable_free(&t);
	return rc;
}

/* Convert an entry to the sectors of the disk; false when its borders are not between such
 * sectors. */
static bool
entry_rescale(struct entry *n, unsigned from, unsigned to)
{
	uint64_t first = (uint64_t)n->first * from, count = (uint64_t)n->count * from;

	n->first = (uint32_t)(first / to);
	n->count = (uint32_t)(count / to);
	return first % to == 0 && count % to == 0 && first / to <= UINT32_MAX &&
	       count / to <= UINT32_MAX;
}

/* Let an entry reach to the end of the disk, at a multiple of 1 MiB, as far as 32 bits go. */
static void
entry_grow(struct entry *n, unsigned number, unsigned lba_bytes, uint64_t disk_lbas,
    struct ptable_change *done)
{
	uint64_t align = (1 << 20) / lba_bytes, end = disk_lbas / align * align;
	uint64_t factor = lba_bytes / SECTOR_BYTES;

	if (end > UINT32_MAX)
		end = UINT32_MAX / align * align;
	if (end <= (uint64_t)n->first + n->count)
		return;
	done->grown = number;
	done->was_sectors = n->count * factor;
	n->count = (uint32_t)(end - n->first);
	done->is_sectors = n->count * factor;
}

static void
entry_put(uint8_t *sector0, unsigned i, const struct entry *n)
{
	struct wr w = wr_to(sector0 + ENTRIES_OFFSET + i * ENTRY_BYTES + 8, 8);

	wr_le32(&w, n->first);
	wr_le32(&w, n->count);
}

/* Refuse to grow a partition that shares sectors with another one, which is of type 0:
 * what the other one has behind it would be grown over. */
static int
check_apart(const struct boot_record *b, unsigned last, const char *name, struct err *e)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct entry *n = &b->entry[i];
		if (i != last && is_used(n) &&
		    (uint64_t)n->first + n->count > b->entry[last].first)
			return err_set(e, ERR_UNSUPPORTED,
			    "%s: partition %u shares sectors with the last one, number "
			    "%u, which cannot be grown",
			    name, i + 1, last + 1);
	}
	return 0;
}

int
mbr_fit(struct disk *d, unsigned from_bytes, bool grow, struct ptable_change *done,
    struct err *e)
{
	unsigned to = disk_kind(d) == DISK_FILE ? from_bytes : disk_sector_bytes(d),
		 last = 0;
	uint8_t sector0[MBR_BYTES];

	if (disk_read(d, sector0, sizeof sector0, 0, e) != 0)
		return -1;
	struct boot_record b = mbr_get(sector0);
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct entry *n = &b.entry[i];
		if (!is_used(n))
			continue;
		if (from_bytes != to &&
		    (is_extended(n->type) || !entry_rescale(n, from_bytes, to)))
			return err_set(e, ERR_UNSUPPORTED, "%s: partition %u is %s",
			    disk_name(d), i + 1,
			    is_extended(n->type)
				? "extended: logical partitions are not converted"
				: "not made of whole sectors of the disk");
		if (!is_used(&b.entry[last]) || n->first >= b.entry[last].first)
			last = i;
	}
	if (grow && is_extended(b.entry[last].type))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the last partition is a logical partition, which cannot be "
		    "grown",
		    disk_name(d));
	if (grow && is_used(&b.entry[last]) &&
	    check_apart(&b, last, disk_name(d), e) != 0)
		return -1;
	if (grow && is_used(&b.entry[last]))
		entry_grow(&b.entry[last], last + 1, to, disk_size_bytes(d) / to, done);
	done->moved = from_bytes != to;
	if (!done->moved && done->grown == 0)
		return 0;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (is_used(&b.entry[i]))
			entry_put(sector0, i, &b.entry[i]);
	return disk_write(d, sector0, sizeof sector0, 0, e);
}

int
mbr_cut(struct disk *d, const struct ptable *t, unsigned number, uint64_t part_sectors,
    uint64_t *disk_sectors, struct err *e)
{
	uint8_t sector0[MBR_BYTES];
	uint64_t end = 1, factor = t->sector_bytes / SECTOR_BYTES, unit = 4096 / SECTOR_BYTES;

	if (disk_read(d, sector0, sizeof sector0, 0, e) != 0)
		return -1;
	struct boot_record b = mbr_get(sector0);
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct entry *n = &b.entry[i];
		if (!is_used(n))
			continue;
		if (i + 1 == number) {
			n->count = (uint32_t)(part_sectors / factor);
			entry_put(sector0, i, n);
		}
		if ((uint64_t)n->first + n->count > end)
			end = (uint64_t)n->first + n->count;
	}
	*disk_sectors = (end * factor + unit - 1) / unit * unit;
	return number == 0 ? 0 : disk_write(d, sector0, sizeof sector0, 0, e);
}
