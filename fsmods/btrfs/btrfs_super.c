/* btrfs_super.c: reads the superblock of btrfs, and refuses what this module does not
 * handle. btrfs.c calls this, in the thread that scans.
 *
 *	0	checksum[32], fsid[16], le64 own address, le64 flags
 *	64	"_BHRfS_M", le64 generation, le64 root, le64 chunk root, le64 log root
 *	104	le64 (unused), le64 total, le64 used, le64 root directory
 *	136	le64 devices, le32 sector, le32 node, le32 (leaf), le32 (stripe)
 *	160	le32 bytes of system chunks, le64 generation of the chunk root
 *	172	le64 compat, le64 compat_ro, le64 incompat, le16 checksum type
 *	198	u8 level of root, chunk root, log root
 *	201	the device: le64 id, le64 total, le64 used, 42 bytes, uuid[16], ...
 *	299	label[256]
 *	571	metadata_uuid[16]
 *	811	system chunks[2048]
 *
 * The kernel mounts by the first copy, at 64 KiB, so this module uses that copy. If a
 * mirror is newer than the first copy, the scan fails.
 */
#include <inttypes.h>
#include <string.h>

#include "fsmods/btrfs/btrfs.h"

#define KIB UINT64_C(1024)

const uint64_t btrfs_super_at[BTRFS_SUPERS] = { 64 * KIB, 64 * KIB *KIB,
	256 * KIB *KIB *KIB };

enum {
	MAGIC_AT = 64,
	LABEL_BYTES = 256,
	UUIDS_AFTER_LABEL = 16, /* two generations */
	BEHIND_METADATA_UUID = 224,
	DEV_BEFORE_UUID = 42,
	DEV_BEHIND_UUID = 16,
	SECTOR_MIN = 4096,
	BLOCK_MAX = 65536,
};

enum {
	SUPER_WRITTEN = 1 << 0,
	SUPER_RELOC = 1 << 1,
	SUPER_ERROR = 1 << 2,
};
#define SUPER_SEEDING (UINT64_C(1) << 32)

enum incompat {
	MIXED_BACKREF = 1 << 0,
	METADATA_UUID = 1 << 10,
	ZONED = 1 << 12,
	EXTENT_TREE_V2 = 1 << 13,
	RAID_STRIPE_TREE = 1 << 14,
	SIMPLE_QUOTA = 1 << 16,
	/* Backrefs, default subvolume, mixed groups, lzo, zstd, big metadata, long
	 * inode refs, raid56, skinny metadata, no holes, metadata uuid, raid1c34. */
	KNOWN_INCOMPAT = 0xfff | SIMPLE_QUOTA,
};

enum compat_ro {
	BLOCK_GROUP_TREE = 1 << 3,
	KNOWN_COMPAT_RO = 0xf, /* free space tree, its "valid" bit, verity, BLOCK_GROUP_TREE */
};

/* Fields of the superblock that only the checks in this file need. */
struct doubts {
	uint64_t own_address, flags, log_root, devices, total;
	uint64_t compat_ro, incompat;
	uint8_t metadata_uuid[BTRFS_UUID_BYTES];
};

static void
decode_device(struct btrfs_super *s, struct rd *r)
{
	s->dev_id = rd_le64(r);
	s->dev_total = rd_le64(r);
	s->dev_used = rd_le64(r);
	rd_skip(r, DEV_BEFORE_UUID);
	rd_copy(r, s->dev_uuid, sizeof s->dev_uuid);
	rd_skip(r, DEV_BEHIND_UUID);
}

static void
decode_sizes(struct btrfs_super *s, struct doubts *x, struct rd *r)
{
	s->sector_bytes = rd_le32(r);
	s->node_bytes = rd_le32(r);
	rd_skip(r, 8);
	s->sys_chunks_len = rd_le32(r);
	s->chunk_root.generation = rd_le64(r);
	rd_skip(r, 8);
	x->compat_ro = rd_le64(r);
	x->incompat = rd_le64(r);
	s->sum_type = rd_le16(r);
	s->root.level = rd_u8(r);
	s->chunk_root.level = rd_u8(r);
	rd_skip(r, 1);
}

static bool
decode(struct btrfs_super *s, struct doubts *x, const uint8_t block[BTRFS_SUPER_BYTES])
{
	struct rd r = rd_from(block, BTRFS_SUPER_BYTES);

	*s = (struct btrfs_super){ .root.owner = BTRFS_TREE_ROOT,
		.chunk_root.owner = BTRFS_TREE_CHUNK };
	rd_skip(&r, BTRFS_SUM_BYTES);
	rd_copy(&r, s->fsid, sizeof s->fsid);
	x->own_address = rd_le64(&r);
	x->flags = rd_le64(&r);
	bool magic = rd_le64(&r) == UINT64_C(0x4d5f53665248425f);
	s->generation = s->root.generation = rd_le64(&r);
	s->root.logical = rd_le64(&r);
	s->chunk_root.logical = rd_le64(&r);
	x->log_root = rd_le64(&r);
	rd_skip(&r, 8);
	x->total = rd_le64(&r);
	s->bytes_used = rd_le64(&r);
	rd_skip(&r, 8);
	x->devices = rd_le64(&r);
	decode_sizes(s, x, &r);
	decode_device(s, &r);
	rd_skip(&r, LABEL_BYTES + UUIDS_AFTER_LABEL);
	rd_copy(&r, x->metadata_uuid, sizeof x->metadata_uuid);
	rd_skip(&r, BEHIND_METADATA_UUID);
	rd_copy(&r, s->sys_chunks, sizeof s->sys_chunks);
	s->block_group_tree = x->compat_ro & BLOCK_GROUP_TREE;
	return magic && rd_ok(&r);
}

static bool
is_power_of_two(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

static int
check_sizes(const struct btrfs_super *s, const struct doubts *x, struct range part,
    struct err *e)
{
	if (!is_power_of_two(s->sector_bytes) || s->sector_bytes < SECTOR_MIN ||
	    s->sector_bytes > BLOCK_MAX || !is_power_of_two(s->node_bytes) ||
	    s->node_bytes < s->sector_bytes || s->node_bytes > BLOCK_MAX)
		return err_set(e, ERR_FORMAT,
		    "sectors of %" PRIu32 " and nodes of %" PRIu32
		    " bytes are impossible",
		    s->sector_bytes, s->node_bytes);
	if (s->sys_chunks_len > BTRFS_SYS_CHUNKS_CAP)
		return err_set(
		    e, ERR_FORMAT, "its superblock has too many system chunks");
	if (x->total < s->bytes_used)
		return err_set(e, ERR_FORMAT, "it uses more bytes than it has");
	if (s->dev_total / SECTOR_BYTES > part.len)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " bytes, more than the partition", s->dev_total);
	return 0;
}

static int
check_features(const struct doubts *x, struct err *e)
{
	static const struct {
		unsigned bit;
		const char *clause;
	} refused[] = {
		{ ZONED, "it is zoned" },
		{ EXTENT_TREE_V2, "it has the second version of the extent tree" },
		{ RAID_STRIPE_TREE, "it has a tree of RAID stripes" },
	};

	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (x->incompat & refused[i].bit)
			return err_set(e, ERR_UNSUPPORTED, "%s, which is not supported",
			    refused[i].clause);
	if (x->incompat & ~(uint64_t)KNOWN_INCOMPAT)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown incompatible features (0x%" PRIx64 ")",
		    x->incompat & ~(uint64_t)KNOWN_INCOMPAT);
	if (x->compat_ro & ~(uint64_t)KNOWN_COMPAT_RO)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown read-only features (0x%" PRIx64 ")",
		    x->compat_ro & ~(uint64_t)KNOWN_COMPAT_RO);
	if (!(x->incompat & MIXED_BACKREF))
		return err_set(
		    e, ERR_UNSUPPORTED, "it has the references of before 2009");
	return 0;
}

static int
check_state(const struct btrfs_super *s, const struct doubts *x, struct err *e)
{
	if (x->flags & SUPER_SEEDING)
		return err_set(e, ERR_UNSUPPORTED, "it is a seed of other filesystems");
	if (x->flags & SUPER_ERROR)
		return err_set(e, ERR_FORMAT, "it is marked as having errors");
	if (x->flags & ~(uint64_t)(SUPER_WRITTEN | SUPER_RELOC))
		return err_set(e, ERR_UNSUPPORTED,
		    "a change of it was not finished, or it is a dump "
		    "of metadata (flags 0x%" PRIx64 ")",
		    x->flags);
	if (x->devices != 1)
		return err_set(
		    e, ERR_UNSUPPORTED, "it has %" PRIu64 " devices", x->devices);
	if (s->dev_id == 0)
		return err_set(e, ERR_UNSUPPORTED, "it is replacing another device");
	if (x->log_root != 0)
		return err_set(e, ERR_FORMAT, "its log is to be replayed");
	return 0;
}

/* Fails when a valid mirror of this filesystem is newer than the first copy. */
static int
check_mirrors(const struct btrfs_super *s, const uint8_t *fsid, struct disk *d,
    struct range part, struct err *e)
{
	uint8_t block[BTRFS_SUPER_BYTES];
	struct btrfs_super mirror;
	struct doubts x;

	for (int i = 1; i < BTRFS_SUPERS; i++) {
		struct range r = { btrfs_super_at[i], sizeof block };
		if (!range_within(r, part.len * SECTOR_BYTES))
			break;
		if (disk_read(d, block, sizeof block, part.off * SECTOR_BYTES + r.off,
			e) != 0)
			return -1;
		if (decode(&mirror, &x, block) && x.own_address == r.off &&
		    memcmp(mirror.fsid, fsid, sizeof mirror.fsid) == 0 &&
		    btrfs_sum_right(mirror.sum_type, block, sizeof block) &&
		    mirror.generation > s->generation)
			return err_set(e, ERR_FORMAT,
			    "its superblock is older than mirror %d of it", i);
	}
	return 0;
}

int
btrfs_super_read(
    struct btrfs_super *s, struct disk *d, struct range part, struct err *e)
{
	uint8_t block[BTRFS_SUPER_BYTES], fsid[BTRFS_UUID_BYTES];
	struct doubts x;

	if (disk_read(d, block, sizeof block,
		part.off * SECTOR_BYTES + btrfs_super_at[0], e) != 0)
		return -1;
	if (!decode(s, &x, block) || x.own_address != btrfs_super_at[0])
		return err_set(e, ERR_FORMAT, "its superblock is damaged");
	if (s->sum_type > BTRFS_BLAKE2B)
		return err_set(
		    e, ERR_UNSUPPORTED, "unknown type of checksums (%u)", s->sum_type);
	if (!btrfs_sum_right(s->sum_type, block, sizeof block))
		return err_set(
		    e, ERR_FORMAT, "the checksum of its superblock is wrong");
	if (check_features(&x, e) != 0 || check_state(s, &x, e) != 0 ||
	    check_sizes(s, &x, part, e) != 0)
		return -1;
	memcpy(fsid, s->fsid, sizeof fsid);
	if (x.incompat & METADATA_UUID)
		memcpy(s->fsid, x.metadata_uuid, sizeof s->fsid);
	return check_mirrors(s, fsid, d, part, e);
}
