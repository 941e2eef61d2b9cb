/* fat_boot.c: reads the boot sectors of FAT: parameters, state, and the count of free
 * clusters. fat.c calls this, in the thread that scans. */
#include <inttypes.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/fat/fat_impl.h"

enum {
	BPB_AT = 11,
	STATE16_AT = 37,
	STATE32_AT = 65,
	BITLOCKER_AT = 424,
	SIGNATURE_AT = 510,

	STATE_DIRTY = 1,
	STATE_ERRORS = 2,
	FAT12_CLUSTERS_MAX = 4084,
	/* Some drivers take a table of 4085 or 4086 clusters for FAT12. */
	FAT16_CLUSTERS_MIN = 4087,
	FAT16_CLUSTERS_MAX = 65524,
	FAT32_CLUSTERS_MAX = 0x0ffffff5,

	INFO_LEAD = 0x41615252,
	INFO_SIGNATURE = 0x61417272,
	INFO_SIGNATURE_AT = 484,
};

static struct fat_boot
boot_get(const uint8_t raw[FAT_BOOT_BYTES])
{
	struct rd r = rd_from(raw, FAT_BOOT_BYTES);
	struct fat_boot b = { 0 };

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
	rd_skip(&r, 2); /* which table is active: not needed, all are compared */
	b.version = rd_le16(&r);
	b.root_cluster = rd_le32(&r);
	b.info_sector = rd_le16(&r);
	b.backup_sector = rd_le16(&r);
	return b;
}

static bool
is_fat32(const struct fat_boot *b)
{
	return b->fat_sectors16 == 0;
}

static bool
power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* Is this the boot sector of another filesystem, which looks like one of FAT? */
static bool
is_other(const uint8_t raw[FAT_BOOT_BYTES])
{
	static const char *const names[] = { "NTFS    ", "EXFAT   ", "-FVE-FS-" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (memcmp(raw + 3, names[i], 8) == 0)
			return true;
	return false;
}

static bool
is_boot_sector(const uint8_t raw[FAT_BOOT_BYTES])
{
	struct fat_boot b = boot_get(raw);
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
int
fat_read(const struct fat *v, void *buf, size_t len, uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, v->part.len * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(v->disk, buf, len, v->part.off * SECTOR_BYTES + off, e);
}

int
fat_read_boot(struct fat *v, struct err *e)
{
	if (fat_read(v, v->raw, sizeof v->raw, 0, e) != 0)
		return -1;
	v->boot = boot_get(v->raw);
	return is_boot_sector(v->raw);
}

/* Bytes of the partition. */
uint64_t
fat_cluster_at(const struct fat *v, uint64_t cluster)
{
	return (v->data_at + (cluster - FAT_FIRST_CLUSTER) * v->boot.cluster_sectors) *
	       v->boot.sector_bytes;
}

/* The number of clusters decides between 12 and 16 bits. A table of 32 bits has its own
 * kind of boot sector, and all drivers accept it on few clusters, too. */
static int
choose_width(struct fat *v, struct err *e)
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

/* Bytes of one copy of the table that hold entries. */
uint64_t
fat_table_bytes(const struct fat *v)
{
	return ((v->clusters + FAT_FIRST_CLUSTER) * v->width + 7) / 8;
}

static int
lay_out(struct fat *v, struct err *e)
{
	const struct fat_boot *b = &v->boot;
	uint64_t root_bytes = (uint64_t)b->root_entries * FAT_ENTRY_BYTES;

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
	if (fat_table_bytes(v) > v->fat_sectors * b->sector_bytes)
		return err_set(e, ERR_FORMAT,
		    "its FAT is too short for %" PRIu64 " clusters", v->clusters);
	return 0;
}

static int
check_boot(const struct fat *v, struct err *e)
{
	static const uint8_t bitlocker[16] = { 0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8,
		0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3, 0xd0, 0x01 };
	uint8_t state = v->raw[v->width == 32 ? STATE32_AT : STATE16_AT];

	if (memcmp(v->raw + BITLOCKER_AT, bitlocker, sizeof bitlocker) == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "it is the outside of a volume with BitLocker's encryption");
	if (v->width == 32 && v->boot.version != 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown version (0x%x)", v->boot.version);
	if (state & STATE_DIRTY)
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (state & STATE_ERRORS)
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	return 0;
}

/* Do both boot sectors of FAT32 describe the same layout? Flags, and the number of
 * sectors in front of the partition, may differ. */
static bool
same_layout(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a + 11, b + 11, 28 - 11) == 0 &&
	       memcmp(a + 32, b + 32, 40 - 32) == 0 &&
	       memcmp(a + 42, b + 42, 52 - 42) == 0;
}

static int
check_backup(const struct fat *v, struct err *e)
{
	const struct fat_boot *b = &v->boot;
	uint8_t raw[FAT_BOOT_BYTES];

	if (v->width != 32 || b->backup_sector == 0 ||
	    b->backup_sector >= b->reserved_sectors)
		return 0;
	if (fat_read(v, raw, sizeof raw, (uint64_t)b->backup_sector * b->sector_bytes,
		e) != 0)
		return -1;
	if (is_boot_sector(raw) && !same_layout(v->raw, raw))
		return err_set(
		    e, ERR_FORMAT, "its boot sector and the backup of it differ");
	return 0;
}

int
fat_measure(struct fat *v, struct err *e)
{
	if (lay_out(v, e) != 0 || check_boot(v, e) != 0)
		return -1;
	return check_backup(v, e);
}

/* Get FSInfo's count of free clusters; FAT_FREE_UNKNOWN when there is no FSInfo. */
int
fat_read_free(const struct fat *v, uint32_t *free, struct err *e)
{
	const struct fat_boot *b = &v->boot;
	uint8_t raw[FAT_BOOT_BYTES];

	*free = FAT_FREE_UNKNOWN;
	if (v->width != 32 || b->info_sector == 0 || b->info_sector == UINT16_MAX)
		return 0;
	if (b->info_sector >= b->reserved_sectors)
		return err_set(
		    e, ERR_FORMAT, "its FSInfo lies outside the reserved sectors");
	if (fat_read(
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
