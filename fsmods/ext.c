/* ext.c: ext2, ext3, ext4 through libext2fs. fsmods.c calls its probe() in the first
 * thread of imagezip, and relay.c its scan(), in a confined child process.
 *
 * Blocks that the block bitmaps call free are skipped, except those that hold metadata:
 * groups marked BLOCK_UNINIT have no bitmap on the disk, but they may hold backup
 * superblocks, descriptors, bitmaps and inode tables.
 * When the bitmaps cannot be trusted (journal to be replayed, not cleanly unmounted,
 * errors noted, checksums or counts that do not match, features that are not known here)
 * the scan fails, and the partition is stored completely.
 */
#include <ext2fs/ext2fs.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/ext_io.h"
#include "fsmods/fsmod.h"

enum {
	SUPER_AT = 1024,
	SUPER_MAGIC_AT = 56,
	SUPER_MAGIC = 0xef53,
	SUPER_LOG_BLOCK_AT = 24,
	SUPER_BYTES = 1024,
	SUPER_INCOMPAT_AT = 96,
	LOG_BLOCK_MAX = 6, /* 64 KiB */
	HOT_GROUPS = 16,
};

/* The read-only compatible features that this module understands. Such a feature may
 * change what "free" means, so a filesystem with any other is refused. */
static const unsigned known_ro_compat = EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER |
                                        EXT2_FEATURE_RO_COMPAT_LARGE_FILE |
                                        EXT4_FEATURE_RO_COMPAT_HUGE_FILE |
                                        EXT4_FEATURE_RO_COMPAT_GDT_CSUM |
                                        EXT4_FEATURE_RO_COMPAT_DIR_NLINK |
                                        EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE |
                                        EXT4_FEATURE_RO_COMPAT_QUOTA |
                                        EXT4_FEATURE_RO_COMPAT_BIGALLOC |
                                        EXT4_FEATURE_RO_COMPAT_METADATA_CSUM |
                                        EXT4_FEATURE_RO_COMPAT_READONLY |
                                        EXT4_FEATURE_RO_COMPAT_PROJECT |
                                        EXT4_FEATURE_RO_COMPAT_VERITY |
                                        0x10000 /* orphan_present */;

/* Returns 1, 0 when the partition is too small for a superblock, or -1. */
static int
read_super(struct disk *d, struct range part, uint8_t super[SUPER_BYTES], struct err *e)
{
	if (part.len * SECTOR_BYTES < SUPER_AT + SUPER_BYTES)
		return 0;
	return disk_read(d, super, SUPER_BYTES, part.off * SECTOR_BYTES + SUPER_AT,
		   e) == 0
	           ? 1
	           : -1;
}

/* Is this the external journal of another filesystem? Such a journal has a superblock,
 * but no bitmaps. */
static bool
is_journal(struct disk *d, struct range part)
{
	uint8_t super[SUPER_BYTES];
	struct err ignored;

	if (read_super(d, part, super, &ignored) != 1)
		return false;
	struct rd r = rd_from(super, sizeof super);
	rd_skip(&r, SUPER_INCOMPAT_AT);
	return (rd_le32(&r) & EXT3_FEATURE_INCOMPAT_JOURNAL_DEV) != 0;
}

static int
ext_probe(struct disk *d, struct range part, struct err *e)
{
	uint8_t super[SUPER_BYTES];
	int there = read_super(d, part, super, e);

	if (there <= 0)
		return there;
	struct rd r = rd_from(super, sizeof super);
	rd_skip(&r, SUPER_LOG_BLOCK_AT);
	uint32_t log_block = rd_le32(&r);
	rd_skip(&r, SUPER_MAGIC_AT - SUPER_LOG_BLOCK_AT - 4);
	return rd_le16(&r) == SUPER_MAGIC && log_block <= LOG_BLOCK_MAX;
}

static int
fail_lib(struct err *e, const char *what, errcode_t rc)
{
	return err_set(e, ERR_FORMAT, "%s: %s", what, error_message(rc));
}

/* Of a filesystem with multi-mount protection: fails when another machine has it mounted
 * or checks it, because its journal and state may look clean nevertheless. The
 * protection's block begins with le32 magic, le32 sequence. */
static int
check_mmp(ext2_filsys fs, struct err *e)
{
	uint64_t at = fs->super->s_mmp_block;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	if (at < fs->super->s_first_data_block || at >= ext2fs_blocks_count(fs->super))
		return err_set(e, ERR_FORMAT, "its multi-mount block is damaged");
	uint8_t *block = malloc(fs->blocksize);
	if (block == NULL)
		return err_nomem(e, "a block");
	errcode_t rc = io_channel_read_blk64(fs->io, at, 1, block);
	struct rd r = rd_from(block, fs->blocksize);
	bool magic = rd_le32(&r) == EXT4_MMP_MAGIC;
	uint32_t sequence = rd_le32(&r);
	free(block);
	if (rc != 0)
		return fail_lib(e, "cannot read its multi-mount block", rc);
	if (!magic)
		return err_set(e, ERR_FORMAT, "its multi-mount block is damaged");
	return sequence == EXT4_MMP_SEQ_CLEAN
	           ? 0
	           : err_set(
			 e, ERR_FORMAT, "another machine has mounted it, or checks it");
}

/* Fails, with the reason, unless the bitmaps on the disk can be trusted. */
static int
check_state(ext2_filsys fs, struct range part, struct err *e)
{
	const struct ext2_super_block *sb = fs->super;
	uint64_t blocks = ext2fs_blocks_count(fs->super);

	if (sb->s_feature_ro_compat & ~known_ro_compat)
		return err_set(e, ERR_UNSUPPORTED, "unknown features (0x%x)",
		    sb->s_feature_ro_compat & ~known_ro_compat);
	if (ext2fs_has_feature_journal_needs_recovery(fs->super))
		return err_set(e, ERR_FORMAT, "its journal is to be replayed");
	if (sb->s_state & EXT2_ERROR_FS)
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	if (!(sb->s_state & EXT2_VALID_FS))
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	if (blocks > part.len / (fs->blocksize / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " blocks of %u bytes, more than the "
		    "partition",
		    blocks, fs->blocksize);
	return check_mmp(fs, e);
}

/* Call fn for every run of free blocks. */
static int
for_each_free(ext2_filsys fs,
    int (*fn)(void *arg, uint64_t first, uint64_t count, struct err *), void *arg,
    struct err *e)
{
	uint64_t last = ext2fs_blocks_count(fs->super) - 1;
	blk64_t at = fs->super->s_first_data_block, free_at, used_at = 0;

	while (at <= last) {
		errcode_t rc = ext2fs_find_first_zero_block_bitmap2(
		    fs->block_map, at, last, &free_at);
		if (rc == ENOENT)
			return 0;
		if (rc != 0)
			return fail_lib(e, "block bitmap", rc);
		rc = ext2fs_find_first_set_block_bitmap2(
		    fs->block_map, free_at, last, &used_at);
		if (rc != 0 && rc != ENOENT)
			return fail_lib(e, "block bitmap", rc);
		/* The library rounds down to clusters, so free_at may lie before `at`. */
		free_at = free_at > at ? free_at : at;
		if (rc == ENOENT || used_at > last + 1)
			used_at = last + 1;
		if (used_at <= free_at)
			return err_set(e, ERR_FORMAT,
			    "block bitmap: no progress at block %" PRIu64,
			    (uint64_t)at);
		if (fn(arg, free_at, used_at - free_at, e) != 0)
			return -1;
		at = used_at;
	}
	return 0;
}

static int
count_free(void *arg, uint64_t first, uint64_t count, struct err *e)
{
	(void)first, (void)e;
	*(uint64_t *)arg += count;
	return 0;
}

/* The bitmaps and the superblock must agree. The superblock counts whole clusters; it may
 * or may not count a partial cluster at the end. */
static int
check_free_count(ext2_filsys fs, struct err *e)
{
	uint64_t counted = 0, said = ext2fs_free_blocks_count(fs->super);
	uint64_t slack = EXT2FS_CLUSTER_RATIO(fs) - 1;

	if (for_each_free(fs, count_free, &counted, e) != 0)
		return -1;
	uint64_t diff = counted > said ? counted - said : said - counted;
	if (diff > slack)
		return err_set(e, ERR_FORMAT,
		    "its bitmaps have %" PRIu64 " free blocks, its "
		    "superblock says %" PRIu64,
		    counted, said);
	return 0;
}

/* Mark the metadata of all groups as used: groups marked BLOCK_UNINIT have no bitmap on
 * the disk. */
static void
mark_metadata(ext2_filsys fs)
{
	for (dgrp_t g = 0; g < fs->group_desc_count; g++) {
		ext2fs_reserve_super_and_bgd(fs, g, fs->block_map);
		blk64_t places[2] = { ext2fs_block_bitmap_loc(fs, g),
			ext2fs_inode_bitmap_loc(fs, g) };
		for (int i = 0; i < 2; i++)
			if (places[i] != 0 &&
			    places[i] < ext2fs_blocks_count(fs->super))
				ext2fs_mark_block_bitmap2(fs->block_map, places[i]);
		blk64_t table = ext2fs_inode_table_loc(fs, g);
		if (table != 0 && table < ext2fs_blocks_count(fs->super) &&
		    fs->inode_blocks_per_group <=
			ext2fs_blocks_count(fs->super) - table)
			ext2fs_mark_block_bitmap_range2(
			    fs->block_map, table, fs->inode_blocks_per_group);
	}
}

struct report {
	struct skip_sink *sink;
	uint64_t block_sectors;
};

static int
report_free(void *arg, uint64_t first, uint64_t count, struct err *e)
{
	struct report *r = arg;

	return skip_add(r->sink,
	    (struct range){ first * r->block_sectors, count * r->block_sectors }, e);
}

/* Block 0 is no block of any stream, and stands for none. */
static int
hot_blocks(ext2_filsys fs, struct report *r, blk64_t first, uint64_t n, struct err *e)
{
	uint64_t blocks = ext2fs_blocks_count(fs->super);

	if (first == 0 || first >= blocks)
		return 0;
	n = n < blocks - first ? n : blocks - first;
	return skip_hot(r->sink,
	    (struct range){ first * r->block_sectors, n * r->block_sectors }, e);
}

/* Where the journal says what is to be replayed.  0: there is no journal in a file. */
static blk64_t
journal_head(ext2_filsys fs)
{
	struct ext2_inode inode;
	ext2_ino_t ino = fs->super->s_journal_inum;
	blk64_t at = 0;

	if (!ext2fs_has_feature_journal(fs->super) || ino == 0 ||
	    ext2fs_read_inode(fs, ino, &inode) != 0 ||
	    ext2fs_bmap2(fs, ino, &inode, NULL, 0, 0, NULL, &at) != 0)
		return 0;
	return at;
}

/* The superblock, which has the time of the last mount that may write, the descriptors of the
 * groups behind it, the first groups' bitmaps and inodes, and the head of the journal. */
static int
report_hot(ext2_filsys fs, struct report *r, struct err *e)
{
	struct range first = { fs->super->s_first_data_block * r->block_sectors,
		(1 + fs->desc_blocks) * r->block_sectors };

	first = range_clip(first, 0, ext2fs_blocks_count(fs->super) * r->block_sectors);
	if (skip_hot(r->sink, first, e) != 0 ||
	    hot_blocks(fs, r, journal_head(fs), 1, e) != 0)
		return -1;
	for (dgrp_t g = 0; g < fs->group_desc_count && g < HOT_GROUPS; g++)
		if (hot_blocks(fs, r, ext2fs_block_bitmap_loc(fs, g), 1, e) != 0 ||
		    hot_blocks(fs, r, ext2fs_inode_bitmap_loc(fs, g), 1, e) != 0 ||
		    hot_blocks(fs, r, ext2fs_inode_table_loc(fs, g), 1, e) != 0)
			return -1;
	return 0;
}

static int
scan_open(ext2_filsys fs, struct range part, struct skip_sink *sink, struct err *e)
{
	struct report r = { sink, fs->blocksize / SECTOR_BYTES };

	if (check_state(fs, part, e) != 0)
		return -1;
	fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
	errcode_t rc = ext2fs_read_block_bitmap(fs);
	if (rc != 0)
		return fail_lib(e, "cannot read its block bitmaps", rc);
	if (check_free_count(fs, e) != 0)
		return -1;
	mark_metadata(fs);
	skip_fs_end(sink, ext2fs_blocks_count(fs->super) * r.block_sectors);
	return report_hot(fs, &r, e) != 0 ? -1 : for_each_free(fs, report_free, &r, e);
}

static int
ext_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct ext_io io = { d, part };
	ext2_filsys fs = NULL;

	if (is_journal(d, part))
		return err_set(e, ERR_UNSUPPORTED,
		    "it is the external journal of another ext filesystem");
	errcode_t rc = ext_io_open(&io, &fs);
	if (rc != 0)
		return fail_lib(e, "cannot open the filesystem", rc);
	int result = scan_open(fs, part, sink, e);
	ext2fs_free(fs);
	return result;
}

const struct fsmod fsmod_ext = {
	.name = "ext4",
	.title = "ext2/3/4 filesystem",
	.confined = true,
	.probe = ext_probe,
	.scan = ext_scan,
};
