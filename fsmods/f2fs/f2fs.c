/* f2fs.c: F2FS on one device. fsmods.c calls its functions, in the first thread of
 * imagezip.
 *
 * There are two copies of the superblock, and two packs of the checkpoint, written in
 * turns: a pack is valid when its two ends have the right checksum and the same version,
 * and the newer valid pack counts. It says which copy of each block of the segment
 * information table (SIT) is valid, and has the few latest changes of the table (the
 * journal) in its summaries. The table has a bitmap of valid blocks for each segment of
 * 512 blocks of the main area: blocks that are not valid are skipped.
 *
 * Kept are all the segments being written at the time of the checkpoint: a mount looks
 * for nodes that were synced after the checkpoint, from the place on where "warm" nodes
 * are written, and old bytes of the target must not be taken for such nodes. If the
 * source has such a node, the filesystem was written to since it was unmounted, and the
 * scan fails.
 *
 * Source: the Linux kernel's Documentation/filesystems/f2fs.rst, and the declarations in
 * include/linux/f2fs_fs.h. All numbers are little-endian.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "fsmods/f2fs/f2fs_impl.h"

enum {
	PIECE_BLOCKS = 128, /* of the table, read at once */
	HOT_BLOCKS = 32,    /* of each pack of the checkpoint; most packs have fewer */
};

static bool
test_bit(const uint8_t *map, uint64_t bit)
{
	return map[bit / 8] & 0x80 >> bit % 8;
}

static bool
is_current(const struct f2fs_checkpoint *cp, uint32_t segment)
{
	for (int i = 0; i < F2FS_LOGS_USED; i++)
		if (cp->node_segment[i] == segment || cp->data_segment[i] == segment)
			return true;
	return false;
}

static int
flush_run(struct f2fs *f, struct err *e)
{
	struct range run = f->run;

	f->run.len = 0;
	if (run.len == 0)
		return 0;
	return skip_add(f->sink,
	    (struct range){
		run.off * F2FS_BLOCK_SECTORS, run.len * F2FS_BLOCK_SECTORS },
	    e);
}

static int
free_blocks(struct f2fs *f, uint64_t first, uint64_t count, struct err *e)
{
	if (f->run.len > 0 && range_end(f->run) == first) {
		f->run.len += count;
		return 0;
	}
	if (flush_run(f, e) != 0)
		return -1;
	f->run = (struct range){ first, count };
	return 0;
}

static unsigned
count_bits(const uint8_t *map)
{
	unsigned n = 0;

	for (int i = 0; i < F2FS_SEGMENT / 8; i++)
		n += (unsigned)__builtin_popcount(map[i]);
	return n;
}

static int
take_segment(struct f2fs *f, const struct f2fs_sit_entry *s, struct err *e)
{
	uint64_t first = f->sb.main + (uint64_t)s->segment * F2FS_SEGMENT;

	if (count_bits(s->map) != s->valid)
		return err_set(e, ERR_FORMAT,
		    "segment %" PRIu32 ": its valid blocks are "
		    "miscounted",
		    s->segment);
	f->valid_blocks += s->valid;
	if (is_current(&f->cp, s->segment))
		return 0;
	f->free_segments += s->valid == 0;
	if (s->valid == 0)
		return free_blocks(f, first, F2FS_SEGMENT, e);
	for (unsigned i = 0; i < F2FS_SEGMENT; i++)
		if (!test_bit(s->map, i) && free_blocks(f, first + i, 1, e) != 0)
			return -1;
	return 0;
}

/* Take one block of the table; where the journal has an entry, that entry counts. */
static int
take_sit_block(struct f2fs *f, const uint8_t *block, uint32_t first, struct err *e)
{
	struct rd r = rd_from(block, F2FS_BLOCK);

	for (uint32_t i = 0; i < F2FS_SIT_ENTRIES && first + i < f->sb.main_segments;
	     i++) {
		struct f2fs_sit_entry s = f2fs_get_sit_entry(&r, first + i);
		for (unsigned k = 0; k < f->journal_entries; k++)
			if (f->journal[k].segment == s.segment)
				s = f->journal[k];
		if (take_segment(f, &s, e) != 0)
			return -1;
	}
	return 0;
}

/* Take the whole table. piece: room for PIECE_BLOCKS blocks of both copies, which are
 * both read, because the valid copy changes from block to block. */
static int
scan_sit(struct f2fs *f, uint8_t *piece, struct err *e)
{
	uint64_t copy_blocks = (uint64_t)f->sb.sit_segments / 2 * F2FS_SEGMENT;
	uint64_t needed = (f->sb.main_segments + (uint64_t)F2FS_SIT_ENTRIES - 1) /
	                  F2FS_SIT_ENTRIES;

	for (uint64_t at = 0; at < needed;) {
		uint64_t n = needed - at < PIECE_BLOCKS ? needed - at : PIECE_BLOCKS;
		if (f2fs_read(f, piece, f->sb.sit + at, n, e) != 0 ||
		    f2fs_read(f, piece + PIECE_BLOCKS * F2FS_BLOCK,
			f->sb.sit + copy_blocks + at, n, e) != 0)
			return -1;
		for (uint64_t i = 0; i < n; i++, at++) {
			uint64_t slot = test_bit(f->sit_bitmap, at) ? PIECE_BLOCKS + i
			                                            : i;
			uint32_t segment = (uint32_t)(at * F2FS_SIT_ENTRIES);
			if (take_sit_block(f, piece + slot * F2FS_BLOCK, segment, e) !=
			    0)
				return -1;
		}
	}
	return flush_run(f, e);
}

/* Segments and checkpoint must agree. The checkpoint also counts blocks that are promised
 * to files but not placed yet (fallocate), so it may have more valid blocks. */
static int
check_counts(const struct f2fs *f, struct err *e)
{
	if (f->valid_blocks > f->cp.valid_blocks)
		return err_set(e, ERR_FORMAT,
		    "its segments have %" PRIu64 " valid blocks, its "
		    "checkpoint says %" PRIu64,
		    f->valid_blocks, f->cp.valid_blocks);
	if (f->free_segments > f->cp.free_segments)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu32 " free segments, its "
		    "checkpoint says %" PRIu32,
		    f->free_segments, f->cp.free_segments);
	return 0;
}

static int
scan_table(struct f2fs *f, struct err *e)
{
	uint8_t *piece = malloc((size_t)2 * PIECE_BLOCKS * F2FS_BLOCK);
	int rc = -1;

	if (piece == NULL)
		return err_nomem(e, "reading a segment information table");
	if (f2fs_read_journal(f, e) == 0 && scan_sit(f, piece, e) == 0)
		rc = check_counts(f, e);
	free(f->sit_bitmap);
	free(piece);
	return rc;
}

/* Both superblocks, and both packs of the checkpoint, which are written in turns, each from
 * its first block on. */
static int
report_hot(const struct f2fs *f, struct err *e)
{
	const struct range hot[] = { { f->sb.cp, HOT_BLOCKS },
		{ (uint64_t)f->sb.cp + F2FS_SEGMENT, HOT_BLOCKS }, { 0, 2 } };

	for (unsigned i = 0; i < sizeof hot / sizeof hot[0]; i++)
		if (skip_hot(f->sink,
			(struct range){ hot[i].off * F2FS_BLOCK_SECTORS,
			    hot[i].len * F2FS_BLOCK_SECTORS },
			e) != 0)
			return -1;
	return 0;
}

static int
f2fs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct f2fs f = { .disk = d, .part = part, .sink = sink };

	if (f2fs_read_super(&f, e) != 0 || f2fs_read_checkpoint(&f, e) != 0)
		return -1;
	skip_fs_end(sink, f.sb.blocks * F2FS_BLOCK_SECTORS);
	return report_hot(&f, e) != 0 ? -1 : scan_table(&f, e);
}

const struct fsmod fsmod_f2fs = {
	.name = "f2fs",
	.title = "F2FS filesystem",
	.probe = f2fs_probe,
	.scan = f2fs_scan,
};
