/* exfat_boot.c: reads the boot sectors of exFAT: geometry and state, and where FAT,
 * clusters and root directory lie. exfat.c calls this, in the thread that scans. */
#include <inttypes.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/zero.h"
#include "fsmods/exfat/exfat_impl.h"

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

	SECTOR_SHIFT_MAX = 12,
	CLUSTER_SHIFT_MAX = 25, /* bytes */
	REVISION = 0x100,

	FLAG_SECOND_FAT = 1,
	FLAG_DIRTY = 2,
	FLAG_MEDIA_FAILURE = 4,
	FLAG_CLEAR_TO_ZERO = 8, /* has no meaning here */
};

static const uint32_t CLUSTERS_MAX = UINT32_MAX - 10;

/* Read len bytes at byte `off` of the partition. */
int
exfat_read(const struct exfat *v, void *buf, size_t len, uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, v->part.len * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(v->disk, buf, len, v->part.off * SECTOR_BYTES + off, e);
}

static bool
is_boot_sector(const uint8_t raw[BOOT_BYTES])
{
	return memcmp(raw, "\xeb\x76\x90", 3) == 0 &&
	       memcmp(raw + NAME_AT, "EXFAT   ", ZEROS_AT - NAME_AT) == 0 &&
	       is_zero(raw + ZEROS_AT, GEOMETRY_AT - ZEROS_AT) &&
	       raw[SIGNATURE_AT] == 0x55 && raw[SIGNATURE_AT + 1] == 0xaa;
}

int
exfat_is_boot(struct disk *d, struct range part, struct err *e)
{
	struct exfat v = { .disk = d, .part = part };
	uint8_t raw[BOOT_BYTES];

	if (part.len == 0)
		return 0;
	return exfat_read(&v, raw, sizeof raw, 0, e) != 0 ? -1 : is_boot_sector(raw);
}

static struct exfat_boot
boot_get(const uint8_t raw[BOOT_BYTES])
{
	struct rd r = rd_from(raw, BOOT_BYTES);
	struct exfat_boot b = { 0 };

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
check_checksum(const struct exfat *v, struct err *e)
{
	uint8_t raw[BOOT_SECTORS << SECTOR_SHIFT_MAX];
	size_t sector = (size_t)1 << v->boot.sector_shift;
	uint32_t sum = 0;

	if (exfat_read(v, raw, BOOT_SECTORS * sector, 0, e) != 0)
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
check_state(const struct exfat_boot *b, struct err *e)
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
check_geometry(const struct exfat *v, struct err *e)
{
	const struct exfat_boot *b = &v->boot;
	uint64_t fat_bytes = ((uint64_t)b->clusters + EXFAT_FIRST_CLUSTER) *
	                     EXFAT_FAT_ENTRY_BYTES;

	if (b->total > v->part.len >> (b->sector_shift - EXFAT_SECTOR_SHIFT_MIN))
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

int
exfat_read_boot(struct exfat *v, struct err *e)
{
	uint8_t raw[BOOT_BYTES];
	struct exfat_boot *b = &v->boot;

	if (exfat_read(v, raw, sizeof raw, 0, e) != 0)
		return -1;
	*b = boot_get(raw);
	if (!is_boot_sector(raw) || b->sector_shift < EXFAT_SECTOR_SHIFT_MIN ||
	    b->sector_shift > SECTOR_SHIFT_MAX ||
	    b->cluster_shift > CLUSTER_SHIFT_MAX - b->sector_shift)
		return err_set(e, ERR_FORMAT, "its boot sector is impossible");
	v->cluster_bytes = UINT64_C(1) << (b->sector_shift + b->cluster_shift);
	if (check_checksum(v, e) != 0 || check_state(b, e) != 0)
		return -1;
	return check_geometry(v, e);
}

bool
exfat_is_cluster(const struct exfat *v, uint64_t n)
{
	return n >= EXFAT_FIRST_CLUSTER && n - EXFAT_FIRST_CLUSTER < v->boot.clusters;
}

uint64_t
exfat_cluster_at(const struct exfat *v, uint32_t n)
{
	return ((uint64_t)v->boot.heap_at << v->boot.sector_shift) +
	       (n - EXFAT_FIRST_CLUSTER) * v->cluster_bytes;
}
