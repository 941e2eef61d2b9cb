/* ffs_impl.h: what the files of the UFS module share; for them only.
 *
 * ffs_super.c reads the superblock, ffs_group.c a cylinder group; ffs.c finds the
 * free fragments, ffs_inodes.c the free inodes.
 *
 * A block has 1 to 8 fragments; addresses are in fragments.  Group c begins at
 * c * fpg, on UFS1 rotated by cgoffset * (c & ~cgmask).
 *
 * Source: the header sys/ufs/ffs/fs.h of 4.4BSD, FreeBSD and NetBSD, and fs(5).
 */
#ifndef FSMODS_FFS_FFS_IMPL_H
#define FSMODS_FFS_FFS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "fsmods/fsmod.h"

enum {
	FFS_UFS1_INODE_BYTES = 128,
	FFS_UFS2_INODE_BYTES = 256,
};

/* Offsets in a cylinder group. */
enum {
	FFS_CG_MAGIC_AT = 4,
	FFS_CG_CGX = 12,
	FFS_CG_NDBLK = 20,
	FFS_CG_NBFREE = 28,
	FFS_CG_NIFREE = 32,
	FFS_CG_NFFREE = 36,
	FFS_CG_IUSEDOFF = 92,
	FFS_CG_FREEOFF = 96,
	FFS_CG_INITEDIBLK = 120,
	FFS_CG_CKHASH = 132,
	FFS_CG_HEADER_BYTES = 168,
	FFS_CG_MAGIC = 0x090255,
};

/* Flags of the superblock that other files ask for. */
enum { FFS_FLAG_LOG = 0x100 }; /* NetBSD: a log, perhaps behind the filesystem */

struct ffs {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	bool big_endian, ufs2;
	uint32_t sblkno, cblkno, iblkno, dblkno, cgoffset, cgmask, ncg;
	uint32_t bsize, fsize, frag, cgsize, ipg, fpg;
	uint64_t super_at;       /* byte of the partition where its superblock begins */
	uint64_t size;           /* fragments */
	struct range summary;    /* fragments of the groups' summaries */
	uint64_t nbfree, nffree; /* free blocks and single free fragments, by the superblock */
	uint64_t seen_nbfree, seen_nffree;
	uint64_t pending;
	uint32_t flags;
	uint8_t clean;
	bool cg_sums;
};

/* One cylinder group, and the run of free fragments that is being collected. */
struct ffs_group {
	uint32_t number;
	uint64_t base; /* its first fragment; of the filesystem */
	uint64_t at;   /* the fragment with its header */
	uint64_t rotated;
	uint32_t frags;
	struct range metadata; /* fragments relative to base */
	const uint8_t *block, *free;
	uint32_t run_first, run_len;
	uint32_t nbfree, nffree;
};

/* ffs_super.c */

/* The number at byte `at` of b[len], in the filesystem's byte order. */
uint32_t ffs_u32(const struct ffs *, const uint8_t *b, size_t len, size_t at);
/* Has the partition a superblock with possible sizes? 1 yes, 0 no, -1 cannot be read. */
int ffs_probe(struct disk *, struct range part, struct err *);
/* Read and check the superblock of a filesystem whose disk and part are set. Fails, with
 * the reason, unless the filesystem is clean. */
int ffs_open(struct ffs *, struct err *);

/* ffs_group.c */

/* Read cylinder group c into block[cgsize], which the group borrows, and check it.
 * ERR_FORMAT, with the group's number, when it is damaged. */
int ffs_read_group(
    const struct ffs *, struct ffs_group *, uint32_t c, uint8_t *block, struct err *);
/* Set an error that names the group; returns -1. */
int ffs_group_bad(const struct ffs_group *, const char *what, struct err *);
/* The number at byte `at` of the group's header. */
uint32_t ffs_group_u32(const struct ffs *, const struct ffs_group *, size_t at);

/* ffs_inodes.c: report free inodes, as fsmod.h says of free_inodes(). */
int ffs_free_inodes(
    struct disk *, struct range part, fs_records_fn, void *arg, struct err *);

#endif /* FSMODS_FFS_FFS_IMPL_H */
