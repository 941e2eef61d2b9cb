/* super.c: the length of a filesystem, as its superblock says.  resize.c calls this, and
 * so does whoever has to know how far a filesystem reaches, in its caller's thread.
 * Offsets are those of the documents that super.h names. */
#include "common/resize/super.h"

#include <string.h>

#include "common/base/rd.h"

enum {
	EXT_AT = 1024,
	EXT_MAGIC = 0xef53,
	EXT_64BIT = 0x80, /* of the incompatible features */
	BTRFS_AT = 64 * 1024,
	LVM2_AT = 512,
	SWAP_AT = 1024,
	SWAP_MAGIC_BYTES = 10,
	PAGE_BYTES_MAX = 64 * 1024,
	F2FS_AT = 1024,
	F2FS_SECTOR_BYTES_MAX = 4096,
	UFS1_AT = 8 * 1024,
	UFS2_AT = 64 * 1024,
	SECTOR_BYTES_MAX = 4096,
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

#define F2FS_MAGIC UINT32_C(0xf2f52010)
#define UFS1_MAGIC UINT32_C(0x00011954)
#define UFS2_MAGIC UINT32_C(0x19540119)

/* A number at this byte of the head, or 0 behind its end. */
static uint64_t
le_at(struct rd r, size_t at, unsigned bytes)
{
	rd_skip(&r, at);
	return bytes == 1   ? rd_u8(&r)
	       : bytes == 2 ? rd_le16(&r)
	       : bytes == 4 ? rd_le32(&r)
	                    : rd_le64(&r);
}

static bool
has(struct rd r, size_t at, const char *text, size_t n)
{
	rd_skip(&r, at);
	const void *p = rd_bytes(&r, n);

	return p != NULL && memcmp(p, text, n) == 0;
}

static bool
is_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* Can a disk have sectors of this size? */
static bool
is_sector(uint64_t bytes)
{
	return is_power_of_two(bytes) && bytes >= 512 && bytes <= SECTOR_BYTES_MAX;
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
	s->sector_bytes = shift <= 6 ? UINT32_C(1024) << shift : 0;
	return magic && shift <= 6 && fill(s, &r, blocks, UINT64_C(1024) << shift);
}

static bool
get_xfs(struct rd r, struct super *s)
{
	const void *magic = rd_bytes(&r, 4);
	uint32_t block_bytes = rd_be32(&r);
	uint64_t blocks = rd_be64(&r);

	rd_skip(&r, 102 - 16);
	s->sector_bytes = rd_be16(&r);
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

	s->sector_bytes = block_bytes;
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
	rd_skip(&r, 0x28 - 13);
	uint64_t sectors = rd_le64(&r);

	s->sector_bytes = (uint32_t)sector_bytes;
	return magic != NULL && memcmp(magic, "NTFS    ", 8) == 0 && sectors < UINT64_MAX &&
	       fill(s, &r, sectors + 1, sector_bytes);
}

static bool
get_exfat(struct rd r, struct super *s)
{
	uint64_t shift = le_at(r, 108, 1);

	if (!has(r, 3, "EXFAT   ", 8) || shift < 9 || shift > 12)
		return false;
	s->sector_bytes = UINT32_C(1) << shift;
	return fill(s, &r, le_at(r, 72, 8), s->sector_bytes);
}

/* The boot sector of FAT has no magic: all that it says must be possible. */
static bool
get_fat(struct rd r, struct super *s)
{
	uint64_t bytes = le_at(r, 11, 2), cluster = le_at(r, 13, 1);
	uint64_t short_total = le_at(r, 19, 2), fats = le_at(r, 16, 1);

	if (!has(r, 510, "\x55\xaa", 2) || !is_sector(bytes) ||
	    !is_power_of_two(cluster) || le_at(r, 14, 2) == 0 ||
	    fats < 1 || fats > 2 || le_at(r, 21, 1) < 0xf0)
		return false;
	s->sector_bytes = (uint32_t)bytes;
	return fill(s, &r, short_total != 0 ? short_total : le_at(r, 32, 4), bytes);
}

static bool
get_f2fs(struct rd r, struct super *s)
{
	uint64_t shift = le_at(r, F2FS_AT + 16, 4);

	if (le_at(r, F2FS_AT, 4) != F2FS_MAGIC || shift < 12 || shift > 16)
		return false;
	s->sector_bytes = F2FS_SECTOR_BYTES_MAX;
	return fill(s, &r, le_at(r, F2FS_AT + 36, 8), UINT64_C(1) << shift);
}

/* The signature ends the first page, of the machine that made the swap; its byte order is
 * that of the version. */
static bool
get_swap(struct rd r, struct super *s)
{
	struct rd at = r;
	uint32_t page = 4096;

	while (page <= PAGE_BYTES_MAX &&
	       !has(r, page - SWAP_MAGIC_BYTES, "SWAPSPACE2", SWAP_MAGIC_BYTES))
		page *= 2;
	rd_skip(&at, SWAP_AT);
	uint32_t version = rd_le32(&at), last = rd_le32(&at);
	if (version == __builtin_bswap32(1))
		last = __builtin_bswap32(last);
	else if (version != 1)
		return false;
	s->sector_bytes = page;
	return page <= PAGE_BYTES_MAX && fill(s, &r, (uint64_t)last + 1, page);
}

/* The label of a physical volume is in its second sector, unless somebody wanted it
 * elsewhere. */
static bool
get_lvm2(struct rd r, struct super *s)
{
	return has(r, LVM2_AT, "LABELONE", 8) && has(r, LVM2_AT + 24, "LVM2 001", 8) &&
	       fill(s, &r, le_at(r, LVM2_AT + 64, 8) / 512, 512);
}

/* Is the superblock of UFS here, and not a copy of one that is elsewhere? */
static bool
is_ufs(struct rd r, size_t at, bool *ufs2)
{
	uint64_t magic = le_at(r, at + 1372, 4);

	*ufs2 = magic == UFS2_MAGIC;
	if (!*ufs2 && magic != UFS1_MAGIC)
		return false;
	return le_at(r, at + 1000, 8) == at || (!*ufs2 && at == UFS1_AT);
}

/* A filesystem of a machine that counts in the other byte order is left to its module. */
static bool
get_ufs(struct rd r, struct super *s)
{
	size_t at = UFS2_AT;
	bool ufs2;

	if (!is_ufs(r, at, &ufs2) && !is_ufs(r, at = UFS1_AT, &ufs2))
		return false;
	uint64_t bytes = le_at(r, at + 52, 4);
	s->sector_bytes = (uint32_t)bytes;
	return is_power_of_two(bytes) && bytes >= 512 &&
	       fill(s, &r, le_at(r, at + (ufs2 ? 1080 : 36), ufs2 ? 8 : 4), bytes);
}

bool
super_get(const char *type, const void *head, size_t len, struct super *s)
{
	static const struct {
		const char *type;
		bool (*get)(struct rd, struct super *);
	} kinds[] = { { "ext2", get_ext }, { "ext3", get_ext }, { "ext4", get_ext },
		{ "xfs", get_xfs }, { "btrfs", get_btrfs }, { "ntfs", get_ntfs },
		{ "vfat", get_fat }, { "LVM2_member", get_lvm2 } };

	*s = (struct super){ .devices = 1 };
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return kinds[i].get(rd_from(head, len), s);
	return false;
}

const char *
super_find(const void *head, size_t len, struct super *s)
{
	/* What has the shortest magic comes last, since leftovers of others may stand
	 * there. */
	static const struct {
		const char *name;
		bool (*get)(struct rd, struct super *);
	} kinds[] = { { "xfs", get_xfs }, { "btrfs", get_btrfs }, { "lvm2", get_lvm2 },
		{ "ntfs", get_ntfs }, { "exfat", get_exfat }, { "f2fs", get_f2fs },
		{ "swap", get_swap }, { "ufs", get_ufs }, { "ext4", get_ext },
		{ "fat", get_fat } };

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		*s = (struct super){ .devices = 1 };
		if (kinds[i].get(rd_from(head, len), s))
			return kinds[i].name;
	}
	*s = (struct super){ .devices = 1 };
	return NULL;
}
