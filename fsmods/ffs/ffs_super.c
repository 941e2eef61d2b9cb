/* ffs_super.c: finds and checks the superblock of UFS, at 64 KiB (UFS2), 8 KiB (UFS1) or
 * 256 KiB. ffs.c calls this, in the thread that scans. */
#include <inttypes.h>

#include "common/base/rd.h"
#include "fsmods/ffs/ffs_impl.h"

enum {
	SUPER_BYTES = 1376,
	UFS1_MAGIC = 0x011954,
	UFS2_MAGIC = 0x19540119,
	UFS2EA_MAGIC = 0x19012038, /* UFS2 of NetBSD, with extended attributes */
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

enum {
	FLAG_UNCLEAN = 0x01,
	FLAG_NEEDS_FSCK = 0x04,
	FLAG_GJOURNAL = 0x40,
	FLAG_OLD_MOVED = 0x80, /* in the old flags: the new flags are valid */
	FLAG_METACKHASH = 0x200,
	CK_CYLGRP = 0x2,
};

uint32_t
ffs_u32(const struct ffs *f, const uint8_t *b, size_t len, size_t at)
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
	return ffs_u32(f, sb, SUPER_BYTES, at);
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

/* Find the first superblock, in the order in which the systems look for it: 1 found, 0
 * none, -1 error. Copies of a superblock may be in these places, too; a copy says where
 * the original is, except in an older UFS1, whose superblock is always at 8 KiB. */
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
		f->super_at = places[i];
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

int
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
check_super(const struct ffs *f, struct err *e)
{
	if (!sizes_can_be(f))
		return err_set(e, ERR_FORMAT,
		    "blocks of %" PRIu32 " and fragments of %" PRIu32
		    " bytes are impossible",
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
	if (f->cgsize < FFS_CG_HEADER_BYTES || f->cgsize > f->bsize ||
	    f->sblkno >= f->cblkno || f->cblkno >= f->iblkno || f->iblkno > f->dblkno ||
	    f->dblkno > f->fpg)
		return err_set(e, ERR_FORMAT, "its cylinder groups are impossible");
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

int
ffs_open(struct ffs *f, struct err *e)
{
	uint8_t sb[SUPER_BYTES];
	int found = find_super(f, sb, e);

	if (found != 1)
		return found == 0 ? err_set(e, ERR_FORMAT, "it has no superblock") : -1;
	decode_super(f, sb);
	return check_super(f, e) != 0 || check_state(f, e) != 0 ? -1 : 0;
}
