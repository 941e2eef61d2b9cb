/* super.c: the length of a filesystem, as its superblock says.  resize.c calls this, in its
 * caller's thread.  Offsets are those of the documents that super.h names. */
#include "common/resize/super.h"

#include <string.h>

#include "common/base/rd.h"

enum {
	EXT_AT = 1024,
	EXT_MAGIC = 0xef53,
	EXT_64BIT = 0x80, /* of the incompatible features */
	BTRFS_AT = 64 * 1024,
	BLOCK_BYTES_MAX = 64 * 1024,
};

/* Put the length in blocks into s; false for a block or a length that cannot be. */
static bool
fill(struct super *s, const struct rd *r, uint64_t blocks, uint64_t block_bytes)
{
	if (!rd_ok(r) || block_bytes == 0 || block_bytes > BLOCK_BYTES_MAX ||
	    blocks == 0 || blocks > UINT64_MAX / block_bytes)
		return false;
	s->block_bytes = (uint32_t)block_bytes;
	s->bytes = blocks * block_bytes;
	return true;
}

static bool
get_ext(struct rd r, struct super *s)
{
	rd_skip(&r, EXT_AT + 4);
	uint64_t blocks = rd_le32(&r);
	rd_skip(&r, 16);
	uint32_t shift = rd_le32(&r);
	rd_skip(&r, 28);
	bool magic = rd_le16(&r) == EXT_MAGIC;
	rd_skip(&r, 38);
	uint32_t incompat = rd_le32(&r);
	rd_skip(&r, 0x150 - 100);
	uint64_t high = rd_le32(&r);

	if ((incompat & EXT_64BIT) != 0)
		blocks |= high << 32;
	return magic && shift <= 6 && fill(s, &r, blocks, UINT64_C(1024) << shift);
}

static bool
get_xfs(struct rd r, struct super *s)
{
	const void *magic = rd_bytes(&r, 4);
	uint32_t block_bytes = rd_be32(&r);
	uint64_t blocks = rd_be64(&r);

	return magic != NULL && memcmp(magic, "XFSB", 4) == 0 &&
	       fill(s, &r, blocks, block_bytes);
}

static bool
get_btrfs(struct rd r, struct super *s)
{
	rd_skip(&r, BTRFS_AT + 64);
	const void *magic = rd_bytes(&r, 8);
	rd_skip(&r, 64);
	s->devices = rd_le64(&r);
	uint32_t block_bytes = rd_le32(&r);
	rd_skip(&r, 209 - 148);
	uint64_t bytes = rd_le64(&r);

	return magic != NULL && memcmp(magic, "_BHRfS_M", 8) == 0 && block_bytes != 0 &&
	       fill(s, &r, bytes / block_bytes, block_bytes);
}

/* The last sector of the partition, a copy of the first, is not counted in the boot sector. */
static bool
get_ntfs(struct rd r, struct super *s)
{
	rd_skip(&r, 3);
	const void *magic = rd_bytes(&r, 8);
	uint64_t sector_bytes = rd_le16(&r);
	uint8_t per_cluster = rd_u8(&r); /* above 128: a power of two, negated */
	rd_skip(&r, 0x28 - 14);
	uint64_t sectors = rd_le64(&r);

	if (per_cluster > 128)
		s->cluster_bytes = UINT32_C(1) << (256 - per_cluster) % 32;
	else
		s->cluster_bytes = (uint32_t)sector_bytes * per_cluster;
	return magic != NULL && memcmp(magic, "NTFS    ", 8) == 0 && sectors < UINT64_MAX &&
	       fill(s, &r, sectors + 1, sector_bytes);
}

bool
super_get(const char *type, const void *head, size_t len, struct super *s)
{
	static const struct {
		const char *type;
		bool (*get)(struct rd, struct super *);
	} kinds[] = { { "ext2", get_ext }, { "ext3", get_ext }, { "ext4", get_ext },
		{ "xfs", get_xfs }, { "btrfs", get_btrfs }, { "ntfs", get_ntfs } };

	*s = (struct super){ .devices = 1 };
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return kinds[i].get(rd_from(head, len), s);
	return false;
}
