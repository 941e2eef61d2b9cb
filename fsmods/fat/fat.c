/* fat.c: FAT12, FAT16 and FAT32. fsmods.c calls its functions, in the first thread of
 * imagezip.
 *
 * Clusters that the file allocation table calls free or bad are skipped. The boot
 * sectors, all copies of the table and the root directory of FAT12 and FAT16 lie in front
 * of the first cluster and are kept.
 * Nothing on the disk has a checksum, so the table must agree with whatever else there
 * is: its copies, FSInfo's count of free clusters, the backup of the boot sector, and
 * with itself: a cluster that another cluster leads to is neither free nor bad, and no
 * two clusters lead to the same cluster. Directories in the root directory must be where
 * the boot sector's parameters put them. If anything disagrees, or when the filesystem
 * was not cleanly unmounted, the scan fails, and the partition is stored completely.
 * Sources: Microsoft's "FAT: General Overview of On-Disk Format", version 1.03; for the
 * dirty bit in the boot sector, for tables of 32 bits on few clusters and for the counts
 * that are read in two ways, mkfs.fat(8) and the Linux kernel's
 * include/uapi/linux/msdos_fs.h; for BitLocker's mark, the format's documentation by
 * libbde.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/bits.h"
#include "fsmods/fat/fat_impl.h"
#include "fsmods/fsmod.h"

/* Bytes of the table that are read at once; they hold whole entries of 12, 16 and 32
 * bits. */
enum { PIECE_BYTES = 3 << 18 };

/* A boot sector must be followed by a table, which begins with the media byte and ones,
 * whatever its width: a master boot record may have kept the parameters of a former boot
 * sector, but no table follows it. */
static int
fat_probe(struct disk *d, struct range part, struct err *e)
{
	struct fat v = { .disk = d, .part = part };
	uint8_t first[3];

	if (part.len == 0)
		return 0;
	int rc = fat_read_boot(&v, e);
	if (rc != 1)
		return rc;
	uint64_t at = (uint64_t)v.boot.reserved_sectors * v.boot.sector_bytes;
	if (at + sizeof first > part.len * SECTOR_BYTES)
		return 0;
	if (fat_read(&v, first, sizeof first, at, e) != 0)
		return -1;
	return first[0] == v.boot.media && first[1] == 0xff && first[2] == 0xff;
}

static uint32_t
entry_mask(const struct fat *v)
{
	return v->width == 32 ? 0x0fffffff : (1u << v->width) - 1;
}

/* Check one of the first two entries, which stand for no cluster but for the media and
 * the state. */
static int
check_head(const struct fat *v, unsigned number, uint32_t value, struct err *e)
{
	uint32_t mask = entry_mask(v);

	if (number == 0 && value != (mask & ~0xffu) + v->boot.media)
		return err_set(e, ERR_FORMAT,
		    "its FAT does not begin as one of %u bits", v->width);
	if (number == 0 || v->width == 12)
		return 0;
	/* The topmost bit: cleanly unmounted; the next one: no errors. */
	if (!(value & (mask ^ mask >> 1)))
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (!(value & (mask >> 1 ^ mask >> 2)))
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	return 0;
}

static int
take_entry(const struct fat *v, struct fat_table *t, uint64_t cluster, uint32_t value,
    struct err *e)
{
	uint32_t mask = entry_mask(v);

	if (value == 0 || value == (mask & ~8u)) {
		bit_set(t->skip, cluster);
		t->free += value == 0;
		t->bad += value != 0;
		return 0;
	}
	if (value < FAT_FIRST_CLUSTER || value >= v->clusters + FAT_FIRST_CLUSTER) {
		if (value >= (mask & ~0xfu))
			return 0; /* the last of a chain, or reserved */
		return err_set(e, ERR_FORMAT,
		    "cluster %" PRIu64 " leads to cluster %" PRIu32 ", which "
		    "does not exist",
		    cluster, value);
	}
	if (bit_get(t->linked, value))
		return err_set(
		    e, ERR_FORMAT, "two clusters lead to cluster %" PRIu32, value);
	bit_set(t->linked, value);
	return 0;
}

static uint32_t
next_value(const struct fat *v, struct rd *r, uint64_t number)
{
	if (v->width == 32)
		return rd_le32(r) & entry_mask(v);
	if (v->width == 16)
		return rd_le16(r);
	/* Two entries of 12 bits share three bytes: the odd entry begins with the upper
	 * half of the middle byte. */
	if (number % 2 == 0)
		return rd_le16(r) & entry_mask(v);
	r->off--;
	return rd_le16(r) >> 4;
}

/* Take the entries in a piece of the table. *number: that of the first entry, and then of
 * the entry behind the last. */
static int
take_piece(const struct fat *v, struct fat_table *t, const uint8_t *piece, size_t len,
    uint64_t *number, struct err *e)
{
	struct rd r = rd_from(piece, len);
	uint64_t end = *number + len * 8 / v->width;

	if (end > v->clusters + FAT_FIRST_CLUSTER)
		end = v->clusters + FAT_FIRST_CLUSTER;
	for (; *number < end; ++*number) {
		uint32_t value = next_value(v, &r, *number);
		int rc = *number < FAT_FIRST_CLUSTER
		             ? check_head(v, (unsigned)*number, value, e)
		             : take_entry(v, t, *number, value, e);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Read a piece of the first copy of the table, and fail when another copy differs. */
static int
read_piece(const struct fat *v, uint8_t *piece, uint8_t *other, size_t len,
    uint64_t off, struct err *e)
{
	uint64_t at = (uint64_t)v->boot.reserved_sectors * v->boot.sector_bytes + off;

	if (fat_read(v, piece, len, at, e) != 0)
		return -1;
	for (unsigned i = 1; i < v->boot.fats; i++) {
		at += v->fat_sectors * v->boot.sector_bytes;
		if (fat_read(v, other, len, at, e) != 0)
			return -1;
		if (memcmp(piece, other, len) != 0)
			return err_set(e, ERR_FORMAT, "the copies of its FAT differ");
	}
	return 0;
}

static int
read_table(const struct fat *v, struct fat_table *t, struct err *e)
{
	uint64_t left = fat_table_bytes(v), off = 0, number = 0;
	size_t cap = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
	uint8_t *piece = malloc(cap), *other = malloc(cap);
	int rc = piece == NULL || other == NULL ? err_nomem(e, "a piece of the FAT")
	                                        : 0;

	while (rc == 0 && left > 0) {
		size_t len = left < cap ? (size_t)left : cap;
		rc = read_piece(v, piece, other, len, off, e);
		if (rc == 0)
			rc = take_piece(v, t, piece, len, &number, e);
		off += len;
		left -= len;
	}
	free(piece);
	free(other);
	return rc;
}

/* FSInfo must have the table's count of free clusters, with or without the bad clusters:
 * mkfs.fat counts clusters that it has marked bad as free. */
static int
check_free_count(const struct fat *v, const struct fat_table *t, struct err *e)
{
	uint32_t said;

	if (fat_read_free(v, &said, e) != 0)
		return -1;
	if (said != FAT_FREE_UNKNOWN && said != t->free && said != t->free + t->bad)
		return err_set(e, ERR_FORMAT,
		    "its FAT has %" PRIu64 " free clusters, its FSInfo says %" PRIu32,
		    t->free, said);
	return 0;
}

static int
report(const struct fat *v, const struct fat_table *t, struct skip_sink *sink,
    struct err *e)
{
	uint64_t unit = v->boot.sector_bytes / SECTOR_BYTES;
	uint64_t each = v->boot.cluster_sectors * unit;
	uint64_t end = v->clusters + FAT_FIRST_CLUSTER, to;

	for (uint64_t at = FAT_FIRST_CLUSTER; at < end; at = to) {
		at = bits_find(t->skip, at, end, true);
		to = bits_find(t->skip, at, end, false);
		uint64_t linked = bits_find(t->linked, at, to, true);
		if (linked < to)
			return err_set(e, ERR_FORMAT,
			    "cluster %" PRIu64 " is in use, and free or bad", linked);
		struct range r = { fat_cluster_at(v, at) / SECTOR_BYTES,
			(to - at) * each };
		if (r.len > 0 && skip_add(sink, r, e) != 0)
			return -1;
	}
	skip_fs_end(sink, v->total * unit);
	return 0;
}

static int
scan_table(const struct fat *v, struct skip_sink *sink, struct err *e)
{
	size_t map_bytes = (size_t)(v->clusters + FAT_FIRST_CLUSTER + 7) / 8;
	struct fat_table t = { calloc(1, map_bytes), calloc(1, map_bytes), 0, 0 };
	int rc = t.skip == NULL || t.linked == NULL
	             ? err_nomem(e, "maps of the clusters")
	             : 0;

	if (rc == 0)
		rc = read_table(v, &t, e);
	if (rc == 0)
		rc = fat_hot(v, e);
	if (rc == 0)
		rc = fat_check_root(v, &t, e);
	if (rc == 0)
		rc = check_free_count(v, &t, e);
	if (rc == 0)
		rc = report(v, &t, sink, e);
	free(t.skip);
	free(t.linked);
	return rc;
}

static int
fat_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct fat v = { .disk = d, .part = part, .sink = sink };
	int rc = fat_read_boot(&v, e);

	if (rc == 0)
		return err_set(
		    e, ERR_FORMAT, "it has no boot sector of a FAT filesystem");
	if (rc < 0 || fat_measure(&v, e) != 0)
		return -1;
	return scan_table(&v, sink, e);
}

const struct fsmod fsmod_fat = {
	.name = "fat",
	.title = "FAT filesystem",
	.probe = fat_probe,
	.scan = fat_scan,
};
