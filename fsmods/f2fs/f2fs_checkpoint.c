/* f2fs_checkpoint.c: reads the checkpoint of F2FS: its state, and what it says of the
 * segment information table (SIT). f2fs.c calls this, in the thread that scans. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/f2fs/f2fs_impl.h"

enum {
	LOG_WARM = 1,
	LOG_COLD = 2,
	BITMAP_AT = 192, /* in the checkpoint */
	CRC_AT_MAX = F2FS_BLOCK - 4,
	SIT_VALID_MASK = 0x3ff,
	NODE_VERSION_AT = F2FS_BLOCK - 12, /* in a node: version of the checkpoint */
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

static int
fail_damaged(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "its %s is damaged", what);
}

static void
get_checkpoint(struct f2fs_checkpoint *cp)
{
	struct rd r = rd_from(cp->raw, F2FS_BLOCK);

	cp->version = rd_le64(&r);
	rd_skip(&r, 8); /* blocks for users */
	cp->valid_blocks = rd_le64(&r);
	rd_skip(&r, 4 + 4); /* segments in reserve */
	cp->free_segments = rd_le32(&r);
	for (int i = 0; i < F2FS_LOGS; i++)
		cp->node_segment[i] = rd_le32(&r);
	for (int i = 0; i < F2FS_LOGS; i++)
		cp->node_offset[i] = rd_le16(&r);
	for (int i = 0; i < F2FS_LOGS; i++)
		cp->data_segment[i] = rd_le32(&r);
	rd_skip(&r, 2 * F2FS_LOGS); /* offsets there */
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
	uint32_t crc = f2fs_crc(F2FS_MAGIC, buf, crc_at);
	crc = f2fs_crc(crc, buf + crc_at + 4, F2FS_BLOCK - crc_at - 4);
	return crc == rd_le32(&stored);
}

/* Read one of the two packs: 1 valid, 0 not valid, -1 error. */
static int
read_pack(const struct f2fs *f, struct f2fs_checkpoint *cp, uint64_t at, struct err *e)
{
	uint8_t end[F2FS_BLOCK];

	cp->at = at;
	if (f2fs_read(f, cp->raw, at, 1, e) != 0)
		return -1;
	get_checkpoint(cp);
	if (!checkpoint_crc_is_right(cp->raw) || cp->blocks < 2 ||
	    cp->blocks > F2FS_SEGMENT)
		return 0;
	if (f2fs_read(f, end, at + cp->blocks - 1, 1, e) != 0)
		return -1;
	struct rd r = rd_from(end, F2FS_BLOCK);
	return checkpoint_crc_is_right(end) && rd_le64(&r) == cp->version;
}

static int
choose_checkpoint(struct f2fs *f, struct err *e)
{
	struct f2fs_checkpoint other;
	int first = read_pack(f, &f->cp, f->sb.cp, e);
	int second = first < 0
	                 ? -1
	                 : read_pack(f, &other, (uint64_t)f->sb.cp + F2FS_SEGMENT, e);

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
	const struct f2fs_checkpoint *cp = &f->cp;

	if (cp->flags & ~(uint32_t)CP_KNOWN)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown state (0x%" PRIx32 ")", cp->flags);
	if (cp->flags & (CP_ERROR | CP_FSCK))
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	if (cp->flags & (CP_DISABLED | CP_DISABLED_QUICK | CP_RESIZING))
		return err_set(e, ERR_FORMAT, "its checkpoints were suspended");
	if (!(cp->flags & CP_UNMOUNTED))
		return err_set(e, ERR_FORMAT, "it was not cleanly unmounted");
	for (int i = 0; i < F2FS_LOGS_USED; i++)
		if (cp->node_segment[i] >= f->sb.main_segments ||
		    cp->data_segment[i] >= f->sb.main_segments ||
		    cp->node_offset[i] >= F2FS_SEGMENT)
			return fail_damaged(e, "checkpoint");
	return 0;
}

/* Fails when a node was synced after the checkpoint: the first such node would be at one
 * known place. */
static int
check_not_used_since(const struct f2fs *f, struct err *e)
{
	uint8_t node[F2FS_BLOCK];
	uint64_t at = f->sb.main +
	              (uint64_t)f->cp.node_segment[LOG_WARM] * F2FS_SEGMENT +
	              f->cp.node_offset[LOG_WARM];

	if (f2fs_read(f, node, at, 1, e) != 0)
		return -1;
	struct rd r = rd_from(node + NODE_VERSION_AT, 4);
	if (rd_le32(&r) == (uint32_t)f->cp.version)
		return err_set(
		    e, ERR_FORMAT, "it was written to after its last checkpoint");
	return 0;
}

int
f2fs_read_checkpoint(struct f2fs *f, struct err *e)
{
	if (choose_checkpoint(f, e) != 0 || check_state(f, e) != 0)
		return -1;
	return check_not_used_since(f, e);
}

/* Read the bitmap of valid copies, which is in the checkpoint's block or in the blocks
 * behind it. */
static int
read_sit_bitmap(struct f2fs *f, struct err *e)
{
	const struct f2fs_checkpoint *cp = &f->cp;
	uint64_t sit_blocks = (uint64_t)f->sb.sit_segments / 2 * F2FS_SEGMENT;
	uint64_t at = BITMAP_AT, end = CRC_AT_MAX;

	if (cp->sit_bitmap_bytes != sit_blocks / 8)
		return fail_damaged(e, "checkpoint");
	if (cp->flags & CP_LARGE_NAT_BITMAP) {
		at = BITMAP_AT + 4 + (uint64_t)cp->nat_bitmap_bytes;
		end = F2FS_BLOCK * (1 + (uint64_t)f->sb.cp_payload);
	} else if (f->sb.cp_payload > 0) {
		at = F2FS_BLOCK;
		end = F2FS_BLOCK * (1 + (uint64_t)f->sb.cp_payload);
	}
	if (at > end || cp->sit_bitmap_bytes > end - at)
		return fail_damaged(e, "checkpoint");
	uint64_t blocks = (at + cp->sit_bitmap_bytes + F2FS_BLOCK - 1) / F2FS_BLOCK;
	uint8_t *raw = malloc(blocks * F2FS_BLOCK);
	if (raw == NULL)
		return err_nomem(e, "reading a checkpoint");
	int rc = f2fs_read(f, raw, cp->at, blocks, e);
	f->sit_bitmap = raw;
	if (rc == 0)
		memmove(raw, raw + at, cp->sit_bitmap_bytes);
	return rc;
}

struct f2fs_sit_entry
f2fs_get_sit_entry(struct rd *r, uint32_t segment)
{
	struct f2fs_sit_entry s = { .segment = segment,
		.valid = rd_le16(r) & SIT_VALID_MASK };

	s.map = rd_bytes(r, F2FS_SEGMENT / 8);
	rd_skip(r, 8); /* time */
	return s;
}

static int
get_journal(struct f2fs *f, struct rd r, struct err *e)
{
	uint32_t n = rd_le16(&r);

	if (n > F2FS_JOURNAL_MAX)
		return fail_damaged(e, "journal");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t segment = rd_le32(&r);
		for (uint32_t k = 0; k < i; k++)
			if (f->journal[k].segment == segment)
				return fail_damaged(e, "journal");
		if (segment >= f->sb.main_segments)
			return fail_damaged(e, "journal");
		f->journal[i] = f2fs_get_sit_entry(&r, segment);
	}
	f->journal_entries = n;
	return 0;
}

/* Find and read the journal. The pack ends with the summaries of the three data logs (a
 * block each, or packed into 1 to 3 blocks), those of the three node logs, and the pack's
 * last block. */
static int
find_journal(struct f2fs *f, struct err *e)
{
	const struct f2fs_checkpoint *cp = &f->cp;
	bool compact = cp->flags & CP_COMPACT;
	uint64_t behind = (uint64_t)cp->first_summary + F2FS_LOGS_USED + 1;
	uint64_t data_blocks = cp->blocks > behind ? cp->blocks - behind : 0;

	if (cp->first_summary < 1 + f->sb.cp_payload || data_blocks == 0 ||
	    data_blocks > F2FS_LOGS_USED || (!compact && data_blocks != F2FS_LOGS_USED))
		return fail_damaged(e, "checkpoint");
	uint64_t at = cp->at + cp->first_summary + (compact ? 0 : LOG_COLD);
	if (f2fs_read(f, f->summary, at, 1, e) != 0)
		return -1;
	size_t off = compact ? F2FS_JOURNAL_BYTES : F2FS_SUMMARY_ENTRIES_BYTES;
	return get_journal(f, rd_from(f->summary + off, F2FS_JOURNAL_BYTES), e);
}

int
f2fs_read_journal(struct f2fs *f, struct err *e)
{
	return read_sit_bitmap(f, e) != 0 ? -1 : find_journal(f, e);
}
