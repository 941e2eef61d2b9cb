/* boot_place.c: adapts boot sectors to the place of their partition (boot_place.h).
 * imagezip calls this in its first thread, and an installation in the one that feeds.
 *
 * NTFS and FAT have the number of sectors in front of the partition ("hidden sectors") at
 * byte 28, as Microsoft documents them; the copy of NTFS is behind the last sector of the
 * filesystem, which is the partition's last one, and that of FAT32 where byte 50 says.  exFAT
 * has it at byte 64, in both of its boot regions, each of which ends with a checksum
 * ("exFAT file system specification", revision 1.00, sections 3.1 and 3.4).
 *
 * Copies are changed first: until all are, the first boot sector is found by its old number.
 */
#include "common/layout/boot_place.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"

enum {
	NAME_AT = 3,
	HIDDEN_AT = 28,
	NTFS_SECTORS_AT = 40,
	FAT32_COPY_AT = 50,
	FAT32_FATS_AT = 22, /* 16 bits that are 0 in FAT32 */
	BYTES_PER_SECTOR_AT = 11,
	SIGNATURE_AT = 510,
	EXFAT_OFFSET_AT = 64,
	EXFAT_SHIFT_AT = 108,
	EXFAT_FLAGS_AT = 106, /* two bytes that the checksum leaves out */
	EXFAT_USED_AT = 112,  /* and one more */
	EXFAT_SUMMED = 11,    /* sectors of a boot region in front of its checksum */
	EXFAT_REGION = 12,
	EXFAT_SHIFT_MIN = 9,
	EXFAT_SHIFT_MAX = 12,
};

static bool
is_boot_sector(const uint8_t b[SECTOR_BYTES])
{
	return (b[0] == 0xeb || b[0] == 0xe9) && b[SIGNATURE_AT] == 0x55 &&
	       b[SIGNATURE_AT + 1] == 0xaa;
}

/* Set the hidden sectors of a boot sector that has those of the old place. */
static int
set_hidden(struct disk *d, struct range was, struct range is, uint64_t sector, uint64_t unit,
    struct err *e)
{
	uint64_t at = (is.off + sector) * SECTOR_BYTES, now = is.off / unit;
	uint8_t b[SECTOR_BYTES];

	if (sector >= is.len)
		return 0;
	if (disk_read(d, b, sizeof b, at, e) != 0)
		return -1;
	if (!is_boot_sector(b) || get_le32(b + HIDDEN_AT) != was.off / unit)
		return 0;
	put_le32(b + HIDDEN_AT, now <= UINT32_MAX ? (uint32_t)now : 0);
	return disk_write(d, b, sizeof b, at, e);
}

static int
adapt_hidden(struct disk *d, struct range was, struct range is, const uint8_t *b,
    struct err *e)
{
	unsigned bytes = get_le16(b + BYTES_PER_SECTOR_AT);
	uint64_t unit = bytes >= SECTOR_BYTES ? bytes / SECTOR_BYTES : 1, copy = 0;
	bool ntfs = memcmp(b + NAME_AT, "NTFS", 4) == 0;

	if (ntfs)
		copy = get_le64(b + NTFS_SECTORS_AT);
	else if (get_le16(b + FAT32_FATS_AT) == 0)
		copy = get_le16(b + FAT32_COPY_AT);
	if (copy != 0 && copy < is.len &&
	    set_hidden(d, was, is, copy * unit, unit, e) != 0)
		return -1;
	/* A filesystem that was made smaller leaves it at the end of the partition. */
	if (ntfs && is.len >= unit && set_hidden(d, was, is, is.len - unit, unit, e) != 0)
		return -1;
	return set_hidden(d, was, is, 0, unit, e);
}

/* The checksum of a boot region that has this offset of the partition. */
static uint32_t
exfat_sum(uint8_t *region, size_t sector_bytes, uint64_t offset)
{
	uint32_t sum = 0;

	put_le64(region + EXFAT_OFFSET_AT, offset);
	for (size_t i = 0; i < EXFAT_SUMMED * sector_bytes; i++)
		if (i != EXFAT_FLAGS_AT && i != EXFAT_FLAGS_AT + 1 && i != EXFAT_USED_AT)
			sum = (sum >> 1 | sum << 31) + region[i];
	return sum;
}

/* Adapt a boot region that is in memory; returns whether it is to be written.  One that is
 * damaged is left as it is.  After a crash, the number may be the new one and the checksum
 * the old one. */
static bool
exfat_set(uint8_t *region, size_t sector_bytes, uint64_t was, uint64_t is)
{
	uint8_t *sums = region + EXFAT_SUMMED * sector_bytes;
	uint64_t has = get_le64(region + EXFAT_OFFSET_AT);

	if (has != was && has != is)
		return false;
	uint32_t old = exfat_sum(region, sector_bytes, was);
	uint32_t now = exfat_sum(region, sector_bytes, is);
	if (get_le32(sums) != old && get_le32(sums) != now)
		return false;
	for (size_t i = 0; i < sector_bytes; i += sizeof now)
		put_le32(sums + i, now);
	return true;
}

static int
adapt_region(struct disk *d, struct range was, struct range is, unsigned region,
    unsigned shift, struct err *e)
{
	size_t sector = (size_t)1 << shift, bytes = EXFAT_REGION * sector;
	uint64_t at = is.off * SECTOR_BYTES + region * bytes, unit = sector / SECTOR_BYTES;

	if ((region + UINT64_C(1)) * bytes > is.len * SECTOR_BYTES)
		return 0;
	uint8_t *buf = malloc(bytes);
	if (buf == NULL)
		return err_nomem(e, "a boot region");
	int rc = disk_read(d, buf, bytes, at, e);
	if (rc == 0 && exfat_set(buf, sector, was.off / unit, is.off / unit))
		rc = disk_write(d, buf, bytes, at, e);
	free(buf);
	return rc;
}

int
boot_place_adapt(struct disk *d, struct range was, struct range is, struct err *e)
{
	uint8_t b[SECTOR_BYTES];

	if (is.len == 0)
		return 0;
	if (disk_read(d, b, sizeof b, is.off * SECTOR_BYTES, e) != 0)
		return -1;
	if (memcmp(b + NAME_AT, "EXFAT   ", 8) != 0)
		return is_boot_sector(b) ? adapt_hidden(d, was, is, b, e) : 0;
	unsigned shift = b[EXFAT_SHIFT_AT];
	if (shift < EXFAT_SHIFT_MIN || shift > EXFAT_SHIFT_MAX)
		return 0;
	return adapt_region(d, was, is, 1, shift, e) == 0
	           ? adapt_region(d, was, is, 0, shift, e)
	           : -1;
}
