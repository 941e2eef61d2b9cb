/* ffs_group.c: reads and checks a cylinder group of UFS. ffs.c and ffs_inodes.c call
 * this, in the thread that scans. */
#include <inttypes.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/btrfs/btrfs_sum.h"
#include "fsmods/ffs/ffs_impl.h"

int
ffs_group_bad(const struct ffs_group *g, const char *what, struct err *e)
{
	return err_set(
	    e, ERR_FORMAT, "cylinder group %" PRIu32 ": %s", g->number, what);
}

uint32_t
ffs_group_u32(const struct ffs *f, const struct ffs_group *g, size_t at)
{
	return ffs_u32(f, g->block, f->cgsize, at);
}

/* The check hash is a CRC-32C that is not inverted at its end. */
static bool
group_sum_right(const struct ffs *f, uint8_t *block)
{
	uint32_t said = ffs_u32(f, block, f->cgsize, FFS_CG_CKHASH);
	uint8_t kept[4], sum[BTRFS_SUM_BYTES];

	memcpy(kept, block + FFS_CG_CKHASH, sizeof kept);
	memset(block + FFS_CG_CKHASH, 0, sizeof kept);
	btrfs_sum(BTRFS_CRC32C, block, f->cgsize, sum);
	memcpy(block + FFS_CG_CKHASH, kept, sizeof kept);
	struct rd r = rd_from(sum, sizeof sum);
	return ~rd_le32(&r) == said;
}

static int
check_group(const struct ffs *f, struct ffs_group *g, uint8_t *block, struct err *e)
{
	uint64_t left = f->size - g->base;
	uint32_t freeoff = ffs_u32(f, block, f->cgsize, FFS_CG_FREEOFF);

	g->block = block;
	g->frags = (uint32_t)(left < f->fpg ? left : f->fpg);
	if (ffs_u32(f, block, f->cgsize, FFS_CG_MAGIC_AT) != FFS_CG_MAGIC ||
	    ffs_u32(f, block, f->cgsize, FFS_CG_CGX) != g->number)
		return ffs_group_bad(g, "it is not where it should be", e);
	if (f->cg_sums && !group_sum_right(f, block))
		return ffs_group_bad(g, "its checksum is wrong", e);
	if (ffs_u32(f, block, f->cgsize, FFS_CG_NDBLK) != g->frags)
		return ffs_group_bad(g, "it is not as large as it should be", e);
	if (!range_within(
		(struct range){ freeoff, ((uint64_t)g->frags + 7) / 8 }, f->cgsize) ||
	    freeoff < FFS_CG_HEADER_BYTES)
		return ffs_group_bad(g, "its bitmap lies outside of it", e);
	if (range_end(g->metadata) > g->frags)
		return ffs_group_bad(g, "it is smaller than its metadata", e);
	g->free = block + freeoff;
	return 0;
}

/* Reads the header into block[cgsize], which the group borrows. */
int
ffs_read_group(
    const struct ffs *f, struct ffs_group *g, uint32_t c, uint8_t *block, struct err *e)
{
	*g = (struct ffs_group){ .number = c,
		.base = (uint64_t)c * f->fpg,
		.rotated = (uint64_t)f->cgoffset * (c & ~f->cgmask) };
	if (g->rotated > f->fpg - f->dblkno)
		return ffs_group_bad(g, "its metadata lies at an impossible place", e);
	/* In the first group, boot area and superblock are metadata, too. */
	uint32_t from = c == 0 ? 0 : f->sblkno;
	g->metadata = (struct range){ g->rotated + from, f->dblkno - from };
	g->at = g->base + g->rotated + f->cblkno;
	if (g->at >= f->size)
		return ffs_group_bad(g, "it lies outside the filesystem", e);
	if (disk_read(f->disk, block, f->cgsize,
		f->part.off * SECTOR_BYTES + g->at * f->fsize, e) != 0)
		return -1;
	return check_group(f, g, block, e);
}
