/* btrfs.c: btrfs on a single device. fsmods.c calls its functions, in the first thread of
 * imagezip.
 *
 * Skipped is device space that belongs to no chunk, and, on every copy, the space in
 * chunks for which the extent tree has no extent. Kept are the first MiB (boot loaders)
 * and 64 KiB at each mirror of the superblock, which btrfs itself leaves free. The sums
 * must agree: extents with the usage of their block group, block groups with the
 * superblock, chunks with the usage of the device. Otherwise, and when the log is to be
 * replayed, the scan fails.
 * Older trees, which `mount -o usebackuproot` might find, are free space.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "fsmods/btrfs/btrfs.h"

#define KIB UINT64_C(1024)

enum {
	MAGIC_AT = 64,
	GROUP_ITEM_BYTES = 24,
	ROOT_ITEM_BYTES_MIN = 239,
	ROOT_LOGICAL_AT = 176, /* le64; the generation is 16 bytes in front of it */
	ROOT_LEVEL_AT = 238,
	EXTENT_ITEM_BYTES = 24, /* the least; items of the version before are shorter */
};

struct scan {
	struct btrfs fs;
	struct skip_sink *sink;
	/* The walk over the extents: chunk `at`, free from byte `pos` on. */
	size_t at;
	uint64_t pos;
};

/* Space that btrfs itself never uses, although it counts as free: in ascending order. */
static const struct range reserved[] = {
	{ 0, 1024 * KIB },
	{ 64 * KIB * KIB, 64 * KIB },
	{ 256 * KIB * KIB * KIB, 64 * KIB },
};

enum { NRESERVED = sizeof reserved / sizeof reserved[0] };

/* Report bytes [lo, hi) of the device as free, except those that are reserved. */
static int
report_free(struct scan *s, uint64_t lo, uint64_t hi, struct err *e)
{
	for (int i = 0; i <= NRESERVED; i++) {
		uint64_t from = i > 0 ? range_end(reserved[i - 1]) : 0;
		uint64_t to = i < NRESERVED ? reserved[i].off : UINT64_MAX;
		struct range r = range_clip((struct range){ lo, hi - lo }, from, to);
		uint64_t first = (r.off + SECTOR_BYTES - 1) / SECTOR_BYTES;
		uint64_t end = range_end(r) / SECTOR_BYTES;
		if (first < end &&
		    skip_add(s->sink, (struct range){ first, end - first }, e) != 0)
			return -1;
	}
	return 0;
}

/* Report logical bytes [lo, hi) of a chunk as free, on each copy. */
static int
report_gap(struct scan *s, const struct btrfs_chunk *c, uint64_t lo, uint64_t hi,
    struct err *e)
{
	for (unsigned i = 0; i < c->copies && lo < hi; i++)
		if (report_free(s, c->at[i] + (lo - c->logical),
			c->at[i] + (hi - c->logical), e) != 0)
			return -1;
	return 0;
}

/* Report the rest of the current chunk as free, and go to the next chunk. */
static int
finish_chunk(struct scan *s, struct err *e)
{
	const struct btrfs_chunk *c = &s->fs.chunks.c[s->at];

	if (report_gap(s, c, s->pos, c->logical + c->len, e) != 0)
		return -1;
	if (++s->at < s->fs.chunks.n)
		s->pos = s->fs.chunks.c[s->at].logical;
	return 0;
}

/* Take the next extent: the space between it and the extent before it is free. */
static int
extent(struct scan *s, uint64_t logical, uint64_t len, struct err *e)
{
	struct btrfs_chunks *m = &s->fs.chunks;

	while (s->at < m->n && logical >= m->c[s->at].logical + m->c[s->at].len)
		if (finish_chunk(s, e) != 0)
			return -1;
	if (s->at == m->n || logical < m->c[s->at].logical)
		return err_set(e, ERR_FORMAT,
		    "extent %" PRIu64 " lies outside of every chunk", logical);
	struct btrfs_chunk *c = &m->c[s->at];
	if (logical < s->pos)
		return err_set(e, ERR_FORMAT,
		    "extent %" PRIu64 " overlaps the one before it", logical);
	if (len == 0 || ((logical | len) & (s->fs.super.sector_bytes - 1)) != 0 ||
	    !range_within((struct range){ logical - c->logical, len }, c->len))
		return err_set(
		    e, ERR_FORMAT, "extent %" PRIu64 " is impossible", logical);
	if (report_gap(s, c, s->pos, logical, e) != 0)
		return -1;
	s->pos = logical + len;
	c->used += len;
	return 0;
}

static int
block_group(struct scan *s, const struct btrfs_key *key, struct rd *item, struct err *e)
{
	struct btrfs_chunk *c = btrfs_chunk_find(&s->fs.chunks, key->objectid);
	uint64_t used = rd_le64(item);

	rd_skip(item, 8);
	uint64_t type = rd_le64(item);
	if (c == NULL || c->logical != key->objectid || c->len != key->offset ||
	    c->type != type || !rd_ok(item))
		return err_set(e, ERR_FORMAT,
		    "block group %" PRIu64 " has no chunk like it", key->objectid);
	c->has_group = true;
	c->said_used = used;
	return 0;
}

/* Is this an item that only says what refers to an extent? */
static bool
is_reference(uint8_t type)
{
	enum {
		OWNER_REF = 172,
		TREE_BLOCK_REF = 176,
		EXTENT_DATA_REF = 178,
		SHARED_BLOCK_REF = 182,
		SHARED_DATA_REF = 184
	};

	return type == OWNER_REF || type == TREE_BLOCK_REF || type == EXTENT_DATA_REF ||
	       type == SHARED_BLOCK_REF || type == SHARED_DATA_REF;
}

static int
extent_tree_item(void *arg, const struct btrfs_key *key, struct rd *item, struct err *e)
{
	struct scan *s = arg;

	switch (key->type) {
	case BTRFS_EXTENT_ITEM:
	case BTRFS_METADATA_ITEM:
		if (rd_left(item) < EXTENT_ITEM_BYTES)
			return err_set(e, ERR_FORMAT, "extent %" PRIu64 " is cut short",
			    key->objectid);
		return extent(s, key->objectid,
		    key->type == BTRFS_EXTENT_ITEM ? key->offset
						   : s->fs.super.node_bytes,
		    e);
	case BTRFS_BLOCK_GROUP_ITEM:
		return block_group(s, key, item, e);
	}
	if (is_reference(key->type))
		return 0;
	return err_set(
	    e, ERR_UNSUPPORTED, "unknown item in the extent tree (type %u)", key->type);
}

static int
group_tree_item(void *arg, const struct btrfs_key *key, struct rd *item, struct err *e)
{
	if (key->type != BTRFS_BLOCK_GROUP_ITEM)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown item in the block group tree (type %u)", key->type);
	return block_group(arg, key, item, e);
}

static int
root_item(void *arg, const struct btrfs_key *key, struct rd *item, struct err *e)
{
	struct btrfs_root *root = arg;
	struct rd level = *item;

	rd_skip(item, ROOT_LOGICAL_AT - 16);
	root->generation = rd_le64(item);
	rd_skip(item, 8);
	root->logical = rd_le64(item);
	rd_skip(&level, ROOT_LEVEL_AT);
	root->level = rd_u8(&level);
	if (!rd_ok(item) || !rd_ok(&level) || key->offset != 0)
		return err_set(e, ERR_FORMAT, "the root of tree %" PRIu64 " is damaged",
		    key->objectid);
	root->owner = key->objectid;
	return 0;
}

static int
walk_tree(struct scan *s, uint64_t id, btrfs_item_fn *fn, struct err *e)
{
	struct btrfs_root root = { 0 };
	struct btrfs_key first = { id, BTRFS_ROOT_ITEM, 0 };
	struct btrfs_key last = { id, BTRFS_ROOT_ITEM, UINT64_MAX };

	if (btrfs_walk(&s->fs, &s->fs.super.root, first, last, root_item, &root, e) !=
	    0)
		return -1;
	if (root.owner != id)
		return err_set(e, ERR_FORMAT, "tree %" PRIu64 " is missing", id);
	return btrfs_walk_all(&s->fs, &root, fn, s, e);
}

static int
check_usage(struct scan *s, struct err *e)
{
	const struct btrfs_chunks *m = &s->fs.chunks;
	uint64_t used = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (!m->c[i].has_group)
			return err_set(e, ERR_FORMAT,
			    "chunk %" PRIu64 " has no block group", m->c[i].logical);
		if (m->c[i].used != m->c[i].said_used)
			return err_set(e, ERR_FORMAT,
			    "block group %" PRIu64 " says that %" PRIu64
			    " bytes are used, its extents have %" PRIu64,
			    m->c[i].logical, m->c[i].said_used, m->c[i].used);
		used += m->c[i].used;
	}
	if (used != s->fs.super.bytes_used)
		return err_set(e, ERR_FORMAT,
		    "its superblock says that %" PRIu64 " bytes are used, "
		    "its block groups have %" PRIu64,
		    s->fs.super.bytes_used, used);
	return 0;
}

/* Chunks may not share device space, and must add up to what the device says. */
static int
check_chunks(struct scan *s, struct rangeset *chunks, struct err *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->fs.chunks.n; i++) {
		const struct btrfs_chunk *c = &s->fs.chunks.c[i];
		for (unsigned k = 0; k < c->copies; k++) {
			if (rangeset_add(
				chunks, (struct range){ c->at[k], c->len }, e) != 0)
				return -1;
			sum += c->len;
		}
	}
	rangeset_seal(chunks);
	if (rangeset_total(chunks) != sum)
		return err_set(e, ERR_FORMAT, "its chunks overlap on the device");
	if (sum != s->fs.super.dev_used)
		return err_set(e, ERR_FORMAT,
		    "its chunks have %" PRIu64 " bytes of the device, which "
		    "says %" PRIu64,
		    sum, s->fs.super.dev_used);
	return 0;
}

static int
report_unallocated(struct scan *s, struct err *e)
{
	struct rangeset space;
	int rc;

	rangeset_init(&space);
	rc = check_chunks(s, &space, e);
	if (rc == 0)
		rc = rangeset_invert(&space, 0, s->fs.super.dev_total, e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&space); i++) {
		struct range r = rangeset_get(&space, i);
		rc = report_free(s, r.off, range_end(r), e);
	}
	rangeset_free(&space);
	return rc;
}

static int
scan_extents(struct scan *s, struct err *e)
{
	if (s->fs.chunks.n > 0)
		s->pos = s->fs.chunks.c[0].logical;
	if (s->fs.super.block_group_tree &&
	    walk_tree(s, BTRFS_TREE_BLOCK_GROUP, group_tree_item, e) != 0)
		return -1;
	if (walk_tree(s, BTRFS_TREE_EXTENT, extent_tree_item, e) != 0)
		return -1;
	while (s->at < s->fs.chunks.n)
		if (finish_chunk(s, e) != 0)
			return -1;
	return check_usage(s, e);
}

static int
btrfs_probe(struct disk *d, struct range part, struct err *e)
{
	uint8_t magic[8];

	if (part.len * SECTOR_BYTES < btrfs_super_at[0] + BTRFS_SUPER_BYTES)
		return 0;
	if (disk_read(d, magic, sizeof magic,
		part.off * SECTOR_BYTES + btrfs_super_at[0] + MAGIC_AT, e) != 0)
		return -1;
	return memcmp(magic, "_BHRfS_M", sizeof magic) == 0;
}

/* The copies of the superblock, which have the number of the last transaction. */
static int
report_hot(const struct scan *s, struct err *e)
{
	for (int i = 0; i < BTRFS_SUPERS; i++) {
		struct range r = { btrfs_super_at[i] / SECTOR_BYTES,
			BTRFS_SUPER_BYTES / SECTOR_BYTES };
		if (range_within(r, s->fs.part.len) && skip_hot(s->sink, r, e) != 0)
			return -1;
	}
	return 0;
}

static int
btrfs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct scan s = { .fs = { .disk = d, .part = part }, .sink = sink };
	int rc = -1;

	if (btrfs_super_read(&s.fs.super, d, part, e) == 0 &&
	    btrfs_chunks_read(&s.fs, e) == 0 && scan_extents(&s, e) == 0 &&
	    report_unallocated(&s, e) == 0 && report_hot(&s, e) == 0) {
		skip_fs_end(sink, s.fs.super.dev_total / SECTOR_BYTES);
		rc = 0;
	}
	free(s.fs.chunks.c);
	return rc;
}

const struct fsmod fsmod_btrfs = {
	.name = "btrfs",
	.title = "btrfs",
	.probe = btrfs_probe,
	.scan = btrfs_scan,
};
