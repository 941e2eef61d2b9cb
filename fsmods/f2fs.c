/* f2fs.c: F2FS on one device.
 *
 * Of the superblock there are two copies, of the checkpoint two packs written in
 * turns: the newer one whose two ends have the right checksum and the same
 * version is valid.  It says which copy of each block of the segment information
 * table (SIT) is valid, and has the few latest changes of it (the journal)
 * in its summaries.  The table has a bitmap of valid blocks for each segment of
 * 512 blocks of the main area: what is not valid is skipped.
 *
 * Kept are all the segments being written at the time of the checkpoint: a mount
 * looks for what was synced after it behind the place where the "warm" nodes
 * are written, and old bytes of the target must not be taken for that.  If
 * such a node is there on the source, it is in use since it was unmounted.
 *
 * Source: the Linux kernel's Documentation/filesystems/f2fs.rst, and the
 * declarations in include/linux/f2fs_fs.h.  All numbers are little-endian.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "fsmods/fsmod.h"

enum {
	BLOCK = 4096,
	BLOCK_SECTORS = BLOCK / SECTOR_BYTES,
	SEGMENT = 512,   /* blocks */
	SUPER_AT = 1024, /* in each of the first two blocks */
	SUPER_BYTES = 3072,
	SUPER_CRC_AT = SUPER_BYTES - 4,
	SUPER_LAYOUT_BYTES = 124, /* both copies have the same here */
	DEVICES = 8,
	DEVICE_PATH_BYTES = 64,
	ERRORS_BYTES = 16,
	LOGS = 8, /* places for nodes, and for data */
	LOGS_USED = 3,
	LOG_WARM = 1,
	LOG_COLD = 2,
	BITMAP_AT = 192, /* in the checkpoint */
	CRC_AT_MAX = BLOCK - 4,
	SIT_ENTRY_BYTES = 2 + SEGMENT / 8 + 8,
	SIT_ENTRIES = BLOCK / SIT_ENTRY_BYTES,
	SIT_VALID_MASK = 0x3ff,
	SUMMARY_ENTRIES_BYTES = 7 * SEGMENT,
	JOURNAL_BYTES = BLOCK - SUMMARY_ENTRIES_BYTES - 5,
	JOURNAL_MAX = (JOURNAL_BYTES - 2) / (4 + SIT_ENTRY_BYTES),
	NODE_VERSION_AT = BLOCK - 12, /* in a node: the checkpoint's */
	PIECE_BLOCKS = 128,           /* of the table, read at once */
};

static const uint32_t super_magic = 0xf2f52010;

enum {
	FEATURE_SUPER_CRC = 0x800,
	/* Up to compression, but for zoned devices; neither read-only filesystems,
	 * nor what came later. */
	FEATURES_KNOWN = 0x3ffd,
};

enum checkpoint_flags {
	CP_UNMOUNTED = 0x1,
	CP_COMPACT = 0x4,
	CP_ERROR = 0x8,
	CP_FSCK = 0x10,
	CP_LARGE_NAT_BITMAP = 0x400,
	CP_DISABLED = 0x1000,
	CP_DISABLED_QUICK = 0x2000,
	CP_RESIZING = 0x4000,
	CP_KNOWN = 0x7fff,
};

struct super {
	uint32_t magic;
	uint32_t log_block, log_segment;
	uint64_t blocks;
	uint32_t segments, cp_segments, sit_segments, nat_segments, ssa_segments;
	uint32_t main_segments;
	uint32_t first, cp, sit, nat, ssa, main; /* block addresses */
	uint32_t cp_payload;                     /* blocks */
	uint32_t features;
	bool more_devices, errors;
};

struct checkpoint {
	uint64_t at; /* block */
	uint64_t version;
	uint64_t valid_blocks;
	uint32_t free_segments;
	uint32_t node_segment[LOGS], data_segment[LOGS];
	uint16_t node_offset[LOGS];
	uint32_t flags;
	uint32_t blocks, first_summary;
	uint32_t sit_bitmap_bytes, nat_bitmap_bytes;
	uint8_t raw[BLOCK];
};

struct sit_entry {
	uint32_t segment;
	uint16_t valid;
	const uint8_t *map;
};

struct f2fs {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	struct super sb;
	struct checkpoint cp;
	uint8_t *sit_bitmap;    /* which copy of a block is valid */
	uint8_t summary[BLOCK]; /* has the journal */
	struct sit_entry journal[JOURNAL_MAX];
	unsigned journal_entries;
	struct range run; /* free blocks not yet reported */
	uint64_t valid_blocks;
	uint32_t free_segments;
};

static int
fail_damaged(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "its %s is damaged", what);
}

static int
read_blocks(const struct f2fs *f, void *buf, uint64_t first, uint64_t n, struct err *e)
{
	if (!range_within((struct range){ first * BLOCK_SECTORS, n * BLOCK_SECTORS },
		f->part.len))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(f->disk, buf, n * BLOCK,
	    (f->part.off + first * BLOCK_SECTORS) * SECTOR_BYTES, e);
}

/* CRC-32 without the usual inversions, beginning with the magic number. */
static uint32_t
f2fs_crc(uint32_t crc, const uint8_t *buf, size_t len)
{
	return ~(uint32_t)crc32_z(~crc, buf, len);
}

static bool
test_bit(const uint8_t *map, uint64_t bit)
{
	return map[bit / 8] & 0x80 >> bit % 8;
}

static void
get_super(struct super *sb, const uint8_t *buf)
{
	struct rd r = rd_from(buf, SUPER_BYTES);

	*sb = (struct super){ .magic = rd_le32(&r) };
	rd_skip(&r, 2 + 2 + 4 + 4); /* version; sectors */
	sb->log_block = rd_le32(&r);
	sb->log_segment = rd_le32(&r);
	rd_skip(&r, 4 + 4 + 4); /* sections, zones; checksum */
	sb->blocks = rd_le64(&r);
	rd_skip(&r, 4); /* sections */
	sb->segments = rd_le32(&r);
	sb->cp_segments = rd_le32(&r);
	sb->sit_segments = rd_le32(&r);
	sb->nat_segments = rd_le32(&r);
	sb->ssa_segments = rd_le32(&r);
	sb->main_segments = rd_le32(&r);
	sb->first = rd_le32(&r);
	sb->cp = rd_le32(&r);
	sb->sit = rd_le32(&r);
	sb->nat = rd_le32(&r);
	sb->ssa = rd_le32(&r);
	sb->main = rd_le32(&r);
	rd_skip(&r, 3 * 4 + 16 + 1024); /* inodes; uuid; name */
	rd_skip(&r, 4 + 64 * 8);        /* file name extensions */
	sb->cp_payload = rd_le32(&r);
	rd_skip(&r, 256 + 256); /* kernel versions */
	sb->features = rd_le32(&r);
	rd_skip(&r, 1 + 16); /* encryption */
	for (int i = 0; i < DEVICES; i++) {
		sb->more_devices |= rd_u8(&r) != 0;
		rd_skip(&r, DEVICE_PATH_BYTES - 1 + 4);
	}
	rd_skip(&r, 3 * 4 + 1 + 2 + 2 + 32); /* quotas; names; reasons for stops */
	for (int i = 0; i < ERRORS_BYTES; i++)
		sb->errors |= rd_u8(&r) != 0;
}

static int
f2fs_probe(struct disk *d, struct range part, struct err *e)
{
	uint8_t buf[4];

	for (int copy = 0; copy < 2; copy++) {
		uint64_t at = (uint64_t)copy * BLOCK + SUPER_AT;
		if (part.len * SECTOR_BYTES < at + SUPER_BYTES)
			return 0;
		if (disk_read(d, buf, sizeof buf, part.off * SECTOR_BYTES + at, e) != 0)
			return -1;
		struct rd r = rd_from(buf, sizeof buf);
		if (rd_le32(&r) == super_magic)
			return 1;
	}
	return 0;
}

/* The areas follow each other without gaps. */
static bool
layout_is_right(const struct super *sb)
{
	uint64_t at = sb->first;
	const uint32_t areas[5][2] = {
		{ sb->cp, sb->cp_segments },
		{ sb->sit, sb->sit_segments },
		{ sb->nat, sb->nat_segments },
		{ sb->ssa, sb->ssa_segments },
		{ sb->main, sb->main_segments },
	};

	for (int i = 0; i < 5; i++) {
		if (areas[i][0] != at || areas[i][1] == 0)
			return false;
		at += (uint64_t)areas[i][1] * SEGMENT;
	}
	return sb->first >= 2 && sb->cp_segments >= 2 && at <= sb->blocks &&
	       at <= sb->first + (uint64_t)sb->segments * SEGMENT;
}

static int
check_super(const struct super *sb, struct range part, struct err *e)
{
	uint64_t sit_blocks = (uint64_t)sb->sit_segments / 2 * SEGMENT;

	if (sb->log_block != 12 || sb->log_segment != 9)
		return err_set(
		    e, ERR_UNSUPPORTED, "its blocks or segments are of unknown size");
	if (sb->more_devices)
		return err_set(e, ERR_UNSUPPORTED, "it has more than one device");
	if (sb->features & ~(uint32_t)FEATURES_KNOWN)
		return err_set(e, ERR_UNSUPPORTED, "unknown features (0x%" PRIx32 ")",
		    sb->features & ~(uint32_t)FEATURES_KNOWN);
	if (sb->errors)
		return err_set(e, ERR_FORMAT, "errors were noted in it");
	if (!layout_is_right(sb) || sit_blocks * SIT_ENTRIES < sb->main_segments ||
	    sb->cp_payload >= SEGMENT)
		return err_set(
		    e, ERR_FORMAT, "its areas cannot be where its superblock says");
	if (sb->blocks > part.len / BLOCK_SECTORS)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " blocks of %d bytes, more "
		    "than the partition",
		    sb->blocks, BLOCK);
	return 0;
}

static bool
super_crc_is_right(const struct super *sb, const uint8_t *buf)
{
	struct rd r = rd_from(buf + SUPER_CRC_AT, 4);

	return !(sb->features & FEATURE_SUPER_CRC) ||
	       f2fs_crc(super_magic, buf, SUPER_CRC_AT) == rd_le32(&r);
}

static int
read_super(struct f2fs *f, struct err *e)
{
	uint8_t buf[2 * BLOCK];
	struct super other;

	if (read_blocks(f, buf, 0, 2, e) != 0)
		return -1;
	get_super(&f->sb, buf + SUPER_AT);
	get_super(&other, buf + BLOCK + SUPER_AT);
	if (f->sb.magic != super_magic || other.magic != super_magic ||
	    memcmp(buf + SUPER_AT, buf + BLOCK + SUPER_AT, SUPER_LAYOUT_BYTES) != 0 ||
	    f->sb.features != other.features || f->sb.cp_payload != other.cp_payload)
		return err_set(
		    e, ERR_FORMAT, "the two copies of its superblock differ");
	if (!super_crc_is_right(&f->sb, buf + SUPER_AT) ||
	    !super_crc_is_right(&other, buf + BLOCK + SUPER_AT))
		return err_set(
		    e, ERR_FORMAT, "the checksum of its superblock is wrong");
	f->sb.errors |= other.errors;
	f->sb.more_devices |= other.more_devices;
	return check_super(&f->sb, f->part, e);
}

static void
get_checkpoint(struct checkpoint *cp)
{
	struct rd r = rd_from(cp->raw, BLOCK);

	cp->version = rd_le64(&r);
	rd_skip(&r, 8); /* blocks for users */
	cp->valid_blocks = rd_le64(&r);
	rd_skip(&r, 4 + 4); /* segments in reserve */
	cp->free_segments = rd_le32(&r);
	for (int i = 0; i < LOGS; i++)
		cp->node_segment[i] = rd_le32(&r);
	for (int i = 0; i < LOGS; i++)
		cp->node_offset[i] = rd_le16(&r);
	for (int i = 0; i < LOGS; i++)
		cp->data_segment[i] = rd_le32(&r);
	rd_skip(&r, 2 * LOGS); /* offsets there */
	cp->flags = rd_le32(&r);
	cp->blocks = rd_le32(&r);
	cp->first_summary = rd_le32(&r);
	rd_skip(&r, 4 + 4 + 4); /* nodes, inodes, next node */
	cp->sit_bitmap_bytes = rd_le32(&r);
	cp->nat_bitmap_bytes = rd_le32(&r);
}

static bool
checkpoint_crc_is_right(const uint8_t *buf)
{
	struct rd at = rd_from(buf + 164, 4);
	uint32_t crc_at = rd_le32(&at);

	if (crc_at < BITMAP_AT || crc_at > CRC_AT_MAX)
		return false;
	struct rd stored = rd_from(buf + crc_at, 4);
	uint32_t crc = f2fs_crc(super_magic, buf, crc_at);
	crc = f2fs_crc(crc, buf + crc_at + 4, BLOCK - crc_at - 4);
	return crc == rd_le32(&stored);
}

/* One of the two packs: 1 valid, 0 not, -1 error. */
static int
read_pack(const struct f2fs *f, struct checkpoint *cp, uint64_t at, struct err *e)
{
	uint8_t end[BLOCK];

	cp->at = at;
	if (read_blocks(f, cp->raw, at, 1, e) != 0)
		return -1;
	get_checkpoint(cp);
	if (!checkpoint_crc_is_right(cp->raw) || cp->blocks < 2 || cp->blocks > SEGMENT)
		return 0;
	if (read_blocks(f, end, at + cp->blocks - 1, 1, e) != 0)
		return -1;
	struct rd r = rd_from(end, BLOCK);
	return checkpoint_crc_is_right(end) && rd_le64(&r) == cp->version;
}

static int
choose_checkpoint(struct f2fs *f, struct err *e)
{
	struct checkpoint other;
	int first = read_pack(f, &f->cp, f->sb.cp, e);
	int second = first < 0 ? -1
	                       : read_pack(f, &other, (uint64_t)f->sb.cp + SEGMENT, e);

	if (second < 0)
		return -1;
	if (first == 0 && second == 0)
		return err_set(e, ERR_FORMAT, "it has no valid checkpoint");
	if (second == 1 && (first == 0 || (int64_t)(other.version - f->cp.version) > 0))
		f->cp = other;
	return 0;
}

static int
check_state(const struct f2fs *f, struct err *e)
{
	const struct checkpoint *cp = &f->cp;

	if (cp->flags & ~(uint32_t)CP_KNOWN)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown state (0x%" PRIx32 ")", cp->flags);
	if (cp->flags & (CP_ERROR | CP_FSCK))
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	if (cp->flags & (CP_DISABLED | CP_DISABLED_QUICK | CP_RESIZING))
		return err_set(e, ERR_FORMAT, "its checkpoints were suspended");
	if (!(cp->flags & CP_UNMOUNTED))
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	for (int i = 0; i < LOGS_USED; i++)
		if (cp->node_segment[i] >= f->sb.main_segments ||
		    cp->data_segment[i] >= f->sb.main_segments ||
		    cp->node_offset[i] >= SEGMENT)
			return fail_damaged(e, "checkpoint");
	return 0;
}

/* Nodes synced after the checkpoint begin at one known place. */
static int
check_not_used_since(const struct f2fs *f, struct err *e)
{
	uint8_t node[BLOCK];
	uint64_t at = f->sb.main + (uint64_t)f->cp.node_segment[LOG_WARM] * SEGMENT +
	              f->cp.node_offset[LOG_WARM];

	if (read_blocks(f, node, at, 1, e) != 0)
		return -1;
	struct rd r = rd_from(node + NODE_VERSION_AT, 4);
	if (rd_le32(&r) == (uint32_t)f->cp.version)
		return err_set(
		    e, ERR_FORMAT, "it was written to after its last checkpoint");
	return 0;
}

/* In the checkpoint's block, or alone in those behind it. */
static int
read_sit_bitmap(struct f2fs *f, struct err *e)
{
	const struct checkpoint *cp = &f->cp;
	uint64_t sit_blocks = (uint64_t)f->sb.sit_segments / 2 * SEGMENT;
	uint64_t at = BITMAP_AT, end = CRC_AT_MAX;

	if (cp->sit_bitmap_bytes != sit_blocks / 8)
		return fail_damaged(e, "checkpoint");
	if (cp->flags & CP_LARGE_NAT_BITMAP) {
		at = BITMAP_AT + 4 + (uint64_t)cp->nat_bitmap_bytes;
		end = BLOCK * (1 + (uint64_t)f->sb.cp_payload);
	} else if (f->sb.cp_payload > 0) {
		at = BLOCK;
		end = BLOCK * (1 + (uint64_t)f->sb.cp_payload);
	}
	if (at > end || cp->sit_bitmap_bytes > end - at)
		return fail_damaged(e, "checkpoint");
	uint64_t blocks = (at + cp->sit_bitmap_bytes + BLOCK - 1) / BLOCK;
	uint8_t *raw = malloc(blocks * BLOCK);
	if (raw == NULL)
		return err_nomem(e, "reading a checkpoint");
	int rc = read_blocks(f, raw, cp->at, blocks, e);
	f->sit_bitmap = raw;
	if (rc == 0)
		memmove(raw, raw + at, cp->sit_bitmap_bytes);
	return rc;
}

static struct sit_entry
get_sit_entry(struct rd *r, uint32_t segment)
{
	struct sit_entry s = { .segment = segment,
		.valid = rd_le16(r) & SIT_VALID_MASK };

	s.map = rd_bytes(r, SEGMENT / 8);
	rd_skip(r, 8); /* time */
	return s;
}

static int
get_journal(struct f2fs *f, struct rd r, struct err *e)
{
	uint32_t n = rd_le16(&r);

	if (n > JOURNAL_MAX)
		return fail_damaged(e, "journal");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t segment = rd_le32(&r);
		for (uint32_t k = 0; k < i; k++)
			if (f->journal[k].segment == segment)
				return fail_damaged(e, "journal");
		if (segment >= f->sb.main_segments)
			return fail_damaged(e, "journal");
		f->journal[i] = get_sit_entry(&r, segment);
	}
	f->journal_entries = n;
	return 0;
}

/* The pack ends with summaries of the three logs of data, packed into 1 to 3
 * blocks or a block each, of the three logs of nodes, and its last block. */
static int
read_journal(struct f2fs *f, struct err *e)
{
	const struct checkpoint *cp = &f->cp;
	bool compact = cp->flags & CP_COMPACT;
	uint64_t behind = (uint64_t)cp->first_summary + LOGS_USED + 1;
	uint64_t data_blocks = cp->blocks > behind ? cp->blocks - behind : 0;

	if (cp->first_summary < 1 + f->sb.cp_payload || data_blocks == 0 ||
	    data_blocks > LOGS_USED || (!compact && data_blocks != LOGS_USED))
		return fail_damaged(e, "checkpoint");
	uint64_t at = cp->at + cp->first_summary + (compact ? 0 : LOG_COLD);
	if (read_blocks(f, f->summary, at, 1, e) != 0)
		return -1;
	size_t off = compact ? JOURNAL_BYTES : SUMMARY_ENTRIES_BYTES;
	return get_journal(f, rd_from(f->summary + off, JOURNAL_BYTES), e);
}

static bool
is_current(const struct checkpoint *cp, uint32_t segment)
{
	for (int i = 0; i < LOGS_USED; i++)
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
	    (struct range){ run.off * BLOCK_SECTORS, run.len * BLOCK_SECTORS }, e);
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

	for (int i = 0; i < SEGMENT / 8; i++)
		n += (unsigned)__builtin_popcount(map[i]);
	return n;
}

static int
take_segment(struct f2fs *f, const struct sit_entry *s, struct err *e)
{
	uint64_t first = f->sb.main + (uint64_t)s->segment * SEGMENT;

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
		return free_blocks(f, first, SEGMENT, e);
	for (unsigned i = 0; i < SEGMENT; i++)
		if (!test_bit(s->map, i) && free_blocks(f, first + i, 1, e) != 0)
			return -1;
	return 0;
}

/* One block of the table; the journal knows better. */
static int
take_sit_block(struct f2fs *f, const uint8_t *block, uint32_t first, struct err *e)
{
	struct rd r = rd_from(block, BLOCK);

	for (uint32_t i = 0; i < SIT_ENTRIES && first + i < f->sb.main_segments; i++) {
		struct sit_entry s = get_sit_entry(&r, first + i);
		for (unsigned k = 0; k < f->journal_entries; k++)
			if (f->journal[k].segment == s.segment)
				s = f->journal[k];
		if (take_segment(f, &s, e) != 0)
			return -1;
	}
	return 0;
}

/* piece: room for PIECE_BLOCKS of both copies, read whole: which is valid
 * changes from block to block. */
static int
scan_sit(struct f2fs *f, uint8_t *piece, struct err *e)
{
	uint64_t copy_blocks = (uint64_t)f->sb.sit_segments / 2 * SEGMENT;
	uint64_t needed = (f->sb.main_segments + (uint64_t)SIT_ENTRIES - 1) /
	                  SIT_ENTRIES;

	for (uint64_t at = 0; at < needed;) {
		uint64_t n = needed - at < PIECE_BLOCKS ? needed - at : PIECE_BLOCKS;
		if (read_blocks(f, piece, f->sb.sit + at, n, e) != 0 ||
		    read_blocks(f, piece + PIECE_BLOCKS * BLOCK,
			f->sb.sit + copy_blocks + at, n, e) != 0)
			return -1;
		for (uint64_t i = 0; i < n; i++, at++) {
			uint64_t slot = test_bit(f->sit_bitmap, at) ? PIECE_BLOCKS + i
			                                            : i;
			uint32_t segment = (uint32_t)(at * SIT_ENTRIES);
			if (take_sit_block(f, piece + slot * BLOCK, segment, e) != 0)
				return -1;
		}
	}
	return flush_run(f, e);
}

/* The checkpoint counts as valid also blocks that are promised to files but not
 * placed anywhere yet (fallocate), so it may count more. */
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
	uint8_t *piece = malloc((size_t)2 * PIECE_BLOCKS * BLOCK);
	int rc = -1;

	if (piece == NULL)
		return err_nomem(e, "reading a segment information table");
	if (read_sit_bitmap(f, e) == 0 && read_journal(f, e) == 0 &&
	    scan_sit(f, piece, e) == 0)
		rc = check_counts(f, e);
	free(f->sit_bitmap);
	free(piece);
	return rc;
}

static int
f2fs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct f2fs f = { .disk = d, .part = part, .sink = sink };

	if (read_super(&f, e) != 0 || choose_checkpoint(&f, e) != 0 ||
	    check_state(&f, e) != 0 || check_not_used_since(&f, e) != 0)
		return -1;
	skip_fs_end(sink, f.sb.blocks * BLOCK_SECTORS);
	return scan_table(&f, e);
}

const struct fsmod fsmod_f2fs = {
	.name = "f2fs",
	.title = "F2FS filesystem",
	.probe = f2fs_probe,
	.scan = f2fs_scan,
};
