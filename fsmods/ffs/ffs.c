/* ffs.c: the Berkeley fast file system, UFS1 and UFS2, of either byte order. fsmods.c
 * calls its functions, in the first thread of imagezip.
 *
 * Skipped are the fragments that the bitmaps of the cylinder groups call free, and on
 * UFS2 the inode blocks that were never initialised, which the system writes before it
 * uses them. The free counts of bitmaps, groups and superblock must agree, and no bitmap
 * may call its group's own metadata free. A filesystem that was not cleanly unmounted is
 * stored completely. Soft updates, and their journal, which is a file, leave nothing to
 * do on a clean filesystem.
 *
 * Source: the header sys/ufs/ffs/fs.h of 4.4BSD, FreeBSD and NetBSD, and fs(5).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "fsmods/ffs/ffs_impl.h"

enum {
	SUPER_SECTORS = 3, /* 1376 bytes */
	HOT_GROUPS = 128,  /* evenly spread, if there are more */
};

static int
skip_frags(const struct ffs *f, uint64_t first, uint64_t count, struct err *e)
{
	uint64_t sectors = f->fsize / SECTOR_BYTES;

	return skip_add(f->sink, (struct range){ first * sectors, count * sectors }, e);
}

/* The run of free fragments ends: report it, and fail if it has metadata in it. */
static int
end_run(const struct ffs *f, struct ffs_group *g, struct err *e)
{
	uint32_t n = g->run_len, first = g->run_first;

	g->run_len = 0;
	if (n == 0)
		return 0;
	if (range_clip(g->metadata, first, (uint64_t)first + n).len != 0 ||
	    range_clip(f->summary, g->base + first, g->base + first + n).len != 0)
		return ffs_group_bad(g, "its bitmap marks metadata as free", e);
	return skip_frags(f, g->base + first, n, e);
}

static void
add_to_run(struct ffs_group *g, uint32_t first, uint32_t n)
{
	if (g->run_len == 0)
		g->run_first = first;
	g->run_len += n;
}

/* Count the free fragments of one block, or the block, if all of it is free. */
static int
count_block(
    const struct ffs *f, struct ffs_group *g, uint32_t at, uint32_t n, struct err *e)
{
	uint32_t free = 0;

	for (uint32_t i = at; i < at + n; i++) {
		if (g->free[i / 8] >> i % 8 & 1) {
			add_to_run(g, i, 1);
			free++;
		} else if (end_run(f, g, e) != 0) {
			return -1;
		}
	}
	if (free == f->frag)
		g->nbfree++;
	else
		g->nffree += free;
	return 0;
}

static int
scan_bitmap(const struct ffs *f, struct ffs_group *g, struct err *e)
{
	for (uint32_t at = 0, n; at < g->frags; at += n) {
		uint32_t left = g->frags - at;
		uint8_t eight = g->free[at / 8];
		if (at % 8 == 0 && left >= 8 && eight == 0xff) {
			n = 8;
			add_to_run(g, at, n);
			g->nbfree += 8 / f->frag;
		} else if (at % 8 == 0 && left >= 8 && eight == 0) {
			n = 8;
			if (end_run(f, g, e) != 0)
				return -1;
		} else {
			n = left < f->frag ? left : f->frag;
			if (count_block(f, g, at, n, e) != 0)
				return -1;
		}
	}
	return end_run(f, g, e);
}

/* Skip, on UFS2, the inode blocks behind the last one that was ever used. */
static int
skip_inodes(const struct ffs *f, const struct ffs_group *g, struct err *e)
{
	uint32_t inited = ffs_group_u32(f, g, FFS_CG_INITEDIBLK);
	uint32_t used_at = ffs_group_u32(f, g, FFS_CG_IUSEDOFF);
	uint32_t per_block = f->bsize / FFS_UFS2_INODE_BYTES;
	uint64_t first = f->iblkno +
	                 ((uint64_t)inited + per_block - 1) / per_block * f->frag;
	uint64_t end = f->iblkno +
	               ((uint64_t)f->ipg + per_block - 1) / per_block * f->frag;

	if (inited > f->ipg || end > f->dblkno || used_at < FFS_CG_HEADER_BYTES ||
	    !range_within(
		(struct range){ used_at, ((uint64_t)f->ipg + 7) / 8 }, f->cgsize))
		return ffs_group_bad(
		    g, "its table of inodes has an impossible place or size", e);
	for (uint32_t i = inited; i < f->ipg; i++)
		if (g->block[used_at + i / 8] >> i % 8 & 1)
			return ffs_group_bad(
			    g, "it uses inodes that were never initialised", e);
	return first < end ? skip_frags(f, g->base + first, end - first, e) : 0;
}

/* A group's header has the time of its last change.  The superblock has one, too, and goes
 * with the first group. */
static int
report_hot(const struct ffs *f, const struct ffs_group *g, struct err *e)
{
	uint64_t each = f->fsize / SECTOR_BYTES;

	if (g->number % (f->ncg / HOT_GROUPS + 1) != 0)
		return 0;
	if (g->number == 0 &&
	    skip_hot(f->sink,
		(struct range){ f->super_at / SECTOR_BYTES, SUPER_SECTORS }, e) != 0)
		return -1;
	return skip_hot(f->sink, (struct range){ g->at * each, each }, e);
}

static int
scan_group(struct ffs *f, uint32_t c, uint8_t *block, struct err *e)
{
	struct ffs_group g;

	if (ffs_read_group(f, &g, c, block, e) != 0 || scan_bitmap(f, &g, e) != 0)
		return -1;
	if (g.nbfree != ffs_group_u32(f, &g, FFS_CG_NBFREE) ||
	    g.nffree != ffs_group_u32(f, &g, FFS_CG_NFFREE))
		return ffs_group_bad(&g, "its bitmap and its free counts differ", e);
	f->seen_nbfree += g.nbfree;
	f->seen_nffree += g.nffree;
	if (report_hot(f, &g, e) != 0)
		return -1;
	return f->ufs2 ? skip_inodes(f, &g, e) : 0;
}

static int
scan_groups(struct ffs *f, struct err *e)
{
	uint8_t *block = malloc(f->cgsize);
	int rc = 0;

	if (block == NULL)
		return err_nomem(e, "a cylinder group");
	for (uint32_t c = 0; c < f->ncg && rc == 0; c++)
		rc = scan_group(f, c, block, e);
	free(block);
	if (rc == 0 && (f->seen_nbfree != f->nbfree || f->seen_nffree != f->nffree))
		return err_set(e, ERR_FORMAT,
		    "its cylinder groups have %" PRIu64 " free blocks and %" PRIu64
		    " fragments, its superblock says %" PRIu64 " and %" PRIu64,
		    f->seen_nbfree, f->seen_nffree, f->nbfree, f->nffree);
	return rc;
}

static int
ffs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct ffs f = { .disk = d, .part = part, .sink = sink };

	if (ffs_open(&f, e) != 0 || scan_groups(&f, e) != 0)
		return -1;
	if (!(f.flags & FFS_FLAG_LOG))
		skip_fs_end(sink, f.size * (f.fsize / SECTOR_BYTES));
	return 0;
}

const struct fsmod fsmod_ffs = {
	.name = "ufs",
	.title = "UFS (FFS) filesystem",
	.probe = ffs_probe,
	.scan = ffs_scan,
	.free_inodes = ffs_free_inodes,
};
