/* f2fs_super.c: reads the two copies of the superblock of F2FS: features, and where the
 * areas are. f2fs.c calls this, in the thread that scans. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "fsmods/f2fs/f2fs_impl.h"

enum {
	SUPER_AT = 1024, /* in each of the first two blocks */
	SUPER_BYTES = 3072,
	SUPER_CRC_AT = SUPER_BYTES - 4,
	SUPER_LAYOUT_BYTES = 124, /* this part must be equal in both copies */
	DEVICES = 8,
	DEVICE_PATH_BYTES = 64,
	ERRORS_BYTES = 16,
};

enum {
	FEATURE_SUPER_CRC = 0x800,
	/* The features up to compression, except zoned devices.  Read-only
	 * filesystems, and features that were added later, are not supported. */
	FEATURES_KNOWN = 0x3ffd,
};

int
f2fs_read(const struct f2fs *f, void *buf, uint64_t first, uint64_t n, struct err *e)
{
	if (!range_within(
		(struct range){ first * F2FS_BLOCK_SECTORS, n * F2FS_BLOCK_SECTORS },
		f->part.len))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(f->disk, buf, n * F2FS_BLOCK,
	    (f->part.off + first * F2FS_BLOCK_SECTORS) * SECTOR_BYTES, e);
}

/* CRC-32 without the usual inversions, which zlib makes. */
uint32_t
f2fs_crc(uint32_t crc, const uint8_t *buf, size_t len)
{
	return ~(uint32_t)crc32_z(~crc, buf, len);
}

static void
get_super(struct f2fs_super *sb, const uint8_t *buf)
{
	struct rd r = rd_from(buf, SUPER_BYTES);

	*sb = (struct f2fs_super){ .magic = rd_le32(&r) };
	rd_skip(&r, 2 + 2 + 4 + 4); /* version; sectors */
	sb->log_block = rd_le32(&r);
	sb->log_segment = rd_le32(&r);
	rd_skip(&r, 4 + 4 + 4); /* sections, zones; checksum */
	sb->blocks = rd_le64(&r);
	rd_skip(&r, 4); /* sections */
	sb->segments = rd_le32(&r);
	sb->cp_segments = rd_le32(&r);
	sb->sit_segments = rd_le32(&r);
	sb->nat_segments = rd_le32(&r);
	sb->ssa_segments = rd_le32(&r);
	sb->main_segments = rd_le32(&r);
	sb->first = rd_le32(&r);
	sb->cp = rd_le32(&r);
	sb->sit = rd_le32(&r);
	sb->nat = rd_le32(&r);
	sb->ssa = rd_le32(&r);
	sb->main = rd_le32(&r);
	rd_skip(&r, 3 * 4 + 16 + 1024); /* inodes; uuid; name */
	rd_skip(&r, 4 + 64 * 8);        /* file name extensions */
	sb->cp_payload = rd_le32(&r);
	rd_skip(&r, 256 + 256); /* kernel versions */
	sb->features = rd_le32(&r);
	rd_skip(&r, 1 + 16); /* encryption */
	for (int i = 0; i < DEVICES; i++) {
		sb->more_devices |= rd_u8(&r) != 0;
		rd_skip(&r, DEVICE_PATH_BYTES - 1 + 4);
	}
	rd_skip(&r, 3 * 4 + 1 + 2 + 2 + 32); /* quotas; names; reasons for stops */
	for (int i = 0; i < ERRORS_BYTES; i++)
		sb->errors |= rd_u8(&r) != 0;
}

int
f2fs_probe(struct disk *d, struct range part, struct err *e)
{
	uint8_t buf[4];

	for (int copy = 0; copy < 2; copy++) {
		uint64_t at = (uint64_t)copy * F2FS_BLOCK + SUPER_AT;
		if (part.len * SECTOR_BYTES < at + SUPER_BYTES)
			return 0;
		if (disk_read(d, buf, sizeof buf, part.off * SECTOR_BYTES + at, e) != 0)
			return -1;
		struct rd r = rd_from(buf, sizeof buf);
		if (rd_le32(&r) == F2FS_MAGIC)
			return 1;
	}
	return 0;
}

/* The areas follow each other without gaps. */
static bool
layout_is_right(const struct f2fs_super *sb)
{
	uint64_t at = sb->first;
	const uint32_t areas[5][2] = {
		{ sb->cp, sb->cp_segments },
		{ sb->sit, sb->sit_segments },
		{ sb->nat, sb->nat_segments },
		{ sb->ssa, sb->ssa_segments },
		{ sb->main, sb->main_segments },
	};

	for (int i = 0; i < 5; i++) {
		if (areas[i][0] != at || areas[i][1] == 0)
			return false;
		at += (uint64_t)areas[i][1] * F2FS_SEGMENT;
	}
	return sb->first >= 2 && sb->cp_segments >= 2 && at <= sb->blocks &&
	       at <= sb->first + (uint64_t)sb->segments * F2FS_SEGMENT;
}

static int
check_super(const struct f2fs_super *sb, struct range part, struct err *e)
{
	uint64_t sit_blocks = (uint64_t)sb->sit_segments / 2 * F2FS_SEGMENT;

	if (sb->log_block != 12 || sb->log_segment != 9)
		return err_set(
		    e, ERR_UNSUPPORTED, "its blocks or segments are of unknown size");
	if (sb->more_devices)
		return err_set(e, ERR_UNSUPPORTED, "it has more than one device");
	if (sb->features & ~(uint32_t)FEATURES_KNOWN)
		return err_set(e, ERR_UNSUPPORTED, "unknown features (0x%" PRIx32 ")",
		    sb->features & ~(uint32_t)FEATURES_KNOWN);
	if (sb->errors)
		return err_set(e, ERR_FORMAT, "errors were noted in it");
	if (!layout_is_right(sb) || sit_blocks * F2FS_SIT_ENTRIES < sb->main_segments ||
	    sb->cp_payload >= F2FS_SEGMENT)
		return err_set(e, ERR_FORMAT,
		    "its superblock puts its areas at impossible places");
	if (sb->blocks > part.len / F2FS_BLOCK_SECTORS)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " blocks of %d bytes, more "
		    "than the partition",
		    sb->blocks, F2FS_BLOCK);
	return 0;
}

static bool
super_crc_is_right(const struct f2fs_super *sb, const uint8_t *buf)
{
	struct rd r = rd_from(buf + SUPER_CRC_AT, 4);

	return !(sb->features & FEATURE_SUPER_CRC) ||
	       f2fs_crc(F2FS_MAGIC, buf, SUPER_CRC_AT) == rd_le32(&r);
}

int
f2fs_read_super(struct f2fs *f, struct err *e)
{
	uint8_t buf[2 * F2FS_BLOCK];
	struct f2fs_super other;

	if (f2fs_read(f, buf, 0, 2, e) != 0)
		return -1;
	get_super(&f->sb, buf + SUPER_AT);
	get_super(&other, buf + F2FS_BLOCK + SUPER_AT);
	if (f->sb.magic != F2FS_MAGIC || other.magic != F2FS_MAGIC ||
	    memcmp(buf + SUPER_AT, buf + F2FS_BLOCK + SUPER_AT, SUPER_LAYOUT_BYTES) !=
		0 ||
	    f->sb.features != other.features || f->sb.cp_payload != other.cp_payload)
		return err_set(
		    e, ERR_FORMAT, "the two copies of its superblock differ");
	if (!super_crc_is_right(&f->sb, buf + SUPER_AT) ||
	    !super_crc_is_right(&other, buf + F2FS_BLOCK + SUPER_AT))
		return err_set(
		    e, ERR_FORMAT, "the checksum of its superblock is wrong");
	f->sb.errors |= other.errors;
	f->sb.more_devices |= other.more_devices;
	return check_super(&f->sb, f->part, e);
}
