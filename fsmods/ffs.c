/* ffs.c: the Berkeley fast file system, UFS1 and UFS2, of either byte order.
 *
 * Skipped are the fragments that the bitmaps of the cylinder groups call free, and
 * on UFS2 the inode blocks that were never initialised, which the system writes
 * before it uses them.  The free counts of bitmaps, groups and superblock must
 * agree, and no bitmap may have its group's own metadata free.  What was not
 * cleanly unmounted is kept whole.  Soft updates and their journal, a file, are
 * right on a clean filesystem.
 *
 * The superblock is at 64 KiB (UFS2), 8 KiB (UFS1) or 256 KiB; offsets are below.
 * A block has 1 to 8 fragments; addresses are in fragments.  Group c begins at
 * c * fpg, on UFS1 rotated by cgoffset * (c & ~cgmask).
 *
 * Source: the header sys/ufs/ffs/fs.h of 4.4BSD, FreeBSD and NetBSD, and fs(5).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/btrfs_sum.h"
#include "fsmods/fsmod.h"

enum {
	SUPER_BYTES = 1376,
	UFS1_MAGIC = 0x011954,
	UFS2_MAGIC = 0x19540119,
	UFS2EA_MAGIC = 0x19012038, /* UFS2 of NetBSD, with extended attributes */
	UFS1_INODE_BYTES = 128,
	UFS2_INODE_BYTES = 256,
	UFS1_GENERATION_AT = 108, /* in an inode: u32 */
	UFS2_GENERATION_AT = 80,
	BLOCK_MIN = 4096,
	BLOCK_MAX = 65536,
	FRAGS_MAX = 8,
};

/* Offsets in the superblock. */
enum {
	SB_SBLKNO = 8,
	SB_CBLKNO = 12,
	SB_IBLKNO = 16,
	SB_DBLKNO = 20,
	SB_OLD_CGOFFSET = 24,
	SB_OLD_CGMASK = 28,
	SB_OLD_SIZE = 36,
	SB_NCG = 44,
	SB_BSIZE = 48,
	SB_FSIZE = 52,
	SB_FRAG = 56,
	SB_OLD_CSADDR = 152,
	SB_CSSIZE = 156,
	SB_CGSIZE = 160,
	SB_IPG = 184,
	SB_FPG = 188,
	SB_OLD_NBFREE = 196,
	SB_OLD_NFFREE = 204,
	SB_CLEAN = 209,
	SB_OLD_FLAGS = 211,
	SB_SBLOCKLOC = 1000,
	SB_NBFREE = 1016,
	SB_NFFREE = 1032,
	SB_SIZE = 1080,
	SB_CSADDR = 1096,
	SB_PENDING = 1104,
	SB_METACKHASH = 1308,
	SB_FLAGS = 1312,
	SB_MAGIC = 1372,
};

/* Offsets in a cylinder group. */
enum {
	CG_MAGIC_AT = 4,
	CG_CGX = 12,
	CG_NDBLK = 20,
	CG_NBFREE = 28,
	CG_NIFREE = 32,
	CG_NFFREE = 36,
	CG_IUSEDOFF = 92,
	CG_FREEOFF = 96,
	CG_INITEDIBLK = 120,
	CG_CKHASH = 132,
	CG_HEADER_BYTES = 168,
	CG_MAGIC = 0x090255,
};

enum {
	FLAG_UNCLEAN = 0x01,
	FLAG_NEEDS_FSCK = 0x04,
	FLAG_GJOURNAL = 0x40,
	FLAG_OLD_MOVED = 0x80, /* in the old flags: the new ones count */
	FLAG_LOG = 0x100,      /* NetBSD: a log, perhaps behind the filesystem */
	FLAG_METACKHASH = 0x200,
	CK_CYLGRP = 0x2,
};

struct ffs {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	bool big_endian, ufs2;
	uint32_t sblkno, cblkno, iblkno, dblkno, cgoffset, cgmask, ncg;
	uint32_t bsize, fsize, frag, cgsize, ipg, fpg;
	uint64_t size;           /* fragments */
	struct range summary;    /* fragments of the groups' summaries */
	uint64_t nbfree, nffree; /* as the superblock says */
	uint64_t seen_nbfree, seen_nffree;
	uint64_t pending;
	uint32_t flags;
	uint8_t clean;
	bool cg_sums;
};

/* One cylinder group, and the run of free fragments that is being collected. */
struct group {
	uint32_t number;
	uint64_t base; /* its first fragment */
	uint64_t rotated;
	uint32_t frags;
	struct range metadata; /* fragments relative to base */
	const uint8_t *block, *free;
	uint32_t run_first, run_len;
	uint32_t nbfree, nffree;
};

static uint32_t
u32_at(const struct ffs *f, const uint8_t *b, size_t len, size_t at)
{
	struct rd r = rd_from(b, len);

	rd_skip(&r, at);
	return f->big_endian ? rd_be32(&r) : rd_le32(&r);
}

static uint64_t
u64_at(const struct ffs *f, const uint8_t *b, size_t len, size_t at)
{
	struct rd r = rd_from(b, len);

	rd_skip(&r, at);
	return f->big_endian ? rd_be64(&r) : rd_le64(&r);
}

static uint32_t
sb32(const struct ffs *f, const uint8_t *sb, size_t at)
{
	return u32_at(f, sb, SUPER_BYTES, at);
}

static uint64_t
sb64(const struct ffs *f, const uint8_t *sb, size_t at)
{
	return u64_at(f, sb, SUPER_BYTES, at);
}

static bool
know_magic(struct ffs *f, const uint8_t *sb)
{
	for (int i = 0; i < 2; i++) {
		f->big_endian = i == 1;
		uint32_t magic = sb32(f, sb, SB_MAGIC);
		f->ufs2 = magic == UFS2_MAGIC || magic == UFS2EA_MAGIC;
		if (f->ufs2 || magic == UFS1_MAGIC)
			return true;
	}
	return false;
}

/* The first superblock, in the order in which the systems look for it.  Copies of
 * one may be in these places, too: they say where the original is, except that
 * UFS1 says so only since it is not always at 8 KiB. */
static int
find_super(struct ffs *f, uint8_t sb[SUPER_BYTES], struct err *e)
{
	static const uint64_t places[] = { 65536, 8192, 262144 };

	for (int i = 0; i < 3; i++) {
		if (!range_within((struct range){ places[i], SUPER_BYTES },
			f->part.len * SECTOR_BYTES))
			continue;
		if (disk_read(f->disk, sb, SUPER_BYTES,
			f->part.off * SECTOR_BYTES + places[i], e) != 0)
			return -1;
		if (know_magic(f, sb) && (sb64(f, sb, SB_SBLOCKLOC) == places[i] ||
					     (!f->ufs2 && places[i] == 8192)))
			return 1;
	}
	return 0;
}

static void
decode_super(struct ffs *f, const uint8_t *sb)
{
	uint32_t cs_bytes = sb32(f, sb, SB_CSSIZE);

	f->sblkno = sb32(f, sb, SB_SBLKNO);
	f->cblkno = sb32(f, sb, SB_CBLKNO);
	f->iblkno = sb32(f, sb, SB_IBLKNO);
	f->dblkno = sb32(f, sb, SB_DBLKNO);
	f->cgoffset = f->ufs2 ? 0 : sb32(f, sb, SB_OLD_CGOFFSET);
	f->cgmask = f->ufs2 ? 0 : sb32(f, sb, SB_OLD_CGMASK);
	f->ncg = sb32(f, sb, SB_NCG);
	f->bsize = sb32(f, sb, SB_BSIZE);
	f->fsize = sb32(f, sb, SB_FSIZE);
	f->frag = sb32(f, sb, SB_FRAG);
	f->cgsize = sb32(f, sb, SB_CGSIZE);
	f->ipg = sb32(f, sb, SB_IPG);
	f->fpg = sb32(f, sb, SB_FPG);
	f->clean = sb[SB_CLEAN];
	f->flags = sb[SB_OLD_FLAGS] & ~FLAG_OLD_MOVED;
	if (f->ufs2 || sb[SB_OLD_FLAGS] & FLAG_OLD_MOVED)
		f->flags |= sb32(f, sb, SB_FLAGS);
	f->cg_sums = f->flags & FLAG_METACKHASH &&
	             sb32(f, sb, SB_METACKHASH) & CK_CYLGRP;
	f->size = f->ufs2 ? sb64(f, sb, SB_SIZE) : sb32(f, sb, SB_OLD_SIZE);
	f->nbfree = f->ufs2 ? sb64(f, sb, SB_NBFREE) : sb32(f, sb, SB_OLD_NBFREE);
	f->nffree = f->ufs2 ? sb64(f, sb, SB_NFFREE) : sb32(f, sb, SB_OLD_NFFREE);
	f->pending = f->ufs2 ? sb64(f, sb, SB_PENDING) : 0;
	f->summary.off = f->ufs2 ? sb64(f, sb, SB_CSADDR) : sb32(f, sb, SB_OLD_CSADDR);
	f->summary.len = f->fsize != 0 ? (uint64_t)cs_bytes / f->fsize + 1 : 0;
}

static bool
is_power_of_two(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

static bool
sizes_can_be(const struct ffs *f)
{
	return is_power_of_two(f->bsize) && f->bsize >= BLOCK_MIN &&
	       f->bsize <= BLOCK_MAX && is_power_of_two(f->fsize) &&
	       f->fsize >= SECTOR_BYTES && f->fsize <= f->bsize &&
	       f->frag == f->bsize / f->fsize && f->frag <= FRAGS_MAX;
}

static int
check_super(const struct ffs *f, struct err *e)
{
	if (!sizes_can_be(f))
		return err_set(e, ERR_FORMAT,
		    "blocks of %" PRIu32 " and fragments of %" PRIu32
		    " bytes cannot be",
		    f->bsize, f->fsize);
	if (f->size > f->part.len / (f->fsize / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " fragments of %" PRIu32 " bytes, more "
		    "than the partition",
		    f->size, f->fsize);
	if (f->fpg == 0 || f->fpg % f->frag != 0 || f->size == 0 ||
	    f->ncg != (f->size + f->fpg - 1) / f->fpg)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu32 " cylinder groups of %" PRIu32 " fragments "
		    "do not make %" PRIu64,
		    f->ncg, f->fpg, f->size);
	if (f->cgsize < CG_HEADER_BYTES || f->cgsize > f->bsize ||
	    f->sblkno >= f->cblkno || f->cblkno >= f->iblkno || f->iblkno > f->dblkno ||
	    f->dblkno > f->fpg)
		return err_set(e, ERR_FORMAT, "its cylinder groups cannot be");
	return 0;
}

static int
check_state(const struct ffs *f, struct err *e)
{
	if (f->flags & FLAG_GJOURNAL)
		return err_set(
		    e, ERR_UNSUPPORTED, "it has a journal outside of it (gjournal)");
	if (f->clean != 1 || f->flags & FLAG_UNCLEAN)
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (f->flags & FLAG_NEEDS_FSCK)
		return err_set(e, ERR_FORMAT, "it is marked as to be checked");
	if (f->pending != 0)
		return err_set(
		    e, ERR_FORMAT, "it has blocks that are still to be freed");
	return 0;
}

static int
group_bad(const struct group *g, const char *what, struct err *e)
{
	return err_set(
	    e, ERR_FORMAT, "cylinder group %" PRIu32 ": %s", g->number, what);
}

/* The check hash is a CRC-32C that is not inverted at its end. */
static bool
group_sum_right(const struct ffs *f, uint8_t *block)
{
	uint32_t said = u32_at(f, block, f->cgsize, CG_CKHASH);
	uint8_t kept[4], sum[BTRFS_SUM_BYTES];

	memcpy(kept, block + CG_CKHASH, sizeof kept);
	memset(block + CG_CKHASH, 0, sizeof kept);
	btrfs_sum(BTRFS_CRC32C, block, f->cgsize, sum);
	memcpy(block + CG_CKHASH, kept, sizeof kept);
	struct rd r = rd_from(sum, sizeof sum);
	return ~rd_le32(&r) == said;
}

static int
check_group(const struct ffs *f, struct group *g, uint8_t *block, struct err *e)
{
	uint64_t left = f->size - g->base;
	uint32_t freeoff = u32_at(f, block, f->cgsize, CG_FREEOFF);

	g->block = block;
	g->frags = (uint32_t)(left < f->fpg ? left : f->fpg);
	if (u32_at(f, block, f->cgsize, CG_MAGIC_AT) != CG_MAGIC ||
	    u32_at(f, block, f->cgsize, CG_CGX) != g->number)
		return group_bad(g, "it is not where it should be", e);
	if (f->cg_sums && !group_sum_right(f, block))
		return group_bad(g, "its checksum is wrong", e);
	if (u32_at(f, block, f->cgsize, CG_NDBLK) != g->frags)
		return group_bad(g, "it is not as large as it should be", e);
	if (!range_within(
		(struct range){ freeoff, ((uint64_t)g->frags + 7) / 8 }, f->cgsize) ||
	    freeoff < CG_HEADER_BYTES)
		return group_bad(g, "its bitmap lies outside of it", e);
	if (range_end(g->metadata) > g->frags)
		return group_bad(g, "it is smaller than its metadata", e);
	g->free = block + freeoff;
	return 0;
}

static int
skip_frags(const struct ffs *f, uint64_t first, uint64_t count, struct err *e)
{
	uint64_t sectors = f->fsize / SECTOR_BYTES;

	return skip_add(f->sink, (struct range){ first * sectors, count * sectors }, e);
}

/* The run ends: report it, unless it is what cannot be free. */
static int
end_run(const struct ffs *f, struct group *g, struct err *e)
{
	uint32_t n = g->run_len, first = g->run_first;

	g->run_len = 0;
	if (n == 0)
		return 0;
	if (range_clip(g->metadata, first, (uint64_t)first + n).len != 0 ||
	    range_clip(f->summary, g->base + first, g->base + first + n).len != 0)
		return group_bad(g, "its bitmap has metadata free", e);
	return skip_frags(f, g->base + first, n, e);
}

static void
add_to_run(struct group *g, uint32_t first, uint32_t n)
{
	if (g->run_len == 0)
		g->run_first = first;
	g->run_len += n;
}

/* One block: all of it free, or some fragments, or none. */
static int
count_block(
    const struct ffs *f, struct group *g, uint32_t at, uint32_t n, struct err *e)
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
scan_bitmap(const struct ffs *f, struct group *g, struct err *e)
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

/* UFS2: the inode blocks behind the last one that was ever used. */
static int
skip_inodes(const struct ffs *f, const struct group *g, struct err *e)
{
	uint32_t inited = u32_at(f, g->block, f->cgsize, CG_INITEDIBLK);
	uint32_t used_at = u32_at(f, g->block, f->cgsize, CG_IUSEDOFF);
	uint32_t per_block = f->bsize / UFS2_INODE_BYTES;
	uint64_t first = f->iblkno +
	                 ((uint64_t)inited + per_block - 1) / per_block * f->frag;
	uint64_t end = f->iblkno +
	               ((uint64_t)f->ipg + per_block - 1) / per_block * f->frag;

	if (inited > f->ipg || end > f->dblkno || used_at < CG_HEADER_BYTES ||
	    !range_within(
		(struct range){ used_at, ((uint64_t)f->ipg + 7) / 8 }, f->cgsize))
		return group_bad(g, "its inodes cannot be", e);
	for (uint32_t i = inited; i < f->ipg; i++)
		if (g->block[used_at + i / 8] >> i % 8 & 1)
			return group_bad(
			    g, "it uses inodes that were never initialised", e);
	return first < end ? skip_frags(f, g->base + first, end - first, e) : 0;
}

/* Into block[cgsize], which the group borrows. */
static int
read_group(
    const struct ffs *f, struct group *g, uint32_t c, uint8_t *block, struct err *e)
{
	*g = (struct group){ .number = c,
		.base = (uint64_t)c * f->fpg,
		.rotated = (uint64_t)f->cgoffset * (c & ~f->cgmask) };
	if (g->rotated > f->fpg - f->dblkno)
		return group_bad(g, "it is rotated out of itself", e);
	/* Boot area and superblock are in front of the first group's. */
	uint32_t from = c == 0 ? 0 : f->sblkno;
	g->metadata = (struct range){ g->rotated + from, f->dblkno - from };
	uint64_t at = g->base + g->rotated + f->cblkno;
	if (at >= f->size)
		return group_bad(g, "it lies outside the filesystem", e);
	if (disk_read(f->disk, block, f->cgsize,
		f->part.off * SECTOR_BYTES + at * f->fsize, e) != 0)
		return -1;
	return check_group(f, g, block, e);
}

static int
scan_group(struct ffs *f, uint32_t c, uint8_t *block, struct err *e)
{
	struct group g;

	if (read_group(f, &g, c, block, e) != 0 || scan_bitmap(f, &g, e) != 0)
		return -1;
	if (g.nbfree != u32_at(f, block, f->cgsize, CG_NBFREE) ||
	    g.nffree != u32_at(f, block, f->cgsize, CG_NFFREE))
		return group_bad(&g, "its bitmap and its free counts differ", e);
	f->seen_nbfree += g.nbfree;
	f->seen_nffree += g.nffree;
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
ffs_probe(struct disk *d, struct range part, struct err *e)
{
	struct ffs f = { .disk = d, .part = part };
	uint8_t sb[SUPER_BYTES];
	int found = find_super(&f, sb, e);

	if (found != 1)
		return found;
	decode_super(&f, sb);
	return sizes_can_be(&f);
}

static int
open_ffs(struct ffs *f, struct err *e)
{
	uint8_t sb[SUPER_BYTES];
	int found = find_super(f, sb, e);

	if (found != 1)
		return found == 0 ? err_set(e, ERR_FORMAT, "it has no superblock") : -1;
	decode_super(f, sb);
	return check_super(f, e) != 0 || check_state(f, e) != 0 ? -1 : 0;
}

static int
ffs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct ffs f = { .disk = d, .part = part, .sink = sink };

	if (open_ffs(&f, e) != 0 || scan_groups(&f, e) != 0)
		return -1;
	if (!(f.flags & FLAG_LOG))
		skip_fs_end(sink, f.size * (f.fsize / SECTOR_BYTES));
	return 0;
}

/* The inode map of a group: one that is not what the group counts is not believed. */
static int
find_inode_map(
    const struct ffs *f, const struct group *g, const uint8_t **map, struct err *e)
{
	uint32_t at = u32_at(f, g->block, f->cgsize, CG_IUSEDOFF), free = 0;
	uint64_t bytes = (uint64_t)f->ipg *
	                 (f->ufs2 ? UFS2_INODE_BYTES : UFS1_INODE_BYTES);

	if (at < CG_HEADER_BYTES ||
	    !range_within(
		(struct range){ at, ((uint64_t)f->ipg + 7) / 8 }, f->cgsize) ||
	    bytes > (uint64_t)(f->dblkno - f->iblkno) * f->fsize)
		return group_bad(g, "its inodes cannot be", e);
	*map = g->block + at;
	for (uint32_t i = 0; i < f->ipg; i++)
		free += ~(*map)[i / 8] >> i % 8 & 1;
	if (free != u32_at(f, g->block, f->cgsize, CG_NIFREE))
		return group_bad(g, "its inode map and its free count differ", e);
	return 0;
}

/* Of UFS2, those that were never initialised are not stored anyway. */
static int
report_inodes(const struct ffs *f, const struct group *g, fs_records_fn fn, void *arg,
    struct err *e)
{
	const uint8_t *map = NULL;
	uint32_t bytes = f->ufs2 ? UFS2_INODE_BYTES : UFS1_INODE_BYTES, n;
	uint64_t first = (g->base + g->rotated + f->iblkno) * f->fsize;

	if (find_inode_map(f, g, &map, e) != 0)
		return -1;
	uint32_t end = f->ufs2 ? u32_at(f, g->block, f->cgsize, CG_INITEDIBLK) : f->ipg;
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

static int
ffs_free_inodes(
    struct disk *d, struct range part, fs_records_fn fn, void *arg, struct err *e)
{
	struct ffs f = { .disk = d, .part = part };
	struct group g;
	int rc = 0;

	if (open_ffs(&f, e) != 0)
		return -1;
	uint8_t *block = malloc(f.cgsize);
	if (block == NULL)
		return err_nomem(e, "a cylinder group");
	for (uint32_t c = 0; c < f.ncg && rc == 0; c++) {
		rc = read_group(&f, &g, c, block, e);
		if (rc == 0)
			rc = report_inodes(&f, &g, fn, arg, e);
	}
	free(block);
	return rc;
}

const struct fsmod fsmod_ffs = {
	.name = "ufs",
	.title = "UFS (FFS) filesystem",
	.probe = ffs_probe,
	.scan = ffs_scan,
	.free_inodes = ffs_free_inodes,
};
