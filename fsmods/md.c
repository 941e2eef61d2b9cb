/* md.c: finds superblocks of Linux RAID, and makes one right for another place.
 *
 * foreign.c asks whether a partition is a member; common/behind/end_signature.c asks where
 * the metadata at the end of a member begins; imageunzip/install/target_tail.c moves a
 * superblock. The functions have no state, so any thread may call them.
 */
#include "fsmods/md.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum {
	MD_MAGIC = (int)0xa92b4efc,
	MD0_LEVEL_AT = 28,
	MD0_ALIGN_SECTORS = 128,
	MD1_FEATURES_AT = 8,
	MD1_LEVEL_AT = 72,
	MD1_BITMAP_AT = 96, /* i32 sectors, from the superblock */
	MD1_DATA_AT = 128,  /* u64 first sector, u64 sectors */
	MD1_PLACE_AT = 144,
	MD1_BAD_AT = 186, /* u16 sectors of the list of bad blocks, i32 its place */
	MD1_SUM_AT = 216,
	MD1_ROLES_AT = 220, /* u32: the number of roles, u16 each, from byte 256 on */
	MD1_HAS_BITMAP = 1,
	MD1_FIXED_BYTES = 256,
};

static struct rd
from(const uint8_t *b, size_t at)
{
	struct rd r = rd_from(b, MD_BYTES);

	rd_skip(&r, at);
	return r;
}

static uint32_t
u32_at(const uint8_t *b, size_t at)
{
	struct rd r = from(b, at);

	return rd_le32(&r);
}

static uint64_t
u64_at(const uint8_t *b, size_t at)
{
	struct rd r = from(b, at);

	return rd_le64(&r);
}

/* Read up to MD_BYTES at a sector of the member; what lies beyond its end is zeros.
 * false: the sector lies outside, or cannot be read. */
static bool
look(struct disk *d, struct range member, uint64_t sector, uint8_t b[MD_BYTES])
{
	struct err ignored;
	uint64_t left = sector < member.len ? (member.len - sector) * SECTOR_BYTES : 0;
	size_t n = left < MD_BYTES ? (size_t)left : MD_BYTES;

	memset(b, 0, MD_BYTES);
	return n > 0 &&
	       disk_read(d, b, n, (member.off + sector) * SECTOR_BYTES, &ignored) == 0;
}

uint64_t
md0_place(uint64_t sectors)
{
	uint64_t end = sectors / MD0_ALIGN_SECTORS * MD0_ALIGN_SECTORS;

	return end < MD0_ALIGN_SECTORS ? UINT64_MAX : end - MD0_ALIGN_SECTORS;
}

uint64_t
md1_place(uint64_t sectors)
{
	return sectors <= 16 ? UINT64_MAX : (sectors - 16) / 8 * 8;
}

bool
md0_find(struct disk *d, struct range member, struct md *md)
{
	uint8_t b[MD_BYTES];
	uint64_t at = md0_place(member.len);

	if (at == UINT64_MAX || !look(d, member, at, b))
		return false;
	bool swapped = u32_at(b, 0) == __builtin_bswap32((uint32_t)MD_MAGIC);
	if ((u32_at(b, 0) != (uint32_t)MD_MAGIC && !swapped) || u32_at(b, 4) != 0)
		return false;
	uint32_t level = u32_at(b, MD0_LEVEL_AT);
	*md = (struct md){
		.level = swapped ? __builtin_bswap32(level) : level,
		.at = at,
		.meta_from = at, /* the bitmap is behind the superblock */
	};
	return true;
}

/* The first sector of the metadata at the end of the member. The bitmap and the list of
 * bad blocks may lie in front of the superblock; sectors behind the data area do not hold
 * data either. */
static uint64_t
md1_meta_from(const uint8_t *b, uint64_t at)
{
	struct rd bad = from(b, MD1_BAD_AT), data = from(b, MD1_DATA_AT);
	uint64_t least = at, first = rd_le64(&data), sectors = rd_le64(&data);
	uint16_t bad_sectors = rd_le16(&bad);
	int64_t offsets[] = {
		u32_at(b, MD1_FEATURES_AT) & MD1_HAS_BITMAP
			? (int32_t)u32_at(b, MD1_BITMAP_AT)
			: 0,
		bad_sectors != 0 ? (int32_t)rd_le32(&bad) : 0,
	};

	for (int i = 0; i < 2; i++)
		if (offsets[i] < 0 && (uint64_t)-offsets[i] <= at &&
		    at - (uint64_t)-offsets[i] < least)
			least = at - (uint64_t)-offsets[i];
	if (first < least && sectors <= least - first && sectors > 0)
		least = first + sectors;
	return least;
}

/* A superblock of version 1 says in which sector it lies, so the superblock in a copy of
 * a disk that lies in a file is not mistaken for the member's own. */
bool
md1_find(struct disk *d, struct range member, uint64_t sector, struct md *md)
{
	uint8_t b[MD_BYTES];

	if (sector == UINT64_MAX || !look(d, member, sector, b) ||
	    u32_at(b, 0) != (uint32_t)MD_MAGIC || u32_at(b, 4) != 1 ||
	    u64_at(b, MD1_PLACE_AT) != sector)
		return false;
	*md = (struct md){ .level = u32_at(b, MD1_LEVEL_AT),
		.at = sector,
		.meta_from = md1_meta_from(b, sector) };
	return true;
}

/* The checksum of version 1: the sum of all words, with the checksum's own field as 0,
 * and with the carries added. */
static uint32_t
md1_sum(const uint8_t *b, size_t bytes)
{
	struct rd r = rd_from(b, bytes);
	uint64_t sum = 0;

	while (rd_left(&r) >= 4)
		sum += rd_le32(&r);
	if (rd_left(&r) >= 2)
		sum += rd_le16(&r);
	sum -= u32_at(b, MD1_SUM_AT);
	return (uint32_t)(sum + (sum >> 32));
}

bool
md1_move(uint8_t b[MD_BYTES], uint64_t sector)
{
	uint32_t roles = u32_at(b, MD1_ROLES_AT);
	size_t bytes = MD1_FIXED_BYTES + 2 * (size_t)roles;

	if (u32_at(b, 0) != (uint32_t)MD_MAGIC || u32_at(b, 4) != 1 ||
	    roles > (MD_BYTES - MD1_FIXED_BYTES) / 2 ||
	    md1_sum(b, bytes) != u32_at(b, MD1_SUM_AT))
		return false;
	struct wr place = wr_to(b + MD1_PLACE_AT, 8), sum = wr_to(b + MD1_SUM_AT, 4);
	wr_le64(&place, sector);
	wr_le32(&sum, md1_sum(b, bytes));
	return true;
}
