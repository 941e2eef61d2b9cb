/* ffs_inodes.c: reports the free inodes of UFS, of which only the generation still has a
 * meaning. The table of ffs.c names its function, which imagezip and bsdlabel.c call in
 * the thread that scans. */
#include <stdlib.h>

#include "fsmods/ffs/ffs_impl.h"

enum {
	UFS1_GENERATION_AT = 108, /* in an inode: u32 */
	UFS2_GENERATION_AT = 80,
};

/* Find the inode map of a group; fails when it does not agree with the group's count. */
static int
find_inode_map(
    const struct ffs *f, const struct ffs_group *g, const uint8_t **map, struct err *e)
{
	uint32_t at = ffs_group_u32(f, g, FFS_CG_IUSEDOFF), free = 0;
	uint64_t bytes = (uint64_t)f->ipg *
	                 (f->ufs2 ? FFS_UFS2_INODE_BYTES : FFS_UFS1_INODE_BYTES);

	if (at < FFS_CG_HEADER_BYTES ||
	    !range_within(
		(struct range){ at, ((uint64_t)f->ipg + 7) / 8 }, f->cgsize) ||
	    bytes > (uint64_t)(f->dblkno - f->iblkno) * f->fsize)
		return ffs_group_bad(
		    g, "its table of inodes has an impossible place or size", e);
	*map = g->block + at;
	for (uint32_t i = 0; i < f->ipg; i++)
		free += ~(*map)[i / 8] >> i % 8 & 1;
	if (free != ffs_group_u32(f, g, FFS_CG_NIFREE))
		return ffs_group_bad(g, "its inode map and its free count differ", e);
	return 0;
}

/* Report the free inodes of a group. On UFS2, inodes that were never initialised are left
 * out: they are not stored anyway. */
static int
report_inodes(const struct ffs *f, const struct ffs_group *g, fs_records_fn fn,
    void *arg, struct err *e)
{
	const uint8_t *map = NULL;
	uint32_t bytes = f->ufs2 ? FFS_UFS2_INODE_BYTES : FFS_UFS1_INODE_BYTES, n;
	uint64_t first = (g->base + g->rotated + f->iblkno) * f->fsize;

	if (find_inode_map(f, g, &map, e) != 0)
		return -1;
	uint32_t end = f->ufs2 ? ffs_group_u32(f, g, FFS_CG_INITEDIBLK) : f->ipg;
	for (uint32_t i = 0; i < end && i<f->ipg; i += n> 0 ? n : 1) {
		for (n = 0; i + n < end && i + n < f->ipg; n++)
			if (map[(i + n) / 8] >> (i + n) % 8 & 1)
				break;
		struct fs_records r = { .at_bytes = first + (uint64_t)i * bytes,
			.count = n,
			.record_bytes = bytes,
			.keep_at = f->ufs2 ? UFS2_GENERATION_AT : UFS1_GENERATION_AT,
			.keep_bytes = 4 };
		if (n > 0 && fn(arg, &r, e) != 0)
			return -1;
	}
	return 0;
}

int
ffs_free_inodes(
    struct disk *d, struct range part, fs_records_fn fn, void *arg, struct err *e)
{
	struct ffs f = { .disk = d, .part = part };
	struct ffs_group g;
	int rc = 0;

	if (ffs_open(&f, e) != 0)
		return -1;
	uint8_t *block = malloc(f.cgsize);
	if (block == NULL)
		return err_nomem(e, "a cylinder group");
	for (uint32_t c = 0; c < f.ncg && rc == 0; c++) {
		rc = ffs_read_group(&f, &g, c, block, e);
		if (rc == 0)
			rc = report_inodes(&f, &g, fn, arg, e);
	}
	free(block);
	return rc;
}
