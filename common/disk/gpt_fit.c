/* gpt_fit.c: a GPT that was made for a smaller disk, or for a disk with other sectors, is fitted
 * to the disk that it is on.  ptable.c calls this, in its caller's thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/field.h"
#include "common/base/zero.h"
#include "common/disk/gpt_impl.h"

enum {
	ENTRY_FIRST = 32,
	ENTRY_LAST = 40,
	ALIGN_BYTES = 1 << 20,
	BEHIND_HEADER_LBA = 2,
	/* The MBR has four entries; each has its type at byte 4 and its sectors at byte 12. */
	MBR_ENTRIES_AT = 446,
	MBR_ENTRY_BYTES = 16,
	MBR_ENTRIES = 4,
	MBR_TYPE = 4,
	MBR_FIRST = 8,
	MBR_COUNT = 12,
	PROTECTIVE = 0xee,
};

/* The new table, before it is written. */
struct fitted {
	unsigned lba_bytes, from_bytes; /* of a sector: in the new table, in the old */
	uint64_t disk_lbas, array_lbas, first_usable, last_usable;
	uint64_t main_lba; /* where the array of the primary begins */
	const struct gpt_copy *from;
	uint8_t *array; /* owned */
};

/* Refuse an array of the primary that would have to move, perhaps over a boot loader: one behind
 * the partitions, and for other sectors one that is not behind the header.  The header alone
 * tells. */
static int
check_place(const struct fitted *f, unsigned from_bytes, const char *name, struct err *e)
{
	const struct gpt_copy *from = f->from;

	if (from->array_lba > from->first_usable)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the array of its primary GPT lies behind the partitions", name);
	if (from->array_lba != BEHIND_HEADER_LBA && from_bytes != f->lba_bytes)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the array of its GPT is not behind the header, and is not converted",
		    name);
	return 0;
}

/* Decide where the primary's array lies, and where partitions may begin.  Both stay where they are:
 * boot loaders of small boards lie between the header and the array (sgdisk --move-main-table), or
 * between the array and the first usable sector.  For larger sectors the array ends later. */
static void
place_main(struct fitted *f, unsigned from_bytes)
{
	const struct gpt_copy *from = f->from;

	f->array_lbas = (gpt_array_bytes(from) + f->lba_bytes - 1) / f->lba_bytes;
	f->main_lba = from->array_lba;
	f->first_usable = (from->first_usable * from_bytes + f->lba_bytes - 1) / f->lba_bytes;
	if (f->first_usable < f->main_lba + f->array_lbas)
		f->first_usable = f->main_lba + f->array_lbas;
}

/* Is there a partition in an entry that was not converted yet?  Entries outside of the
 * usable sectors are those that are passed over, since the copy is whole. */
static bool
is_used(const struct fitted *f, const uint8_t *entry)
{
	uint64_t first = get_le64(entry + ENTRY_FIRST),
		 last = get_le64(entry + ENTRY_LAST);

	return !is_zero(entry, 16) && first <= last &&
	       last <= f->from->last_usable;
}

/* Convert a range from LBAs of one size to LBAs of another; false when the borders do not
 * fit. */
static bool
rescale(uint64_t *first, uint64_t *last, unsigned from, unsigned to)
{
	uint64_t start = *first * from, end = (*last + 1) * from;

	*first = start / to;
	*last = end / to - 1;
	return start % to == 0 && end % to == 0;
}

/* Convert all entries to the new unit, but those that are passed over.  *last_entry is
 * the entry of the last partition. */
static int
convert_entries(struct fitted *f, unsigned from_bytes, uint8_t **last_entry,
    const char *name, struct err *e)
{
	uint64_t last_end = 0;

	*last_entry = NULL;
	for (uint32_t i = 0; i < f->from->nentries; i++) {
		uint8_t *entry = f->array + (size_t)i * f->from->entry_bytes;
		uint64_t first = get_le64(entry + ENTRY_FIRST),
			 last = get_le64(entry + ENTRY_LAST);
		if (!is_used(f, entry))
			continue;
		if (!rescale(&first, &last, from_bytes, f->lba_bytes))
			return err_set(e, ERR_UNSUPPORTED,
			    "%s: partition %u does not begin and end "
			    "with a sector of %u bytes",
			    name, i + 1, f->lba_bytes);
		if (first < f->first_usable || last > f->last_usable)
			return err_set(e, ERR_UNSUPPORTED,
			    "%s: partition %u lies where the table has "
			    "to be",
			    name, i + 1);
		put_le64(entry + ENTRY_FIRST, first);
		put_le64(entry + ENTRY_LAST, last);
		if (last >= last_end) {
			last_end = last;
			*last_entry = entry;
		}
	}
	return 0;
}

/* Let the last partition reach to the end, at a multiple of 1 MiB. */
static void
grow_last(const struct fitted *f, uint8_t *entry, struct ptable_change *done)
{
	uint64_t align = ALIGN_BYTES / f->lba_bytes;
	uint64_t end = (f->last_usable + 1) / align * align;

	if (entry == NULL || end == 0 || end - 1 <= get_le64(entry + ENTRY_LAST))
		return;
	uint64_t factor = f->lba_bytes / SECTOR_BYTES,
		 first = get_le64(entry + ENTRY_FIRST);
	done->grown = (unsigned)((size_t)(entry - f->array) / f->from->entry_bytes) + 1;
	done->was_sectors = (get_le64(entry + ENTRY_LAST) + 1 - first) * factor;
	put_le64(entry + ENTRY_LAST, end - 1);
	done->is_sectors = (end - first) * factor;
}

/* Write one copy.  Its header names its own LBA and that of the other copy. */
static int
write_copy(const struct fitted *f, struct disk *d, bool backup, struct err *e)
{
	const struct gpt_copy *from = f->from;
	uint64_t last = f->disk_lbas - 1;
	struct gpt_copy c = { .header_bytes = from->header_bytes };
	size_t n = gpt_array_bytes(from);

	memcpy(c.sector, from->sector, from->header_bytes);
	struct wr w = wr_to(c.sector + 24, 32);
	wr_le64(&w, backup ? last : 1);
	wr_le64(&w, backup ? 1 : last);
	wr_le64(&w, f->first_usable);
	wr_le64(&w, f->last_usable);
	uint64_t array_lba = backup ? last - f->array_lbas : f->main_lba;
	put_le64(c.sector + 72, array_lba);
	w = wr_to(c.sector + ARRAY_CRC, 4);
	wr_le32(&w, (uint32_t)crc32(0, f->array, (uInt)n));
	w = wr_to(c.sector + HEADER_CRC, 4);
	wr_le32(&w, gpt_header_crc(&c));
	if (disk_write(d, f->array, n, array_lba * f->lba_bytes, e) != 0 ||
	    disk_write(
		d, c.sector, f->lba_bytes, (backup ? last : 1) * f->lba_bytes, e) != 0)
		return -1;
	return disk_sync(d, e);
}

/* Find where the first LBA of a partition (ENTRY_FIRST), or the LBA behind its last one
 * (ENTRY_LAST), is now. */
static bool
border_of(const struct fitted *f, uint64_t lba, size_t field, uint64_t *now)
{
	uint64_t more = field == ENTRY_LAST ? 1 : 0;

	for (uint32_t i = 0; i < f->from->nentries; i++) {
		size_t at = (size_t)i * f->from->entry_bytes;
		const uint8_t *was = f->from->array + at, *is = f->array + at;
		if (!is_used(f, was) || get_le64(was + field) + more != lba)
			continue;
		*now = get_le64(is + field) + more;
		return true;
	}
	return false;
}

/* Where the border at this LBA of the old table is now: that of a partition goes with it.
 * field: as what it is looked for first, since one partition may begin where another
 * ends. */
static uint64_t
border(const struct fitted *f, uint64_t lba, size_t field)
{
	uint64_t now = lba * f->from_bytes / f->lba_bytes;

	if (!border_of(f, lba, field, &now))
		border_of(f, lba, field == ENTRY_FIRST ? ENTRY_LAST : ENTRY_FIRST, &now);
	return now;
}

/* The first LBA from this one on that no partition has. */
static uint64_t
behind_partition(const struct fitted *f, uint64_t lba)
{
	for (uint32_t i = 0; i < f->from->nentries; i++) {
		size_t at = (size_t)i * f->from->entry_bytes;
		const uint8_t *was = f->from->array + at, *is = f->array + at;
		if (is_used(f, was) && get_le64(is + ENTRY_FIRST) <= lba &&
		    get_le64(is + ENTRY_LAST) >= lba)
			lba = get_le64(is + ENTRY_LAST) + 1;
	}
	return lba;
}

/* Keep an entry of a hybrid MBR in step: a partition goes with that of the GPT.  A
 * protective entry ends where it did, and one behind the partitions reaches from there to
 * the disk's end. */
static void
keep_in_step(const struct fitted *f, uint8_t *entry)
{
	uint64_t first = get_le32(entry + MBR_FIRST),
		 end = first + get_le32(entry + MBR_COUNT);
	bool table = entry[MBR_TYPE] == PROTECTIVE, last = table && first > 1;
	uint64_t now = last ? behind_partition(f, border(f, first, ENTRY_LAST))
	                    : border(f, first, ENTRY_FIRST);
	/* The one in front of the partitions ends where the first of them begins. */
	uint64_t to = last && end > f->from->alternate
	                  ? f->disk_lbas
	                  : border(f, end, table && !last ? ENTRY_FIRST : ENTRY_LAST);

	if (table && first == 1)
		now = 1;
	if (now >= f->disk_lbas)
		now = f->last_usable + 1;
	if (to > f->disk_lbas)
		to = f->disk_lbas;
	if (now > UINT32_MAX || to <= now) {
		memset(entry, 0, MBR_ENTRY_BYTES);
		return;
	}
	struct wr w = wr_to(entry + MBR_FIRST, 8);
	wr_le32(&w, (uint32_t)now);
	wr_le32(&w, to - now < UINT32_MAX ? (uint32_t)(to - now) : UINT32_MAX);
}

/* The protective partition covers the disk, as far as 32 bits go.  Where the MBR has
 * other partitions, too (a hybrid one), the protective one covers only the table, and the
 * others are kept in step. */
static int
write_pmbr(const struct fitted *f, struct disk *d, struct err *e)
{
	uint64_t n = f->disk_lbas - 1;
	uint8_t sector0[SECTOR_BYTES], *used[MBR_ENTRIES];
	unsigned nused = 0;

	if (disk_read(d, sector0, sizeof sector0, 0, e) != 0)
		return -1;
	for (unsigned i = 0; i < MBR_ENTRIES; i++) {
		uint8_t *entry = sector0 + MBR_ENTRIES_AT + (size_t)i * MBR_ENTRY_BYTES;
		if (entry[MBR_TYPE] != 0)
			used[nused++] = entry;
	}
	for (unsigned i = 0; i < nused && nused > 1; i++)
		keep_in_step(f, used[i]);
	if (nused == 1) {
		struct wr w = wr_to(used[0] + MBR_COUNT, 4);
		wr_le32(&w, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
	}
	return disk_write(d, sector0, sizeof sector0, 0, e);
}

/* Wipe the old backup header, so that other programs do not find it.  Its place is what the primary
 * header says, and a backup is nowhere but behind the usable sectors. */
static int
drop_old_backup(
    const struct fitted *f, struct disk *d, unsigned from_bytes, struct err *e)
{
	static const uint8_t zeros[sizeof gpt_magic];
	uint64_t lba = f->from->alternate, at = lba * from_bytes;
	uint8_t found[sizeof gpt_magic];

	if (lba <= f->from->last_usable || lba >= disk_size_bytes(d) / from_bytes ||
	    at == (f->disk_lbas - 1) * f->lba_bytes)
		return 0;
	if (disk_read(d, found, sizeof found, at, e) != 0)
		return -1;
	return memcmp(found, gpt_magic, sizeof found) != 0
	           ? 0
	           : disk_write(d, zeros, sizeof zeros, at, e);
}

static int
fit(struct fitted *f, struct disk *d, unsigned from_bytes, bool grow,
    struct ptable_change *done, struct err *e)
{
	size_t n = gpt_array_bytes(f->from);
	uint8_t *last;

	f->disk_lbas = disk_size_bytes(d) / f->lba_bytes;
	place_main(f, from_bytes);
	if (f->disk_lbas < f->first_usable + f->array_lbas + 2)
		return err_set(
		    e, ERR_UNSUPPORTED, "%s: too small for its GPT", disk_name(d));
	if (f->from->header_bytes > f->lba_bytes)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the header of its GPT has %u bytes, more than a sector of %u",
		    disk_name(d), (unsigned)f->from->header_bytes, f->lba_bytes);
	f->last_usable = f->disk_lbas - 2 - f->array_lbas;
	f->array = malloc(n);
	if (f->array == NULL)
		return err_nomem(e, "GPT");
	memcpy(f->array, f->from->array, n);
	if (convert_entries(f, from_bytes, &last, disk_name(d), e) != 0)
		return -1;
	if (grow)
		grow_last(f, last, done);
	done->moved = f->from->alternate != f->disk_lbas - 1 ||
	              from_bytes != f->lba_bytes;
	if (!done->moved && done->grown == 0)
		return 0;
	/* The backup is written first, so that at any time one copy on the disk is whole. */
	return write_copy(f, d, true, e) != 0 || write_copy(f, d, false, e) != 0 ||
	               write_pmbr(f, d, e) != 0 ||
	               drop_old_backup(f, d, from_bytes, e) != 0
	           ? -1
	           : 0;
}

int
gpt_fit(struct disk *d, unsigned from_bytes, bool grow, struct ptable_change *done,
    struct err *e)
{
	struct ptable t = { .sector_bytes = from_bytes };
	struct fitted f = { .lba_bytes = disk_sector_bytes(d), .from_bytes = from_bytes };
	struct gpt *g = gpt_load(&t, d, e);

	if (g == NULL)
		return -1;
	f.from = &g->primary;
	/* A file has no sectors of its own: it keeps those of its table. */
	if (disk_kind(d) == DISK_FILE)
		f.lba_bytes = from_bytes;
	/* On trial, only the beginning of the disk is known, and the array may lie behind it. */
	int rc = f.from->sound ? check_place(&f, from_bytes, disk_name(d), e) : 0;
	if (rc == 0 && !f.from->whole)
		rc = err_set(e, ERR_FORMAT, "%s: the primary GPT is damaged: %.200s",
		    disk_name(d), f.from->why.text);
	if (rc == 0)
		rc = fit(&f, d, from_bytes, grow, done, e);
	free(f.array);
	gpt_free(g);
	return rc;
}

/* Shorten an entry, and find the end of the last partition in LBAs. */
static uint64_t
shorten(struct fitted *f, unsigned number, uint64_t part_lbas)
{
	uint64_t end = f->first_usable;

	for (uint32_t i = 0; i < f->from->nentries; i++) {
		uint8_t *entry = f->array + (size_t)i * f->from->entry_bytes;
		if (!is_used(f, entry))
			continue;
		if (i + 1 == number)
			put_le64(entry + ENTRY_LAST,
			    get_le64(entry + ENTRY_FIRST) + part_lbas - 1);
		if (get_le64(entry + ENTRY_LAST) + 1 > end)
			end = get_le64(entry + ENTRY_LAST) + 1;
	}
	return end;
}

/* Take over the array, with partition `number` shortened.  *end: the LBA behind the last partition
 * and a backup. */
static int
take_array(struct fitted *f, const char *name, unsigned number, uint64_t part_lbas,
    uint64_t *end, struct err *e)
{
	size_t n = gpt_array_bytes(f->from);

	if (check_place(f, f->lba_bytes, name, e) != 0)
		return -1;
	place_main(f, f->lba_bytes);
	f->array = malloc(n);
	if (f->array == NULL)
		return err_nomem(e, "GPT");
	memcpy(f->array, f->from->array, n);
	*end = shorten(f, number, part_lbas) + f->array_lbas + 1;
	return 0;
}

/* Write the table for a disk of f->disk_lbas. */
static int
write_table(struct fitted *f, struct disk *d, struct err *e)
{
	f->last_usable = f->disk_lbas - 2 - f->array_lbas;
	return write_copy(f, d, true, e) != 0 || write_copy(f, d, false, e) != 0
	           ? -1
	           : write_pmbr(f, d, e);
}

/* The smallest number of LBAs that ends at a multiple of 4 KiB. */
static uint64_t
smallest(const struct fitted *f, struct disk *d, uint64_t end)
{
	uint64_t unit = 4096 / f->lba_bytes, lbas = (end + unit - 1) / unit * unit;
	uint64_t most = disk_size_bytes(d) / f->lba_bytes;

	return lbas < most ? lbas : most;
}

/* Write the table for a disk of f->disk_lbas; 0: for the smallest one. */
static int
cut(struct fitted *f, struct disk *d, unsigned number, uint64_t part_lbas, struct err *e)
{
	uint64_t end = 0;

	if (take_array(f, disk_name(d), number, part_lbas, &end, e) != 0)
		return -1;
	bool any = f->disk_lbas == 0;
	if (any)
		f->disk_lbas = smallest(f, d, end);
	if (end <= f->disk_lbas)
		return write_table(f, d, e);
	/* A partition may end where the backup belongs: then the disk stays as it is. */
	return any ? 0
	           : err_set(e, ERR_UNSUPPORTED,
			 "%s: a partition lies where the backup of the GPT would have to be",
			 disk_name(d));
}

static int
read_and_cut(struct fitted *f, struct disk *d, const struct ptable *t, unsigned number,
    uint64_t part_sectors, struct err *e)
{
	struct gpt *g = gpt_load(t, d, e);
	int rc = -1;

	if (g == NULL)
		return -1;
	f->from = &g->primary;
	if (!g->primary.whole)
		err_set(e, ERR_UNSUPPORTED, "%s: the primary GPT is damaged: %.200s",
		    disk_name(d), g->primary.why.text);
	else
		rc = cut(f, d, number, part_sectors / (t->sector_bytes / SECTOR_BYTES), e);
	free(f->array);
	gpt_free(g);
	return rc;
}

int
gpt_cut(struct disk *d, const struct ptable *t, unsigned number, uint64_t part_sectors,
    uint64_t *disk_sectors, struct err *e)
{
	struct fitted f = { .lba_bytes = t->sector_bytes, .from_bytes = t->sector_bytes };
	int rc = read_and_cut(&f, d, t, number, part_sectors, e);

	*disk_sectors = f.disk_lbas * (t->sector_bytes / SECTOR_BYTES);
	return rc;
}

int
gpt_end_at(struct disk *d, const struct ptable *t, uint64_t disk_sectors, struct err *e)
{
	struct fitted f = { .lba_bytes = t->sector_bytes,
		.from_bytes = t->sector_bytes,
		.disk_lbas = disk_sectors / (t->sector_bytes / SECTOR_BYTES) };

	return read_and_cut(&f, d, t, 0, 0, e);
}

/* Give each entry its place. */
static int
place_entries(struct fitted *f, const struct ptable_place *p, unsigned n, struct err *e)
{
	struct range r;

	for (uint32_t i = 0; i < f->from->nentries; i++) {
		uint8_t *entry = f->array + (size_t)i * f->from->entry_bytes;
		if (!is_used(f, entry))
			continue;
		if (ptable_place_lbas(p, n, i + 1, f->lba_bytes, &r, e) != 0)
			return -1;
		if (r.off < f->first_usable || !range_within(r, f->last_usable + 1))
			return err_set(e, ERR_UNSUPPORTED,
			    "partition %u would lie where the GPT has to be", i + 1);
		put_le64(entry + ENTRY_FIRST, r.off);
		put_le64(entry + ENTRY_LAST, range_end(r) - 1);
	}
	return 0;
}

/* Make the table for the disk, before it is written. */
static int
make_placed(struct fitted *f, struct disk *to, const struct ptable_place *p, unsigned n,
    struct err *e)
{
	size_t bytes = gpt_array_bytes(f->from);

	if (check_place(f, f->from_bytes, disk_name(to), e) != 0)
		return -1;
	place_main(f, f->from_bytes);
	f->disk_lbas = disk_size_bytes(to) / f->lba_bytes;
	if (f->disk_lbas < f->first_usable + f->array_lbas + 2 ||
	    f->from->header_bytes > f->lba_bytes)
		return err_set(e, ERR_UNSUPPORTED, "%s: there is no room for the GPT",
		    disk_name(to));
	f->last_usable = f->disk_lbas - 2 - f->array_lbas;
	f->array = malloc(bytes);
	if (f->array == NULL)
		return err_nomem(e, "GPT");
	memcpy(f->array, f->from->array, bytes);
	return place_entries(f, p, n, e);
}

static int
write_placed(const struct fitted *f, struct disk *to, struct disk *from, struct err *e)
{
	uint8_t sector0[SECTOR_BYTES];

	return disk_read(from, sector0, sizeof sector0, 0, e) != 0 ||
	               write_copy(f, to, true, e) != 0 || write_copy(f, to, false, e) != 0 ||
	               disk_write(to, sector0, sizeof sector0, 0, e) != 0
	           ? -1
	           : write_pmbr(f, to, e);
}

int
gpt_place(struct disk *to, struct disk *from, const struct ptable *t,
    const struct ptable_place *p, unsigned n, struct err *e)
{
	struct fitted f = { .lba_bytes = disk_kind(to) == DISK_BLOCK ? disk_sector_bytes(to)
		                                                     : t->sector_bytes,
		.from_bytes = t->sector_bytes };
	struct gpt *g = gpt_load(t, from, e);

	if (g == NULL)
		return -1;
	f.from = &g->primary;
	int rc = f.from->whole ? make_placed(&f, to, p, n, e)
	                       : err_set(e, ERR_UNSUPPORTED,
				     "the image's primary GPT is damaged: %.200s",
				     f.from->why.text);
	if (rc == 0)
		rc = write_placed(&f, to, from, e);
	free(f.array);
	gpt_free(g);
	return rc;
}
