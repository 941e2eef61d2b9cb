/* exfat.c: exFAT.
 *
 * Skipped are the clusters that the allocation bitmap calls free, and those
 * that the FAT calls bad.  The bitmap is found through the root directory.  No
 * checksum protects it, so it must call used what others say is: itself, the
 * case table, the root directory, and the files of the first directories found,
 * which are all there are on most disks.
 * The FAT's entry of a cluster means nothing when its file has no chain there,
 * so a cluster is bad only when no file has it; when there are bad ones, every
 * directory is read to know.
 * TexFAT (two FATs, two bitmaps) is kept whole.
 * Source: Microsoft's "exFAT file system specification", revision 1.00.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/bits.h"
#include "fsmods/fsmod.h"

enum {
	BOOT_BYTES = 512,
	NAME_AT = 3,
	ZEROS_AT = 11,
	GEOMETRY_AT = 64,
	FLAGS_AT = 106,
	PERCENT_AT = 112,
	SIGNATURE_AT = 510,
	BOOT_SECTORS = 12, /* the last one is the checksum of the others */
	BOTH_BOOT_SECTORS = 24,

	SECTOR_SHIFT_MIN = 9,
	SECTOR_SHIFT_MAX = 12,
	CLUSTER_SHIFT_MAX = 25, /* bytes */
	REVISION = 0x100,

	FLAG_SECOND_FAT = 1,
	FLAG_DIRTY = 2,
	FLAG_MEDIA_FAILURE = 4,
	FLAG_CLEAR_TO_ZERO = 8, /* means nothing */

	FIRST_CLUSTER = 2,
	FAT_ENTRY_BYTES = 4,
	ENTRY_BYTES = 32, /* of a directory */
	DIR_BYTES_MAX = 256 << 20,
	CASE_TABLE_BYTES_MAX = 65536 * 2,
	BAD_RUNS_MAX = 1 << 20,
	PIECE_BYTES = 1 << 20,
	PIECE_ENTRIES = PIECE_BYTES / FAT_ENTRY_BYTES,
	WINDOW_BYTES = 4096,
	DIR_PIECE_BYTES = 32 << 10,
	DIRS_CHECKED = 1000, /* some seconds, where each is a seek */
};

static const uint32_t CLUSTERS_MAX = UINT32_MAX - 10;
static const uint32_t CLUSTER_BAD = 0xfffffff7;
static const uint32_t CHAIN_END = UINT32_MAX;

enum entry_type {
	ENTRY_END = 0,
	ENTRY_BITMAP = 0x81,
	ENTRY_CASE_TABLE = 0x82,
	ENTRY_LABEL = 0x83,
	ENTRY_FILE = 0x85,
	ENTRY_GUID = 0xa0,
	ENTRY_STREAM = 0xc0,
	ENTRY_IN_USE = 0x80,
	ENTRY_SECONDARY = 0x40,
	ENTRY_BENIGN = 0x20,
};

enum {
	ATTR_AT = 4, /* of a file entry */
	ATTR_DIRECTORY = 0x10,
	SECONDARY_ALLOCATION = 1,
	SECONDARY_CONTIGUOUS = 2, /* no chain in the FAT */
	BITMAP_SECOND = 1,
};

struct boot {
	uint64_t total; /* all in sectors of the filesystem */
	uint32_t fat_at, fat_sectors;
	uint32_t heap_at, clusters;
	uint32_t root; /* cluster */
	uint32_t revision, flags;
	unsigned sector_shift, cluster_shift;
	unsigned fats;
};

struct contents {
	uint32_t first; /* cluster; 0: none */
	uint64_t bytes;
};

/* A directory that is still to be read. */
struct pending {
	uint32_t first;
	bool contiguous;
	uint64_t bytes;
};

/* Clusters are counted from 0 in the maps: bit 0 is cluster 2. */
struct volume {
	struct disk *disk;
	struct range part;
	struct boot boot;
	uint64_t cluster_bytes;
	uint8_t *claimed;  /* somebody has been seen to have it */
	bool *used_pieces; /* of the FAT: an allocated cluster is in it */
	struct contents bitmap, case_table;
	bool strangers;       /* entries whose clusters are not known here */
	struct pending *dirs; /* a stack */
	size_t ndirs, dirs_cap;
	uint64_t window_at; /* a piece of the FAT; UINT64_MAX: none */
	uint8_t window[WINDOW_BYTES];
};

/* Bytes of the partition. */
static int
read_at(const struct volume *v, void *buf, size_t len, uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, v->part.len * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(v->disk, buf, len, v->part.off * SECTOR_BYTES + off, e);
}

static bool
is_boot_sector(const uint8_t raw[BOOT_BYTES])
{
	static const uint8_t zeros[GEOMETRY_AT - ZEROS_AT];

	return memcmp(raw, "\xeb\x76\x90", 3) == 0 &&
	       memcmp(raw + NAME_AT, "EXFAT   ", ZEROS_AT - NAME_AT) == 0 &&
	       memcmp(raw + ZEROS_AT, zeros, sizeof zeros) == 0 &&
	       raw[SIGNATURE_AT] == 0x55 && raw[SIGNATURE_AT + 1] == 0xaa;
}

static int
exfat_probe(struct disk *d, struct range part, struct err *e)
{
	struct volume v = { .disk = d, .part = part };
	uint8_t raw[BOOT_BYTES];

	if (part.len == 0)
		return 0;
	return read_at(&v, raw, sizeof raw, 0, e) != 0 ? -1 : is_boot_sector(raw);
}

static struct boot
boot_get(const uint8_t raw[BOOT_BYTES])
{
	struct rd r = rd_from(raw, BOOT_BYTES);
	struct boot b = { 0 };

	rd_skip(&r, GEOMETRY_AT + 8); /* where the partition is on its disk */
	b.total = rd_le64(&r);
	b.fat_at = rd_le32(&r);
	b.fat_sectors = rd_le32(&r);
	b.heap_at = rd_le32(&r);
	b.clusters = rd_le32(&r);
	b.root = rd_le32(&r);
	rd_skip(&r, 4); /* serial number */
	b.revision = rd_le16(&r);
	b.flags = rd_le16(&r);
	b.sector_shift = rd_u8(&r);
	b.cluster_shift = rd_u8(&r);
	b.fats = rd_u8(&r);
	return b;
}

static int
check_checksum(const struct volume *v, struct err *e)
{
	uint8_t raw[BOOT_SECTORS << SECTOR_SHIFT_MAX];
	size_t sector = (size_t)1 << v->boot.sector_shift;
	uint32_t sum = 0;

	if (read_at(v, raw, BOOT_SECTORS * sector, 0, e) != 0)
		return -1;
	for (size_t i = 0; i < (BOOT_SECTORS - 1) * sector; i++)
		if (i != FLAGS_AT && i != FLAGS_AT + 1 && i != PERCENT_AT)
			sum = (sum << 31 | sum >> 1) + raw[i];
	struct rd r = rd_from(raw + (BOOT_SECTORS - 1) * sector, sector);
	while (rd_left(&r) > 0)
		if (rd_le32(&r) != sum)
			return err_set(
			    e, ERR_FORMAT, "the checksum of its boot sectors is wrong");
	return 0;
}

static int
check_state(const struct boot *b, struct err *e)
{
	unsigned known = FLAG_SECOND_FAT | FLAG_DIRTY | FLAG_MEDIA_FAILURE |
	                 FLAG_CLEAR_TO_ZERO;

	if (b->revision != REVISION)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown revision (0x%x)", b->revision);
	if (b->fats != 1 || (b->flags & FLAG_SECOND_FAT))
		return err_set(e, ERR_UNSUPPORTED,
		    "it has %u FATs, or the second is active (TexFAT)", b->fats);
	if (b->flags & FLAG_DIRTY)
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (b->flags & FLAG_MEDIA_FAILURE)
		return err_set(e, ERR_FORMAT, "it is marked as having media failures");
	if (b->flags & ~known)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown flags (0x%x)", b->flags & ~known);
	return 0;
}

static int
check_geometry(const struct volume *v, struct err *e)
{
	const struct boot *b = &v->boot;
	uint64_t fat_bytes = ((uint64_t)b->clusters + FIRST_CLUSTER) * FAT_ENTRY_BYTES;

	if (b->total > v->part.len >> (b->sector_shift - SECTOR_SHIFT_MIN))
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " sectors of %u bytes, more than the "
		    "partition",
		    b->total, 1u << b->sector_shift);
	if (b->fat_at < BOTH_BOOT_SECTORS || b->heap_at < b->fat_at ||
	    b->fat_sectors > b->heap_at - b->fat_at || b->heap_at > b->total)
		return err_set(e, ERR_FORMAT, "its FAT and its clusters overlap");
	if (fat_bytes > (uint64_t)b->fat_sectors << b->sector_shift)
		return err_set(e, ERR_FORMAT,
		    "its FAT is too short for %" PRIu32 " clusters", b->clusters);
	if (b->clusters == 0 || b->clusters > CLUSTERS_MAX ||
	    b->clusters > (b->total - b->heap_at) >> b->cluster_shift)
		return err_set(e, ERR_FORMAT, "it has no room for %" PRIu32 " clusters",
		    b->clusters);
	return 0;
}

static int
read_boot(struct volume *v, struct err *e)
{
	uint8_t raw[BOOT_BYTES];
	struct boot *b = &v->boot;

	if (read_at(v, raw, sizeof raw, 0, e) != 0)
		return -1;
	*b = boot_get(raw);
	if (!is_boot_sector(raw) || b->sector_shift < SECTOR_SHIFT_MIN ||
	    b->sector_shift > SECTOR_SHIFT_MAX ||
	    b->cluster_shift > CLUSTER_SHIFT_MAX - b->sector_shift)
		return err_set(e, ERR_FORMAT, "its boot sector makes no sense");
	v->cluster_bytes = UINT64_C(1) << (b->sector_shift + b->cluster_shift);
	if (check_checksum(v, e) != 0 || check_state(b, e) != 0)
		return -1;
	return check_geometry(v, e);
}

static bool
is_cluster(const struct volume *v, uint64_t n)
{
	return n >= FIRST_CLUSTER && n - FIRST_CLUSTER < v->boot.clusters;
}

static uint64_t
cluster_at(const struct volume *v, uint32_t n)
{
	return ((uint64_t)v->boot.heap_at << v->boot.sector_shift) +
	       (n - FIRST_CLUSTER) * v->cluster_bytes;
}

/* Clusters for so many bytes. */
static uint64_t
clusters_for(const struct volume *v, uint64_t bytes)
{
	return bytes / v->cluster_bytes + (bytes % v->cluster_bytes != 0);
}

static int
fat_entry(struct volume *v, uint32_t cluster, uint32_t *value, struct err *e)
{
	uint64_t at = (uint64_t)cluster * FAT_ENTRY_BYTES,
		 in_window = at % WINDOW_BYTES;
	uint64_t fat_bytes = (uint64_t)v->boot.fat_sectors << v->boot.sector_shift;

	if (v->window_at != at - in_window) {
		uint64_t left = fat_bytes - (at - in_window);
		v->window_at = UINT64_MAX;
		if (read_at(v, v->window, left < WINDOW_BYTES ? left : WINDOW_BYTES,
			((uint64_t)v->boot.fat_at << v->boot.sector_shift) + at -
			    in_window,
			e) != 0)
			return -1;
		v->window_at = at - in_window;
	}
	struct rd r = rd_from(v->window + in_window, FAT_ENTRY_BYTES);
	*value = rd_le32(&r);
	return 0;
}

/* Nobody else may have them. */
static int
claim(struct volume *v, uint32_t first, uint64_t count, struct err *e)
{
	uint64_t from = (uint64_t)first - FIRST_CLUSTER;

	if (!is_cluster(v, first) || count > v->boot.clusters - from)
		return err_set(e, ERR_FORMAT,
		    "something has %" PRIu64 " clusters from %" PRIu32
		    " on, which do not all exist",
		    count, first);
	uint64_t twice = bits_find(v->claimed, from, from + count, true);
	if (twice < from + count)
		return err_set(e, ERR_FORMAT, "two files have cluster %" PRIu64,
		    twice + FIRST_CLUSTER);
	bits_set(v->claimed, from, from + count);
	return 0;
}

/* A chain of so many clusters; it ends, as each can be claimed once. */
static int
claim_chain(struct volume *v, uint32_t at, uint64_t count, struct err *e)
{
	for (; count > 0; count--)
		if (claim(v, at, 1, e) != 0 ||
		    (count > 1 && fat_entry(v, at, &at, e) != 0))
			return -1;
	return 0;
}

static int
push_dir(struct volume *v, struct pending p, struct err *e)
{
	if (v->ndirs == v->dirs_cap) {
		size_t cap = v->dirs_cap * 2 + 16;
		struct pending *more = reallocarray(v->dirs, cap, sizeof *more);
		if (more == NULL)
			return err_nomem(e, "a list of directories");
		v->dirs = more;
		v->dirs_cap = cap;
	}
	v->dirs[v->ndirs++] = p;
	return 0;
}

/* A secondary entry that has clusters: a file's or directory's contents. */
static int
take_contents(struct volume *v, struct rd r, bool directory, struct err *e)
{
	rd_skip(&r, 1);
	uint8_t flags = rd_u8(&r);
	rd_skip(&r, 18);
	uint32_t first = rd_le32(&r);
	uint64_t bytes = rd_le64(&r);
	bool contiguous = flags & SECONDARY_CONTIGUOUS;

	if (!(flags & SECONDARY_ALLOCATION) || (first == 0 && bytes == 0))
		return 0;
	if (contiguous && claim(v, first, clusters_for(v, bytes), e) != 0)
		return -1;
	if (!directory)
		return contiguous ? 0
		                  : claim_chain(v, first, clusters_for(v, bytes), e);
	if (bytes > DIR_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "a directory is too long");
	/* The clusters of a directory's chain are claimed as it is read. */
	return push_dir(v, (struct pending){ first, contiguous, bytes }, e);
}

/* The bitmap or the case table: one of each. */
static int
take_system(struct rd r, struct contents *c, struct err *e)
{
	if (c->first != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "its root directory has two allocation bitmaps or "
		    "case tables");
	rd_skip(&r, 20);
	c->first = rd_le32(&r);
	c->bytes = rd_le64(&r);
	if (c->first == 0)
		return err_set(
		    e, ERR_FORMAT, "its allocation bitmap or case table is nowhere");
	return 0;
}

/* What a directory's entry means depends on those in front of it. */
struct position {
	bool root;
	bool directory; /* the file entry was a directory's */
};

static int
take_primary(struct volume *v, const uint8_t *raw, struct position *p, struct err *e)
{
	struct rd r = rd_from(raw, ENTRY_BYTES);

	p->directory = raw[0] == ENTRY_FILE && (raw[ATTR_AT] & ATTR_DIRECTORY);
	switch (raw[0]) {
	case ENTRY_FILE:
	case ENTRY_LABEL:
	case ENTRY_GUID:
		return 0;
	case ENTRY_BITMAP:
		if (raw[1] & BITMAP_SECOND)
			return err_set(e, ERR_UNSUPPORTED,
			    "it has a second allocation bitmap "
			    "(TexFAT)");
		return p->root ? take_system(r, &v->bitmap, e) : 0;
	case ENTRY_CASE_TABLE:
		return p->root ? take_system(r, &v->case_table, e) : 0;
	}
	if (!(raw[0] & ENTRY_BENIGN))
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown directory entry (0x%x)", raw[0]);
	v->strangers = true;
	return 0;
}

/* 1 the end of the directory, 0, -1. */
static int
take_entry(struct volume *v, const uint8_t *raw, struct position *p, struct err *e)
{
	if (raw[0] == ENTRY_END)
		return 1;
	if (!(raw[0] & ENTRY_IN_USE))
		return 0;
	if (!(raw[0] & ENTRY_SECONDARY))
		return take_primary(v, raw, p, e);
	return take_contents(
	    v, rd_from(raw, ENTRY_BYTES), p->directory && raw[0] == ENTRY_STREAM, e);
}

/* Up to `bytes` of one cluster of a directory: 1 its end, 0, -1. */
static int
read_dir_cluster(struct volume *v, uint32_t cluster, uint64_t bytes, struct position *p,
    struct err *e)
{
	uint8_t raw[DIR_PIECE_BYTES];

	for (uint64_t off = 0; off < bytes; off += sizeof raw) {
		size_t len = bytes - off < sizeof raw ? (size_t)(bytes - off)
		                                      : sizeof raw;
		if (read_at(v, raw, len, cluster_at(v, cluster) + off, e) != 0)
			return -1;
		for (size_t at = 0; at + ENTRY_BYTES <= len; at += ENTRY_BYTES) {
			int rc = take_entry(v, raw + at, p, e);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int
read_dir(struct volume *v, struct pending dir, bool root, struct err *e)
{
	struct position p = { .root = root };
	uint32_t at = dir.first;
	int rc = 0;

	while (rc == 0 && dir.bytes > 0 && at != CHAIN_END) {
		uint64_t n = dir.bytes < v->cluster_bytes ? dir.bytes
		                                          : v->cluster_bytes;
		if (!dir.contiguous && claim(v, at, 1, e) != 0)
			return -1;
		rc = read_dir_cluster(v, at, n, &p, e);
		dir.bytes -= n;
		if (dir.contiguous)
			at++;
		else if (rc == 0 && fat_entry(v, at, &at, e) != 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

/* The bitmap must be in one piece: some drivers do not look at its chain. */
static int
check_bitmap(struct volume *v, struct err *e)
{
	uint64_t need = ((uint64_t)v->boot.clusters + 7) / 8;
	uint32_t first = v->bitmap.first, next;

	if (first == 0 || v->bitmap.bytes < need)
		return err_set(
		    e, ERR_FORMAT, "it has no allocation bitmap, or too short a one");
	if (claim(v, first, clusters_for(v, v->bitmap.bytes), e) != 0)
		return -1;
	for (uint64_t i = 1; i < clusters_for(v, need); i++) {
		if (fat_entry(v, (uint32_t)(first + i - 1), &next, e) != 0)
			return -1;
		if (next != first + i)
			return err_set(e, ERR_UNSUPPORTED,
			    "its allocation bitmap is not in one piece");
	}
	return 0;
}

static int
read_root(struct volume *v, struct err *e)
{
	uint32_t media, second;
	struct pending root = { v->boot.root, false, DIR_BYTES_MAX };

	if (fat_entry(v, 0, &media, e) != 0 || fat_entry(v, 1, &second, e) != 0)
		return -1;
	if ((media | 0xff) != UINT32_MAX || second != UINT32_MAX)
		return err_set(e, ERR_FORMAT, "its FAT does not begin as one");
	if (read_dir(v, root, true, e) != 0 || check_bitmap(v, e) != 0)
		return -1;
	if (v->case_table.first == 0 || v->case_table.bytes > CASE_TABLE_BYTES_MAX)
		return err_set(
		    e, ERR_FORMAT, "it has no case table, or too long a one");
	return claim_chain(
	    v, v->case_table.first, clusters_for(v, v->case_table.bytes), e);
}

/* The directories that are still to be read, and those in them: so many at most. */
static int
read_dirs(struct volume *v, size_t max, struct err *e)
{
	for (; v->ndirs > 0 && max > 0; max--)
		if (read_dir(v, v->dirs[--v->ndirs], false, e) != 0)
			return -1;
	return 0;
}

/* Bits [from, to) of the maps. */
static int
report(const struct volume *v, struct skip_sink *sink, uint64_t from, uint64_t to,
    struct err *e)
{
	uint64_t each = v->cluster_bytes / SECTOR_BYTES;
	uint64_t heap = cluster_at(v, FIRST_CLUSTER) / SECTOR_BYTES;

	return skip_add(
	    sink, (struct range){ heap + from * each, (to - from) * each }, e);
}

static int
report_free(const struct volume *v, struct skip_sink *sink, uint64_t from, uint64_t to,
    struct err *e)
{
	uint64_t claimed = bits_find(v->claimed, from, to, true);

	if (from == to)
		return 0;
	if (claimed < to)
		return err_set(e, ERR_FORMAT,
		    "cluster %" PRIu64 " is in use, but its allocation "
		    "bitmap calls it free",
		    claimed + FIRST_CLUSTER);
	return report(v, sink, from, to, e);
}

static void
mark_used(struct volume *v, uint64_t from, uint64_t to)
{
	if (from < to)
		for (uint64_t i = (from + FIRST_CLUSTER) / PIECE_ENTRIES;
		     i <= (to - 1 + FIRST_CLUSTER) / PIECE_ENTRIES; i++)
			v->used_pieces[i] = true;
}

/* `bits` of the bitmap from bit `base` on.  *open: where a run of free clusters
 * began that may go on. */
static int
take_bitmap_piece(struct volume *v, struct skip_sink *sink, const uint8_t *piece,
    uint64_t base, uint64_t bits, uint64_t *open, struct err *e)
{
	for (uint64_t at = 0; at < bits;) {
		uint64_t used = bits_find(piece, at, bits, true);
		if (used == bits)
			break;
		if (report_free(v, sink, *open, base + used, e) != 0)
			return -1;
		at = bits_find(piece, used, bits, false);
		mark_used(v, base + used, base + at);
		*open = base + at;
	}
	return 0;
}

static int
scan_bitmap(struct volume *v, struct skip_sink *sink, struct err *e)
{
	uint64_t clusters = v->boot.clusters, open = 0;
	uint8_t *piece = malloc(PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "a piece of the bitmap") : 0;

	for (uint64_t base = 0; rc == 0 && base < clusters; base += PIECE_BYTES * 8) {
		uint64_t bits = clusters - base;
		if (bits > PIECE_BYTES * 8)
			bits = PIECE_BYTES * 8;
		rc = read_at(v, piece, (size_t)(bits + 7) / 8,
		    cluster_at(v, v->bitmap.first) + base / 8, e);
		if (rc == 0)
			rc = take_bitmap_piece(v, sink, piece, base, bits, &open, e);
	}
	free(piece);
	return rc == 0 ? report_free(v, sink, open, clusters, e) : rc;
}

/* Clusters from *cluster on whose entries are in the piece; those marked bad. */
static int
collect_bad(struct rd r, uint64_t cluster, struct rangeset *bad, struct err *e)
{
	uint64_t run = 0;

	for (bool more = true; more; cluster++) {
		more = rd_left(&r) > 0;
		if (more && rd_le32(&r) == CLUSTER_BAD) {
			run++;
			continue;
		}
		if (run > 0 &&
		    rangeset_add(bad, (struct range){ cluster - run, run }, e) != 0)
			return -1;
		if (bad->n > BAD_RUNS_MAX)
			return err_set(
			    e, ERR_FORMAT, "it has more bad clusters than can be");
		run = 0;
	}
	return 0;
}

/* A bad cluster that another one leads to, or seems to, is in use. */
static void
claim_linked(struct volume *v, struct rd r, struct rangeset *bad)
{
	while (rd_left(&r) > 0) {
		uint32_t value = rd_le32(&r);
		if (is_cluster(v, value) && rangeset_contains(bad, value))
			bit_set(v->claimed, value - FIRST_CLUSTER);
	}
}

/* Go through the FAT where clusters are allocated: once to find bad clusters,
 * once, with `linked`, for what leads to them. */
static int
scan_fat(struct volume *v, struct rangeset *bad, bool linked, struct err *e)
{
	uint64_t end = (uint64_t)v->boot.clusters + FIRST_CLUSTER;
	uint64_t fat = (uint64_t)v->boot.fat_at << v->boot.sector_shift;
	uint8_t *piece = malloc(PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "a piece of the FAT") : 0;

	for (uint64_t at = 0; rc == 0 && at < end; at += PIECE_ENTRIES) {
		uint64_t n = end - at < PIECE_ENTRIES ? end - at : PIECE_ENTRIES;
		if (!v->used_pieces[at / PIECE_ENTRIES])
			continue;
		size_t bytes = (size_t)n * FAT_ENTRY_BYTES;
		rc = read_at(v, piece, bytes, fat + at * FAT_ENTRY_BYTES, e);
		if (rc == 0 && linked)
			claim_linked(v, rd_from(piece, bytes), bad);
		else if (rc == 0)
			rc = collect_bad(rd_from(piece, bytes), at, bad, e);
	}
	free(piece);
	return rc;
}

static int
report_bad(
    struct volume *v, struct rangeset *bad, struct skip_sink *sink, struct err *e)
{
	for (size_t i = 0; i < rangeset_count(bad); i++) {
		struct range r = rangeset_get(bad, i);
		uint64_t to, end = range_end(r) - FIRST_CLUSTER;
		for (uint64_t at = r.off - FIRST_CLUSTER; at < end; at = to) {
			at = bits_find(v->claimed, at, end, false);
			to = bits_find(v->claimed, at, end, true);
			if (at < to && report(v, sink, at, to, e) != 0)
				return -1;
		}
	}
	return 0;
}

/* What the FAT marks as bad, and no file has. */
static int
scan_bad(struct volume *v, struct skip_sink *sink, struct err *e)
{
	struct rangeset bad;

	rangeset_init(&bad);
	int rc = scan_fat(v, &bad, false, e);
	bool any = rangeset_count(&bad) > 0;
	if (rc == 0 && any)
		rc = read_dirs(v, SIZE_MAX, e);
	if (rc == 0 && any)
		rc = scan_fat(v, &bad, true, e);
	if (rc == 0 && !v->strangers)
		rc = report_bad(v, &bad, sink, e);
	rangeset_free(&bad);
	return rc;
}

static int
scan_volume(struct volume *v, struct skip_sink *sink, struct err *e)
{
	v->claimed = calloc(v->boot.clusters / 8 + 1, 1);
	v->used_pieces = calloc(
	    ((size_t)v->boot.clusters + FIRST_CLUSTER) / PIECE_ENTRIES + 1,
	    sizeof *v->used_pieces);
	if (v->claimed == NULL || v->used_pieces == NULL)
		return err_nomem(e, "maps of the clusters");
	if (read_root(v, e) != 0 || read_dirs(v, DIRS_CHECKED, e) != 0 ||
	    scan_bitmap(v, sink, e) != 0 || scan_bad(v, sink, e) != 0)
		return -1;
	skip_fs_end(sink, v->boot.total << (v->boot.sector_shift - SECTOR_SHIFT_MIN));
	return 0;
}

static int
exfat_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct volume v = { .disk = d, .part = part, .window_at = UINT64_MAX };

	int rc = read_boot(&v, e);
	if (rc == 0)
		rc = scan_volume(&v, sink, e);
	free(v.claimed);
	free(v.used_pieces);
	free(v.dirs);
	return rc;
}

const struct fsmod fsmod_exfat = {
	.name = "exfat",
	.title = "exFAT filesystem",
	.probe = exfat_probe,
	.scan = exfat_scan,
};
