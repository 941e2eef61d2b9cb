/* xfs.c: XFS, versions 4 and 5. fsmods.c calls its functions, in the first thread of
 * imagezip.
 *
 * The data section is cut into allocation groups. Each group has a tree of its free
 * extents, in order of block number, and its header (AGF) says how many blocks are free.
 * The extents that the tree lists are skipped if their sums agree with the headers. The
 * few blocks that a group has in reserve for its trees (AGFL) are in no tree, and are
 * kept. Nothing is skipped when the log would have to be replayed, or when a feature is
 * set that this module does not know.
 *
 * Source: "XFS Algorithms & Data Structures" (3rd edition), and the declarations in the
 * Linux kernel's fs/xfs/libxfs/xfs_format.h. All numbers are big-endian but for the
 * checksums.
 */
#include <ext2fs/ext2fs.h> /* for ext2fs_crc32c_le() */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/fsmod.h"
#include "fsmods/xfs/xfs_log.h"

enum {
	SUPER_BYTES = 264, /* the part of the superblock that is read */
	SECTOR_MAX = 32768,
	BLOCK_MIN = 512,
	BLOCK_MAX = 65536,
	GROUP_HEADER_SECTORS = 4, /* superblock, AGF, AGI, AGFL */
	SUPER_CRC_AT = 224,
	AGF_CRC_AT = 216,
	TREE_CRC_AT = 52,
	TREE_HEADER_V4 = 16,
	TREE_HEADER_V5 = 56,
	RECORD_BYTES = 8, /* also a key */
	POINTER_BYTES = 4,
	LEVELS_MAX = 9,
	UUID_BYTES = 16,
	/* Of the log, sectors in front of its head and behind it that count as hot. */
	HOT_LOG_BEFORE = (1 << 20) / SECTOR_BYTES,
	HOT_LOG_BEHIND = (256 << 10) / SECTOR_BYTES,
	HOT_GROUPS = 128, /* evenly spread, if there are more */
};

static const uint32_t super_magic = 0x58465342;   /* XFSB */
static const uint32_t agf_magic = 0x58414746;     /* XAGF */
static const uint32_t tree_magic_v4 = 0x41425442; /* ABTB */
static const uint32_t tree_magic_v5 = 0x41423342; /* AB3B */

/* Bits of versionnum: the version, and the features of version 4. */
enum {
	VERSION_MASK = 0xf,
	VERSION_SHARED = 0x200,     /* unknown meaning: refused */
	VERSION_MORE_BITS = 0x8000, /* there is features2 */
	FEATURES2_LAZY_COUNT = 0x2,
	FEATURES2_KNOWN = FEATURES2_LAZY_COUNT | 0x8 /* attr2 */ | 0x80 /* projid32 */ |
	                  0x200 /* ftype */,
};

enum {
	RO_COMPAT_KNOWN = 0x1 /* finobt */ | 0x2 /* rmapbt */ | 0x4 /* reflink */ |
	                  0x8 /* inobtcount */,
	INCOMPAT_META_UUID = 0x4,
	INCOMPAT_NEEDS_REPAIR = 0x10,
	INCOMPAT_KNOWN = 0x1 /* ftype */ | 0x2 /* sparse inodes */ |
	                 INCOMPAT_META_UUID | 0x8 /* bigtime */ | 0x20 /* nrext64 */ |
	                 0x40 /* exchange-range */ | 0x80 /* parent pointers */,
	LOG_INCOMPAT_KNOWN = 0x1 /* attributes replayed */,
};

struct super {
	uint32_t block_bytes, sector_bytes;
	uint64_t blocks; /* of the data section */
	uint64_t realtime_blocks;
	uint64_t log_start; /* group, and block in it; 0: the log is on another device */
	uint32_t log_blocks;
	uint32_t group_blocks, groups;
	uint16_t version_bits;
	uint8_t block_log, sector_log, group_log, in_progress;
	uint64_t free_blocks;
	uint32_t features2, ro_compat, incompat, log_incompat;
	uint8_t uuid[UUID_BYTES], meta_uuid[UUID_BYTES];
};

struct xfs {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	struct super sb;
	bool v5;              /* metadata has checksums */
	bool lazy_count;      /* blocks of the trees count as free */
	uint64_t free_blocks; /* found so far, as the superblock counts */
	uint8_t *blocks;      /* buffers, one for each level of a tree */
};

struct group {
	uint32_t number, length;
	uint32_t root, levels;
	uint32_t free_blocks, longest; /* as the AGF says */
	uint32_t in_reserve, tree_blocks;
	uint32_t uncounted; /* blocks of free_blocks that were not found yet */
	uint32_t next;      /* free extents may begin here */
	uint32_t longest_found;
};

static bool
is_power_of_2(uint32_t n, uint8_t log2)
{
	return log2 < 32 && n == UINT32_C(1) << log2;
}

static int
read_at(const struct xfs *x, void *buf, size_t len, uint64_t at_bytes, struct err *e)
{
	if (!range_within((struct range){ at_bytes, len }, x->part.len * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "it is larger than the partition");
	return disk_read(x->disk, buf, len, x->part.off * SECTOR_BYTES + at_bytes, e);
}

/* Is the checksum right? It is of all bytes, with zeros in its own place. */
static bool
crc_is_right(const uint8_t *buf, size_t len, size_t crc_at)
{
	static const uint8_t zeros[4];
	struct rd r = rd_from(buf + crc_at, 4);
	uint32_t crc = ext2fs_crc32c_le(~UINT32_C(0), buf, crc_at);

	crc = ext2fs_crc32c_le(crc, zeros, sizeof zeros);
	crc = ext2fs_crc32c_le(crc, buf + crc_at + 4, len - crc_at - 4);
	return ~crc == rd_le32(&r);
}

static uint64_t
group_at_bytes(const struct xfs *x, uint32_t group)
{
	return (uint64_t)group * x->sb.group_blocks * x->sb.block_bytes;
}

static uint32_t
group_length(const struct super *sb, uint32_t group)
{
	if (group < sb->groups - 1)
		return sb->group_blocks;
	return (uint32_t)(sb->blocks - (uint64_t)(sb->groups - 1) * sb->group_blocks);
}

static void
get_super(struct super *sb, const uint8_t *buf)
{
	struct rd r = rd_from(buf, SUPER_BYTES);

	rd_skip(&r, 4);
	sb->block_bytes = rd_be32(&r);
	sb->blocks = rd_be64(&r);
	sb->realtime_blocks = rd_be64(&r);
	rd_skip(&r, 8); /* realtime extents */
	rd_copy(&r, sb->uuid, sizeof sb->uuid);
	sb->log_start = rd_be64(&r);
	rd_skip(&r, 3 * 8 + 4); /* inodes; realtime extent size */
	sb->group_blocks = rd_be32(&r);
	sb->groups = rd_be32(&r);
	rd_skip(&r, 4); /* realtime bitmap */
	sb->log_blocks = rd_be32(&r);
	sb->version_bits = rd_be16(&r);
	sb->sector_bytes = rd_be16(&r);
	rd_skip(&r, 2 + 2 + 12); /* inode size, inodes a block, name */
	sb->block_log = rd_u8(&r);
	sb->sector_log = rd_u8(&r);
	rd_skip(&r, 2);
	sb->group_log = rd_u8(&r);
	rd_skip(&r, 1);
	sb->in_progress = rd_u8(&r);
	rd_skip(&r, 1 + 2 * 8); /* share of inodes; inodes, free ones */
	sb->free_blocks = rd_be64(&r);
	rd_skip(&r, 8 + 2 * 8 + 2 + 2); /* realtime extents, quotas, flags */
	rd_skip(&r, 3 * 4 + 2 + 2 + 4); /* alignments, log sector, log unit */
	sb->features2 = rd_be32(&r);
	rd_skip(&r, 4 + 4); /* a copy of it; compatible features */
	sb->ro_compat = rd_be32(&r);
	sb->incompat = rd_be32(&r);
	sb->log_incompat = rd_be32(&r);
	rd_skip(&r, 4 + 4 + 8 + 8); /* checksum, alignment, quota, log position */
	rd_copy(&r, sb->meta_uuid, sizeof sb->meta_uuid);
}

static int
xfs_probe(struct disk *d, struct range part, struct err *e)
{
	uint8_t buf[SUPER_BYTES];
	struct super sb;

	if (part.len * SECTOR_BYTES < sizeof buf)
		return 0;
	if (disk_read(d, buf, sizeof buf, part.off * SECTOR_BYTES, e) != 0)
		return -1;
	struct rd r = rd_from(buf, sizeof buf);
	get_super(&sb, buf);
	return rd_be32(&r) == super_magic &&
	       is_power_of_2(sb.block_bytes, sb.block_log);
}

static int
check_version(const struct super *sb, struct err *e)
{
	uint32_t version = sb->version_bits & VERSION_MASK;

	if (version != 4 && version != 5)
		return err_set(
		    e, ERR_UNSUPPORTED, "version %" PRIu32 " is not known", version);
	if (version == 4 && (sb->version_bits & VERSION_SHARED))
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown features (0x%x)", VERSION_SHARED);
	if (version == 4 && (sb->version_bits & VERSION_MORE_BITS) &&
	    (sb->features2 & ~(uint32_t)FEATURES2_KNOWN))
		return err_set(e, ERR_UNSUPPORTED, "unknown features (0x%" PRIx32 ")",
		    sb->features2 & ~(uint32_t)FEATURES2_KNOWN);
	if (version == 4)
		return 0;
	if (sb->incompat & INCOMPAT_NEEDS_REPAIR)
		return err_set(e, ERR_FORMAT, "it is marked as needing repair");
	if (sb->incompat & ~(uint32_t)INCOMPAT_KNOWN)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown incompatible features (0x%" PRIx32 ")",
		    sb->incompat & ~(uint32_t)INCOMPAT_KNOWN);
	if (sb->ro_compat & ~(uint32_t)RO_COMPAT_KNOWN)
		return err_set(e, ERR_UNSUPPORTED, "unknown features (0x%" PRIx32 ")",
		    sb->ro_compat & ~(uint32_t)RO_COMPAT_KNOWN);
	if (sb->log_incompat & ~(uint32_t)LOG_INCOMPAT_KNOWN)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown features of the log (0x%" PRIx32 ")",
		    sb->log_incompat & ~(uint32_t)LOG_INCOMPAT_KNOWN);
	return 0;
}

/* Check all numbers that sizes and places are computed from later. */
static int
check_geometry(const struct super *sb, struct range part, struct err *e)
{
	if (sb->block_bytes < BLOCK_MIN || sb->block_bytes > BLOCK_MAX ||
	    !is_power_of_2(sb->block_bytes, sb->block_log) ||
	    sb->sector_bytes < SECTOR_BYTES || sb->sector_bytes > SECTOR_MAX ||
	    !is_power_of_2(sb->sector_bytes, sb->sector_log) ||
	    sb->sector_bytes > sb->block_bytes)
		return err_set(e, ERR_FORMAT,
		    "blocks of %" PRIu32 " bytes and sectors of %" PRIu32
		    " are impossible",
		    sb->block_bytes, sb->sector_bytes);
	uint64_t header = (uint64_t)GROUP_HEADER_SECTORS * sb->sector_bytes;
	if (sb->groups == 0 || sb->group_log > 31 ||
	    sb->group_blocks > UINT32_C(1) << sb->group_log ||
	    (uint64_t)sb->group_blocks * sb->block_bytes <= header ||
	    sb->blocks > (uint64_t)sb->groups * sb->group_blocks ||
	    sb->blocks <= (uint64_t)(sb->groups - 1) * sb->group_blocks ||
	    (uint64_t)group_length(sb, sb->groups - 1) * sb->block_bytes <= header)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " blocks in %" PRIu32 " groups of %" PRIu32
		    " are impossible",
		    sb->blocks, sb->groups, sb->group_blocks);
	if (sb->blocks > part.len / (sb->block_bytes / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " blocks of %" PRIu32 " bytes, "
		    "more than the partition",
		    sb->blocks, sb->block_bytes);
	return 0;
}

static int
read_super(struct xfs *x, struct err *e)
{
	uint8_t buf[SECTOR_MAX];
	struct super *sb = &x->sb;

	if (read_at(x, buf, SUPER_BYTES, 0, e) != 0)
		return -1;
	get_super(sb, buf);
	if (check_version(sb, e) != 0 || check_geometry(sb, x->part, e) != 0)
		return -1;
	x->v5 = (sb->version_bits & VERSION_MASK) == 5;
	x->lazy_count = x->v5 || ((sb->version_bits & VERSION_MORE_BITS) &&
				     (sb->features2 & FEATURES2_LAZY_COUNT));
	if (!x->v5 || !(sb->incompat & INCOMPAT_META_UUID))
		memcpy(sb->meta_uuid, sb->uuid, sizeof sb->uuid);
	if (read_at(x, buf, sb->sector_bytes, 0, e) != 0)
		return -1;
	if (x->v5 && !crc_is_right(buf, sb->sector_bytes, SUPER_CRC_AT))
		return err_set(
		    e, ERR_FORMAT, "the checksum of its superblock is wrong");
	if (sb->in_progress)
		return err_set(e, ERR_FORMAT, "it was not completely made");
	if (sb->realtime_blocks != 0)
		return err_set(e, ERR_UNSUPPORTED, "it has a realtime device");
	return 0;
}

/* Every mount that may write writes to the log at its head, and clears what is behind it.
 * What is in front of the head is what the uses before have written.  The ring is closed at
 * the log's end. */
static int
report_log(const struct xfs *x, const struct xfs_log *log, uint64_t head, struct err *e)
{
	uint64_t first = log->at_bytes / SECTOR_BYTES - x->part.off;
	uint64_t from = head > HOT_LOG_BEFORE ? head - HOT_LOG_BEFORE : 0;
	uint64_t end = head + HOT_LOG_BEHIND, over = 0;

	if (end > log->sectors) {
		over = end - log->sectors;
		end = log->sectors;
	}
	if (skip_hot(x->sink, (struct range){ first + from, end - from }, e) != 0)
		return -1;
	return over == 0 ? 0 : skip_hot(x->sink, (struct range){ first, over }, e);
}

static int
check_log(const struct xfs *x, struct err *e)
{
	const struct super *sb = &x->sb;
	uint64_t group = sb->log_start >> sb->group_log, head;
	uint64_t block = sb->log_start & ((UINT64_C(1) << sb->group_log) - 1);

	if (sb->log_start == 0)
		return err_set(e, ERR_UNSUPPORTED, "its log is on another device");
	if (group >= sb->groups ||
	    !range_within((struct range){ block, sb->log_blocks },
		group_length(sb, (uint32_t)group)))
		return err_set(e, ERR_FORMAT, "its log lies outside the filesystem");
	struct xfs_log log = {
		.disk = x->disk,
		.at_bytes = x->part.off * SECTOR_BYTES +
		            group_at_bytes(x, (uint32_t)group) +
		            block * sb->block_bytes,
		.sectors = (uint64_t)sb->log_blocks * (sb->block_bytes / SECTOR_BYTES),
		.uuid = sb->uuid,
	};
	if (xfs_log_check_clean(&log, &head, e) != 0)
		return -1;
	return report_log(x, &log, head, e);
}

static int
fail_group(struct err *e, const struct group *g, const char *what)
{
	return err_set(e, ERR_FORMAT, "group %" PRIu32 ": %s", g->number, what);
}

static int
get_agf(const struct xfs *x, struct group *g, const uint8_t *buf, struct err *e)
{
	struct rd r = rd_from(buf, x->sb.sector_bytes);
	uint8_t uuid[UUID_BYTES];

	if (rd_be32(&r) != agf_magic || rd_be32(&r) != 1)
		return fail_group(
		    e, g, "its header has a wrong magic number or version");
	if (x->v5 && !crc_is_right(buf, x->sb.sector_bytes, AGF_CRC_AT))
		return fail_group(e, g, "the checksum of its header is wrong");
	uint32_t number = rd_be32(&r), length = rd_be32(&r);
	g->root = rd_be32(&r);
	rd_skip(&r, 4 + 4); /* other trees */
	g->levels = rd_be32(&r);
	rd_skip(&r, 4 + 4 + 4 + 4); /* other trees; first and last of the reserve */
	g->in_reserve = rd_be32(&r);
	g->free_blocks = rd_be32(&r);
	g->longest = rd_be32(&r);
	g->tree_blocks = rd_be32(&r);
	rd_copy(&r, uuid, sizeof uuid);
	if (number != g->number || length != g->length ||
	    (x->v5 && memcmp(uuid, x->sb.meta_uuid, sizeof uuid) != 0))
		return fail_group(
		    e, g, "its header belongs to another group or filesystem");
	if (g->levels == 0 || g->levels > LEVELS_MAX || g->free_blocks > g->length)
		return fail_group(e, g, "its header is damaged");
	return 0;
}

/* Does the block's header say that it is this block of this tree? */
static bool
tree_block_is_right(const struct xfs *x, const struct group *g, struct rd *r,
    const uint8_t *buf, uint32_t block, uint32_t level)
{
	uint8_t uuid[UUID_BYTES];

	if (rd_be32(r) != (x->v5 ? tree_magic_v5 : tree_magic_v4) ||
	    rd_be16(r) != level)
		return false;
	if (!x->v5)
		return true;
	struct rd own = rd_from(buf + TREE_HEADER_V4, TREE_HEADER_V5 - TREE_HEADER_V4);
	uint64_t sector = rd_be64(&own);
	rd_skip(&own, 8); /* log position */
	rd_copy(&own, uuid, sizeof uuid);
	return sector == (group_at_bytes(x, g->number) +
			     (uint64_t)block * x->sb.block_bytes) /
	                     SECTOR_BYTES &&
	       memcmp(uuid, x->sb.meta_uuid, sizeof uuid) == 0 &&
	       rd_be32(&own) == g->number &&
	       crc_is_right(buf, x->sb.block_bytes, TREE_CRC_AT);
}

/* Take a free extent. Free extents must ascend, and must not overlap what is surely in
 * use. This also prevents a tree with loops from being walked twice. */
static int
take_extent(struct xfs *x, struct group *g, struct range extent, struct err *e)
{
	const struct super *sb = &x->sb;
	uint64_t group_first = (uint64_t)g->number * sb->group_blocks;
	uint64_t log_group = sb->log_start >> sb->group_log;
	uint64_t log_first = sb->log_start & ((UINT64_C(1) << sb->group_log) - 1);
	uint32_t block_sectors = sb->block_bytes / SECTOR_BYTES;

	if (extent.len == 0 || extent.off < g->next || !range_within(extent, g->length))
		return fail_group(e, g, "its free space is not in order");
	if (g->number == log_group && extent.off < log_first + sb->log_blocks &&
	    log_first < range_end(extent))
		return fail_group(e, g, "its free space and the log overlap");
	if (extent.len > g->uncounted)
		return fail_group(e, g, "it has more free blocks than its header says");
	g->uncounted -= (uint32_t)extent.len;
	g->next = (uint32_t)range_end(extent);
	if (extent.len > g->longest_found)
		g->longest_found = (uint32_t)extent.len;
	return skip_add(x->sink,
	    (struct range){ (group_first + extent.off) * block_sectors,
		extent.len * block_sectors },
	    e);
}

static int
take_leaf(struct xfs *x, struct group *g, struct rd *r, uint32_t records, struct err *e)
{
	for (uint32_t i = 0; i < records; i++) {
		uint32_t first = rd_be32(r), count = rd_be32(r);
		if (take_extent(x, g, (struct range){ first, count }, e) != 0)
			return -1;
	}
	return 0;
}

/* The leaves below one node lie all over the group, so the system is told of all of them
 * before the first one is read. */
static void
prefetch(const struct xfs *x, const struct group *g, struct rd pointers, uint32_t n)
{
	uint64_t at = x->part.off * SECTOR_BYTES + group_at_bytes(x, g->number);
	int fd = disk_fd(x->disk);

	for (uint32_t i = 0; i < n && fd >= 0; i++)
		(void)posix_fadvise(fd,
		    (off_t)(at + (uint64_t)rd_be32(&pointers) * x->sb.block_bytes),
		    x->sb.block_bytes, POSIX_FADV_WILLNEED);
}

/* Walk the tree below a block. Each block below has one level less, so the recursion
 * ends. */
static int
walk(struct xfs *x, struct group *g, uint32_t block, uint32_t level, struct err *e)
{
	uint32_t bytes = x->sb.block_bytes;
	uint32_t header = x->v5 ? TREE_HEADER_V5 : TREE_HEADER_V4;
	uint8_t *buf = x->blocks + (size_t)level * bytes;
	struct rd r = rd_from(buf, bytes);

	if (block >= g->length)
		return fail_group(e, g, "its tree of free space leads outside");
	uint64_t at = group_at_bytes(x, g->number) + (uint64_t)block * bytes;
	if (read_at(x, buf, bytes, at, e) != 0)
		return -1;
	if (!tree_block_is_right(x, g, &r, buf, block, level))
		return fail_group(e, g, "its tree of free space is damaged");
	uint32_t records = rd_be16(&r);
	uint32_t each = level == 0 ? RECORD_BYTES : RECORD_BYTES + POINTER_BYTES;
	uint32_t records_max = (bytes - header) / each;
	if (records > records_max || (records == 0 && level + 1 < g->levels))
		return fail_group(e, g, "its tree of free space is damaged");
	rd_skip(&r, header - (4 + 2 + 2));
	if (level == 0)
		return take_leaf(x, g, &r, records, e);
	rd_skip(&r, (size_t)records_max * RECORD_BYTES);
	if (level == 1)
		prefetch(x, g, r, records);
	for (uint32_t i = 0; i < records; i++)
		if (walk(x, g, rd_be32(&r), level - 1, e) != 0)
			return -1;
	return 0;
}

/* The counts in a group's header change whenever blocks or inodes come or go in it. */
static int
report_header(const struct xfs *x, uint32_t group, struct err *e)
{
	if (group % (x->sb.groups / HOT_GROUPS + 1) != 0)
		return 0;
	return skip_hot(x->sink,
	    (struct range){ group_at_bytes(x, group) / SECTOR_BYTES,
		GROUP_HEADER_SECTORS * x->sb.sector_bytes / SECTOR_BYTES },
	    e);
}

static int
scan_group(struct xfs *x, uint32_t number, struct err *e)
{
	struct group g = { .number = number, .length = group_length(&x->sb, number) };
	uint8_t buf[SECTOR_MAX];

	uint64_t agf_at = group_at_bytes(x, number) + x->sb.sector_bytes;
	if (read_at(x, buf, x->sb.sector_bytes, agf_at, e) != 0 ||
	    get_agf(x, &g, buf, e) != 0)
		return -1;
	g.uncounted = g.free_blocks;
	g.next = (GROUP_HEADER_SECTORS * x->sb.sector_bytes + x->sb.block_bytes - 1) /
	         x->sb.block_bytes;
	if (walk(x, &g, g.root, g.levels - 1, e) != 0)
		return -1;
	if (g.uncounted != 0)
		return fail_group(
		    e, &g, "it has fewer free blocks than its header says");
	if (g.longest != g.longest_found)
		return fail_group(
		    e, &g, "its longest free extent is not what its header says");
	if (report_header(x, number, e) != 0)
		return -1;
	x->free_blocks += (uint64_t)g.free_blocks + g.in_reserve +
	                  (x->lazy_count ? g.tree_blocks : 0);
	return 0;
}

static int
scan_groups(struct xfs *x, struct err *e)
{
	for (uint32_t i = 0; i < x->sb.groups; i++)
		if (scan_group(x, i, e) != 0)
			return -1;
	if (x->free_blocks != x->sb.free_blocks)
		return err_set(e, ERR_FORMAT,
		    "its groups have %" PRIu64 " free blocks, its "
		    "superblock says %" PRIu64,
		    x->free_blocks, x->sb.free_blocks);
	return 0;
}

static int
xfs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct xfs x = { .disk = d, .part = part, .sink = sink };

	if (read_super(&x, e) != 0 || check_log(&x, e) != 0)
		return -1;
	x.blocks = malloc((size_t)LEVELS_MAX * x.sb.block_bytes);
	if (x.blocks == NULL)
		return err_nomem(e, "reading trees of free space");
	skip_fs_end(sink, x.sb.blocks * (x.sb.block_bytes / SECTOR_BYTES));
	int rc = scan_groups(&x, e);
	free(x.blocks);
	return rc;
}

const struct fsmod fsmod_xfs = {
	.name = "xfs",
	.title = "XFS filesystem",
	.probe = xfs_probe,
	.scan = xfs_scan,
};
