/* fat.c: FAT12, FAT16 and FAT32.
 *
 * Skipped are the clusters that the file allocation table calls free or bad.
 * The boot sectors, all copies of the table and the root directory of FAT12
 * and FAT16 lie in front of the first cluster and are kept.
 * Nothing on the disk has a checksum, so the table must agree with whatever
 * else there is: its copies, FSInfo's count of free clusters, the backup of the
 * boot sector, and itself: a cluster that another one leads to is neither free
 * nor bad, and no two lead to the same one.  Directories in the root directory
 * must be where the boot sector's parameters put them.  If not, or when the
 * filesystem was not cleanly unmounted, the scan fails, and the partition is
 * kept whole.
 * Sources: Microsoft's "FAT: General Overview of On-Disk Format", version 1.03;
 * for the dirty bit in the boot sector, for tables of 32 bits on few clusters
 * and for the counts that are read in two ways, mkfs.fat(8) and the Linux
 * kernel's include/uapi/linux/msdos_fs.h; for BitLocker's mark, the format's
 * documentation by libbde.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/bits.h"
#include "fsmods/fsmod.h"

enum {
	BOOT_BYTES = 512,
	BPB_AT = 11,
	STATE16_AT = 37,
	FAT32_AT = 36,
	STATE32_AT = 65,
	BITLOCKER_AT = 424,
	SIGNATURE_AT = 510,

	STATE_DIRTY = 1,
	STATE_ERRORS = 2,
	ENTRY_BYTES = 32, /* of a directory */
	NAME_BYTES = 11,
	NAME_DELETED = 0xe5,
	NAME_FOR_DELETED = 0x05, /* where a name does begin with 0xe5 */
	ATTR_VOLUME = 0x08,      /* also in every part of a long name */
	ATTR_DIRECTORY = 0x10,
	ATTR_LONG_NAME = 0x0f,
	ATTR_UNUSED = 0xc0,
	ROOT_BYTES_MAX = 65536 * ENTRY_BYTES,
	FAT12_CLUSTERS_MAX = 4084,
	/* Some drivers take a table of 4085 or 4086 clusters for FAT12. */
	FAT16_CLUSTERS_MIN = 4087,
	FAT16_CLUSTERS_MAX = 65524,
	FAT32_CLUSTERS_MAX = 0x0ffffff5,
	FIRST_CLUSTER = 2,
	/* Whole entries of 12, 16 and 32 bits. */
	PIECE_BYTES = 3 << 18,

	INFO_LEAD = 0x41615252,
	INFO_SIGNATURE = 0x61417272,
	INFO_SIGNATURE_AT = 484,
};

static const uint32_t INFO_UNKNOWN = UINT32_MAX;

/* The boot sector's own words. */
struct boot {
	uint32_t sector_bytes;
	uint32_t cluster_sectors;
	uint32_t reserved_sectors;
	uint32_t fats;
	uint32_t root_entries;
	uint32_t total16, total32;
	uint32_t media;
	uint32_t fat_sectors16, fat_sectors32;
	/* The rest is FAT32's only. */
	uint32_t version;
	uint32_t root_cluster;
	uint32_t info_sector;
	uint32_t backup_sector;
};

struct volume {
	struct disk *disk;
	struct range part;
	struct boot boot;
	uint8_t raw[BOOT_BYTES];
	unsigned width; /* 12, 16, 32 */
	/* In the filesystem's sectors. */
	uint64_t total, fat_sectors, data_at;
	uint64_t clusters;
};

/* What the table says; bit and number 0 are cluster 0, which does not exist. */
struct table {
	uint8_t *skip;   /* free or bad */
	uint8_t *linked; /* another cluster leads here */
	uint64_t free, bad;
};

static struct boot
boot_get(const uint8_t raw[BOOT_BYTES])
{
	struct rd r = rd_from(raw, BOOT_BYTES);
	struct boot b = { 0 };

	rd_skip(&r, BPB_AT);
	b.sector_bytes = rd_le16(&r);
	b.cluster_sectors = rd_u8(&r);
	b.reserved_sectors = rd_le16(&r);
	b.fats = rd_u8(&r);
	b.root_entries = rd_le16(&r);
	b.total16 = rd_le16(&r);
	b.media = rd_u8(&r);
	b.fat_sectors16 = rd_le16(&r);
	rd_skip(&r, 2 + 2 + 4); /* tracks, heads, sectors in front */
	b.total32 = rd_le32(&r);
	b.fat_sectors32 = rd_le32(&r);
	rd_skip(&r, 2); /* which table is active: all are compared */
	b.version = rd_le16(&r);
	b.root_cluster = rd_le32(&r);
	b.info_sector = rd_le16(&r);
	b.backup_sector = rd_le16(&r);
	return b;
}

static bool
is_fat32(const struct boot *b)
{
	return b->fat_sectors16 == 0;
}

static bool
power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* Boot sectors of others that look alike. */
static bool
is_other(const uint8_t raw[BOOT_BYTES])
{
	static const char *const names[] = { "NTFS    ", "EXFAT   ", "-FVE-FS-" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (memcmp(raw + 3, names[i], 8) == 0)
			return true;
	return false;
}

static bool
is_boot_sector(const uint8_t raw[BOOT_BYTES])
{
	struct boot b = boot_get(raw);
	bool jump = (raw[0] == 0xeb && raw[2] == 0x90) || raw[0] == 0xe9;

	return jump && raw[SIGNATURE_AT] == 0x55 && raw[SIGNATURE_AT + 1] == 0xaa &&
	       !is_other(raw) && power_of_two(b.sector_bytes) &&
	       b.sector_bytes >= 512 && b.sector_bytes <= 4096 &&
	       power_of_two(b.cluster_sectors) && b.reserved_sectors > 0 &&
	       b.fats > 0 && (b.media == 0xf0 || b.media >= 0xf8) &&
	       (b.total16 != 0 || b.total32 != 0) &&
	       (b.fat_sectors16 != 0 || b.fat_sectors32 != 0) &&
	       is_fat32(&b) == (b.root_entries == 0);
}

/* Bytes of the partition. */
static int
read_at(const struct volume *v, void *buf, size_t len, uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, v->part.len * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(v->disk, buf, len, v->part.off * SECTOR_BYTES + off, e);
}

/* Every table begins with the media byte and ones, whatever its width; a master
 * boot record that has kept somebody's parameters is not followed by one. */
static int
fat_probe(struct disk *d, struct range part, struct err *e)
{
	struct volume v = { .disk = d, .part = part };
	uint8_t first[3];

	if (part.len == 0)
		return 0;
	if (read_at(&v, v.raw, sizeof v.raw, 0, e) != 0)
		return -1;
	if (!is_boot_sector(v.raw))
		return 0;
	v.boot = boot_get(v.raw);
	uint64_t at = (uint64_t)v.boot.reserved_sectors * v.boot.sector_bytes;
	if (at + sizeof first > part.len * SECTOR_BYTES)
		return 0;
	if (read_at(&v, first, sizeof first, at, e) != 0)
		return -1;
	return first[0] == v.boot.media && first[1] == 0xff && first[2] == 0xff;
}

/* The number of clusters decides between 12 and 16 bits; 32 bits have their own
 * boot sector, and are used by everybody on few clusters, too. */
static int
choose_width(struct volume *v, struct err *e)
{
	if (is_fat32(&v->boot))
		v->width = v->clusters <= FAT32_CLUSTERS_MAX ? 32 : 0;
	else if (v->clusters <= FAT12_CLUSTERS_MAX)
		v->width = 12;
	else if (v->clusters >= FAT16_CLUSTERS_MIN && v->clusters <= FAT16_CLUSTERS_MAX)
		v->width = 16;
	if (v->width == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "with %" PRIu64 " clusters it is not certain how "
		    "wide its FAT's entries are",
		    v->clusters);
	return 0;
}

/* Bytes of one copy of the table that say anything. */
static uint64_t
table_bytes(const struct volume *v)
{
	return ((v->clusters + FIRST_CLUSTER) * v->width + 7) / 8;
}

static int
measure(struct volume *v, struct err *e)
{
	const struct boot *b = &v->boot;
	uint64_t root_bytes = (uint64_t)b->root_entries * ENTRY_BYTES;

	if (b->total16 != 0 && b->total32 != 0 && b->total16 != b->total32)
		return err_set(e, ERR_FORMAT, "its boot sector has two sizes");
	v->total = b->total16 != 0 ? b->total16 : b->total32;
	if (v->total > v->part.len / (b->sector_bytes / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " sectors of %u bytes, more than the "
		    "partition",
		    v->total, b->sector_bytes);
	v->fat_sectors = is_fat32(b) ? b->fat_sectors32 : b->fat_sectors16;
	v->data_at = b->reserved_sectors + b->fats * v->fat_sectors +
	             root_bytes / b->sector_bytes;
	if (root_bytes % b->sector_bytes != 0)
		return err_set(
		    e, ERR_FORMAT, "its root directory ends within a sector");
	if (v->data_at >= v->total || v->total - v->data_at < b->cluster_sectors)
		return err_set(e, ERR_FORMAT, "it has no room for a cluster");
	v->clusters = (v->total - v->data_at) / b->cluster_sectors;
	if (choose_width(v, e) != 0)
		return -1;
	if (table_bytes(v) > v->fat_sectors * b->sector_bytes)
		return err_set(e, ERR_FORMAT,
		    "its FAT is too short for %" PRIu64 " clusters", v->clusters);
	return 0;
}

static int
check_boot(const struct volume *v, struct err *e)
{
	static const uint8_t bitlocker[16] = { 0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8,
		0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3, 0xd0, 0x01 };
	uint8_t state = v->raw[v->width == 32 ? STATE32_AT : STATE16_AT];

	if (memcmp(v->raw + BITLOCKER_AT, bitlocker, sizeof bitlocker) == 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "it is a cover for BitLocker's encryption");
	if (v->width == 32 && v->boot.version != 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown version (0x%x)", v->boot.version);
	if (state & STATE_DIRTY)
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (state & STATE_ERRORS)
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	return 0;
}

/* What says how the volume is laid out, in both boot sectors of FAT32; flags, and
 * the sectors in front of the partition, may differ. */
static bool
same_layout(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a + 11, b + 11, 28 - 11) == 0 &&
	       memcmp(a + 32, b + 32, 40 - 32) == 0 &&
	       memcmp(a + 42, b + 42, 52 - 42) == 0;
}

static int
check_backup(const struct volume *v, struct err *e)
{
	const struct boot *b = &v->boot;
	uint8_t raw[BOOT_BYTES];

	if (v->width != 32 || b->backup_sector == 0 ||
	    b->backup_sector >= b->reserved_sectors)
		return 0;
	if (read_at(v, raw, sizeof raw, (uint64_t)b->backup_sector * b->sector_bytes,
		e) != 0)
		return -1;
	if (is_boot_sector(raw) && !same_layout(v->raw, raw))
		return err_set(
		    e, ERR_FORMAT, "its boot sector and the backup of it differ");
	return 0;
}

/* FSInfo's count of free clusters, INFO_UNKNOWN when there is none. */
static int
read_info(const struct volume *v, uint32_t *free, struct err *e)
{
	const struct boot *b = &v->boot;
	uint8_t raw[BOOT_BYTES];

	*free = INFO_UNKNOWN;
	if (v->width != 32 || b->info_sector == 0 || b->info_sector == UINT16_MAX)
		return 0;
	if (b->info_sector >= b->reserved_sectors)
		return err_set(
		    e, ERR_FORMAT, "its FSInfo lies outside the reserved sectors");
	if (read_at(
		v, raw, sizeof raw, (uint64_t)b->info_sector * b->sector_bytes, e) != 0)
		return -1;
	struct rd r = rd_from(raw, sizeof raw);
	uint32_t lead = rd_le32(&r);
	rd_skip(&r, INFO_SIGNATURE_AT - 4);
	if (rd_le32(&r) != INFO_SIGNATURE || lead != INFO_LEAD)
		return err_set(e, ERR_FORMAT, "its FSInfo has no signature");
	*free = rd_le32(&r);
	return 0;
}

static uint32_t
entry_mask(const struct volume *v)
{
	return v->width == 32 ? 0x0fffffff : (1u << v->width) - 1;
}

/* The first two entries stand for no cluster. */
static int
check_head(const struct volume *v, unsigned number, uint32_t value, struct err *e)
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
take_entry(const struct volume *v, struct table *t, uint64_t cluster, uint32_t value,
    struct err *e)
{
	uint32_t mask = entry_mask(v);

	if (value == 0 || value == (mask & ~8u)) {
		bit_set(t->skip, cluster);
		t->free += value == 0;
		t->bad += value != 0;
		return 0;
	}
	if (value < FIRST_CLUSTER || value >= v->clusters + FIRST_CLUSTER) {
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
next_value(const struct volume *v, struct rd *r, uint64_t number)
{
	if (v->width == 32)
		return rd_le32(r) & entry_mask(v);
	if (v->width == 16)
		return rd_le16(r);
	/* Two share three bytes: the odd one begins with the middle one's upper half.
	 */
	if (number % 2 == 0)
		return rd_le16(r) & entry_mask(v);
	r->off--;
	return rd_le16(r) >> 4;
}

/* Entries from *number on, as many as are in the piece. */
static int
take_piece(const struct volume *v, struct table *t, const uint8_t *piece, size_t len,
    uint64_t *number, struct err *e)
{
	struct rd r = rd_from(piece, len);
	uint64_t end = *number + len * 8 / v->width;

	if (end > v->clusters + FIRST_CLUSTER)
		end = v->clusters + FIRST_CLUSTER;
	for (; *number < end; ++*number) {
		uint32_t value = next_value(v, &r, *number);
		int rc = *number < FIRST_CLUSTER
		             ? check_head(v, (unsigned)*number, value, e)
		             : take_entry(v, t, *number, value, e);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* One piece of the first copy, and whether the others have the same. */
static int
read_piece(const struct volume *v, uint8_t *piece, uint8_t *other, size_t len,
    uint64_t off, struct err *e)
{
	uint64_t at = (uint64_t)v->boot.reserved_sectors * v->boot.sector_bytes + off;

	if (read_at(v, piece, len, at, e) != 0)
		return -1;
	for (unsigned i = 1; i < v->boot.fats; i++) {
		at += v->fat_sectors * v->boot.sector_bytes;
		if (read_at(v, other, len, at, e) != 0)
			return -1;
		if (memcmp(piece, other, len) != 0)
			return err_set(e, ERR_FORMAT, "the copies of its FAT differ");
	}
	return 0;
}

static int
read_table(const struct volume *v, struct table *t, struct err *e)
{
	uint64_t left = table_bytes(v), off = 0, number = 0;
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

/* FAT32's root directory is led to by the boot sector. */
static int
link_root(const struct volume *v, struct table *t, struct err *e)
{
	uint32_t root = v->boot.root_cluster;

	if (v->width != 32)
		return 0;
	if (root < FIRST_CLUSTER || root >= v->clusters + FIRST_CLUSTER)
		return err_set(e, ERR_FORMAT, "its root directory lies outside of it");
	bit_set(t->linked, root);
	return 0;
}

struct entry {
	const uint8_t *name;
	uint8_t attr;
	uint32_t cluster;
};

static struct entry
entry_get(const uint8_t *at)
{
	struct rd r = rd_from(at, ENTRY_BYTES);
	struct entry n = { .name = rd_bytes(&r, NAME_BYTES) };

	n.attr = rd_u8(&r);
	rd_skip(&r, 8);
	uint32_t high = rd_le16(&r);
	rd_skip(&r, 4);
	n.cluster = rd_le16(&r) | high << 16;
	return n;
}

/* Bytes of the partition. */
static uint64_t
cluster_at(const struct volume *v, uint64_t cluster)
{
	return (v->data_at + (cluster - FIRST_CLUSTER) * v->boot.cluster_sectors) *
	       v->boot.sector_bytes;
}

/* A directory begins with an entry for itself. */
static int
check_place(const struct volume *v, uint32_t cluster, struct err *e)
{
	uint8_t raw[ENTRY_BYTES];

	if (read_at(v, raw, sizeof raw, cluster_at(v, cluster), e) != 0)
		return -1;
	struct entry self = entry_get(raw);
	uint32_t mask = v->width == 32 ? UINT32_MAX : UINT16_MAX;
	if (memcmp(self.name, ".          ", NAME_BYTES) != 0 ||
	    (self.cluster & mask) != cluster)
		return err_set(e, ERR_FORMAT,
		    "no directory is in cluster %" PRIu32 ", where one should "
		    "be",
		    cluster);
	return 0;
}

/* A file or directory that the root directory leads to. */
static int
check_contents(
    const struct volume *v, struct table *t, const struct entry *n, struct err *e)
{
	if (n->cluster < FIRST_CLUSTER || n->cluster >= v->clusters + FIRST_CLUSTER)
		return err_set(e, ERR_FORMAT, "a file lies outside of it");
	bit_set(t->linked, n->cluster);
	return n->attr & ATTR_DIRECTORY ? check_place(v, n->cluster, e) : 0;
}

/* Could this be one at all, and not something else that a wrong parameter has
 * put here? */
static bool
is_sound(const struct entry *n)
{
	if (n->attr & ATTR_UNUSED)
		return false;
	if (n->name[0] == NAME_DELETED || (n->attr & ~ATTR_UNUSED) == ATTR_LONG_NAME)
		return true;
	for (unsigned i = 0; i < NAME_BYTES; i++)
		if (n->name[i] < ' ' && !(i == 0 && n->name[i] == NAME_FOR_DELETED))
			return false;
	return true;
}

static int
check_entries(const struct volume *v, struct table *t, const uint8_t *dir, size_t len,
    struct err *e)
{
	for (size_t at = 0; at < len && dir[at] != 0; at += ENTRY_BYTES) {
		struct entry n = entry_get(dir + at);
		if (!is_sound(&n))
			return err_set(
			    e, ERR_FORMAT, "its root directory has impossible entries");
		if (v->width != 32)
			n.cluster &= UINT16_MAX;
		if (n.name[0] != NAME_DELETED && !(n.attr & ATTR_VOLUME) &&
		    n.cluster != 0 && check_contents(v, t, &n, e) != 0)
			return -1;
	}
	return 0;
}

/* The root directory (of FAT32, its first cluster) proves that clusters are
 * where they are thought to be. */
static int
check_root(const struct volume *v, struct table *t, struct err *e)
{
	const struct boot *b = &v->boot;
	bool fat32 = v->width == 32;
	uint64_t at = fat32 ? cluster_at(v, b->root_cluster)
	                    : (b->reserved_sectors + b->fats * v->fat_sectors) *
	                          b->sector_bytes;
	size_t len = fat32 ? (size_t)b->cluster_sectors * b->sector_bytes
	                   : (size_t)b->root_entries * ENTRY_BYTES;

	if (len > ROOT_BYTES_MAX)
		len = ROOT_BYTES_MAX;
	uint8_t *dir = malloc(len);
	if (dir == NULL)
		return err_nomem(e, "the root directory");
	int rc = read_at(v, dir, len, at, e);
	if (rc == 0)
		rc = check_entries(v, t, dir, len, e);
	free(dir);
	return rc;
}

/* mkfs.fat counts the clusters that it has marked bad as free. */
static int
check_free_count(const struct volume *v, const struct table *t, struct err *e)
{
	uint32_t said;

	if (read_info(v, &said, e) != 0)
		return -1;
	if (said != INFO_UNKNOWN && said != t->free && said != t->free + t->bad)
		return err_set(e, ERR_FORMAT,
		    "its FAT has %" PRIu64 " free clusters, its FSInfo says %" PRIu32,
		    t->free, said);
	return 0;
}

static int
report(const struct volume *v, const struct table *t, struct skip_sink *sink,
    struct err *e)
{
	uint64_t unit = v->boot.sector_bytes / SECTOR_BYTES;
	uint64_t each = v->boot.cluster_sectors * unit;
	uint64_t end = v->clusters + FIRST_CLUSTER, to;

	for (uint64_t at = FIRST_CLUSTER; at < end; at = to) {
		at = bits_find(t->skip, at, end, true);
		to = bits_find(t->skip, at, end, false);
		uint64_t linked = bits_find(t->linked, at, to, true);
		if (linked < to)
			return err_set(e, ERR_FORMAT,
			    "cluster %" PRIu64 " is in use, and free or bad", linked);
		struct range r = { cluster_at(v, at) / SECTOR_BYTES, (to - at) * each };
		if (r.len > 0 && skip_add(sink, r, e) != 0)
			return -1;
	}
	skip_fs_end(sink, v->total * unit);
	return 0;
}

static int
scan_table(const struct volume *v, struct skip_sink *sink, struct err *e)
{
	size_t map_bytes = (size_t)(v->clusters + FIRST_CLUSTER + 7) / 8;
	struct table t = { calloc(1, map_bytes), calloc(1, map_bytes), 0, 0 };
	int rc = t.skip == NULL || t.linked == NULL
	             ? err_nomem(e, "maps of the clusters")
	             : 0;

	if (rc == 0)
		rc = read_table(v, &t, e);
	if (rc == 0)
		rc = link_root(v, &t, e);
	if (rc == 0)
		rc = check_root(v, &t, e);
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
	struct volume v = { .disk = d, .part = part };

	if (read_at(&v, v.raw, sizeof v.raw, 0, e) != 0)
		return -1;
	v.boot = boot_get(v.raw);
	if (!is_boot_sector(v.raw))
		return err_set(
		    e, ERR_FORMAT, "it has no boot sector of a FAT filesystem");
	if (measure(&v, e) != 0 || check_boot(&v, e) != 0 || check_backup(&v, e) != 0)
		return -1;
	return scan_table(&v, sink, e);
}

const struct fsmod fsmod_fat = {
	.name = "fat",
	.title = "FAT filesystem",
	.probe = fat_probe,
	.scan = fat_scan,
};
