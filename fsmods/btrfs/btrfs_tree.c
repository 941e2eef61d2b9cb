/* btrfs_tree.c: walks over one tree of btrfs, and checks every node. btrfs.c and
 * btrfs_chunk.c call this, in the thread that scans.
 *	0	checksum[32], fsid[16], le64 own address, le64 flags, uuid[16] of the chunk tree
 *	80	le64 generation, le64 owner, le32 items, u8 level
 *	101	level 0: items of 25 bytes: key, le32 place of the data behind the header,
 *		le32 its size
 *		other levels: of 33 bytes: key, le64 address of the child,
 *		le64 its generation
 *
 * A key is le64 objectid, u8 type, le64 offset.
 *
 * A child has the level below its parent's and the generation that its parent says; it
 * begins with the key that its parent has for it, and ends before the parent's next key.
 * Therefore keys ascend all the way, no node is visited twice, and every walk ends.
 *
 * Leaves are read many at a time, in order of their places on the device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/btrfs/btrfs.h"

enum {
	HEADER_BYTES = 101,
	ITEM_BYTES = 25,
	CHILD_BYTES = 33,
	LEVELS = 8,
	SKIP_BEFORE_GENERATION = 24, /* flags, chunk tree uuid */
	BATCH_BYTES = 4 << 20,       /* leaves in memory */
	BATCH_LEAVES_MAX = BATCH_BYTES / 4096,
	RUN_BYTES = 1 << 20,   /* one read */
	GAP_BYTES = 128 << 10, /* gaps up to this size are read and dropped */
};

static const struct btrfs_key key_min = { 0, 0, 0 };
static const struct btrfs_key key_max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };

struct child {
	struct btrfs_key key;
	struct btrfs_key end; /* key of the next child; inclusive only for key_max */
	uint64_t logical, generation;
};

/* What a node must be. */
struct wanted {
	const struct child *as;
	bool first_key; /* the first key must be as->key; unknown for a root */
	uint8_t level;
};

struct leaf_place {
	uint64_t at;
	unsigned slot;
};

struct walk {
	struct btrfs *fs;
	uint64_t owner;
	struct btrfs_key first, last;
	btrfs_item_fn *fn;
	void *arg;
	uint8_t *node[LEVELS]; /* allocated when first needed */
	uint8_t *batch, *run;
	bool have[BATCH_LEAVES_MAX];
};

struct btrfs_key
btrfs_key_get(struct rd *r)
{
	struct btrfs_key k = { .objectid = rd_le64(r) };

	k.type = rd_u8(r);
	k.offset = rd_le64(r);
	return k;
}

int
btrfs_key_cmp(const struct btrfs_key *a, const struct btrfs_key *b)
{
	if (a->objectid != b->objectid)
		return a->objectid < b->objectid ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int
node_bad(uint64_t logical, const char *what, struct err *e)
{
	return err_set(e, ERR_FORMAT, "tree node %" PRIu64 ": %s", logical, what);
}

/* Keys must ascend, begin with the key that the parent has, and end before the parent's
 * next key. */
static int
check_keys(const struct wanted *want, struct rd r, uint32_t items, struct err *e)
{
	struct btrfs_key last = key_min;

	for (uint32_t i = 0; i < items; i++) {
		struct btrfs_key key = btrfs_key_get(&r);
		rd_skip(&r, want->level == 0 ? ITEM_BYTES - 17 : CHILD_BYTES - 17);
		if (i > 0 && btrfs_key_cmp(&key, &last) <= 0)
			return node_bad(
			    want->as->logical, "its keys are not in order", e);
		if (i == 0 && want->first_key &&
		    btrfs_key_cmp(&key, &want->as->key) != 0)
			return node_bad(
			    want->as->logical, "it is not what its parent says", e);
		last = key;
	}
	int cmp = btrfs_key_cmp(&last, &want->as->end);
	if (cmp > 0 || (cmp == 0 && btrfs_key_cmp(&last, &key_max) != 0 && items > 0))
		return node_bad(want->as->logical, "it overlaps its neighbour", e);
	return 0;
}

static int
check_node(
    const struct walk *w, const struct wanted *want, const uint8_t *node, struct err *e)
{
	const struct btrfs_super *s = &w->fs->super;
	uint64_t logical = want->as->logical;
	struct rd r = rd_from(node, s->node_bytes);

	if (!btrfs_sum_right(s->sum_type, node, s->node_bytes))
		return node_bad(logical, "its checksum is wrong", e);
	rd_skip(&r, BTRFS_SUM_BYTES);
	const void *fsid = rd_bytes(&r, BTRFS_UUID_BYTES);
	if (memcmp(fsid, s->fsid, BTRFS_UUID_BYTES) != 0 || rd_le64(&r) != logical)
		return node_bad(logical, "it belongs elsewhere", e);
	rd_skip(&r, SKIP_BEFORE_GENERATION);
	if (rd_le64(&r) != want->as->generation)
		return node_bad(
		    logical, "it is not of the generation that its parent says", e);
	if (rd_le64(&r) != w->owner)
		return node_bad(logical, "it belongs to another tree", e);
	uint32_t items = rd_le32(&r);
	if (rd_u8(&r) != want->level)
		return node_bad(
		    logical, "it is not of the level that its parent says", e);
	if (!rd_can_hold(&r, items, want->level == 0 ? ITEM_BYTES : CHILD_BYTES))
		return node_bad(logical, "it claims too many items", e);
	if (items == 0 && (want->first_key || want->level > 0))
		return node_bad(logical, "it is empty", e);
	return check_keys(want, r, items, e);
}

/* Find where a copy of a node lies, in bytes of the disk. Returns -1, without an error,
 * when there is no such copy. */
static int
place_of(
    const struct walk *w, uint64_t logical, unsigned copy, uint64_t *at, struct err *e)
{
	const struct btrfs_super *s = &w->fs->super;
	const struct btrfs_chunk *c = btrfs_chunk_find(&w->fs->chunks, logical);

	if (c == NULL || (logical & (s->sector_bytes - 1)) != 0 ||
	    !range_within(
		(struct range){ logical - c->logical, s->node_bytes }, c->len))
		return node_bad(logical, "it lies outside of every chunk", e);
	if (copy >= c->copies)
		return -1;
	*at = w->fs->part.off * SECTOR_BYTES + c->at[copy] + (logical - c->logical);
	return 0;
}

/* Read the first copy of a node that is right. */
static int
read_node(const struct walk *w, const struct wanted *want, uint8_t *node, struct err *e)
{
	uint64_t at;

	if (place_of(w, want->as->logical, 0, &at, e) != 0)
		return -1;
	for (unsigned i = 0; place_of(w, want->as->logical, i, &at, e) == 0; i++)
		if (disk_read(w->fs->disk, node, w->fs->super.node_bytes, at, e) == 0 &&
		    check_node(w, want, node, e) == 0)
			return 0;
	return -1;
}

static uint8_t *
node_buffer(struct walk *w, uint8_t level)
{
	if (w->node[level] == NULL)
		w->node[level] = malloc(w->fs->super.node_bytes);
	return w->node[level];
}

/* The i-th child of a node. end: the end of the node, which is that of its last child. */
static struct child
child_get(const struct walk *w, const uint8_t *node, uint32_t i, uint32_t items,
    struct btrfs_key end)
{
	struct rd r = rd_from(node, w->fs->super.node_bytes);
	struct child c;

	rd_skip(&r, HEADER_BYTES + (size_t)i * CHILD_BYTES);
	c.key = btrfs_key_get(&r);
	c.logical = rd_le64(&r);
	c.generation = rd_le64(&r);
	c.end = i + 1 < items ? btrfs_key_get(&r) : end;
	return c;
}

static uint32_t
items_of(const uint8_t *node)
{
	struct rd r = rd_from(node, HEADER_BYTES);

	rd_skip(&r, HEADER_BYTES - 5);
	return rd_le32(&r);
}

/* Can this child hold items of the range that is walked? */
static bool
child_matters(const struct walk *w, const struct child *c)
{
	return btrfs_key_cmp(&c->key, &w->last) <= 0 &&
	       btrfs_key_cmp(&c->end, &w->first) >= 0;
}

static int
walk_leaf(struct walk *w, uint64_t logical, const uint8_t *node, struct err *e)
{
	size_t space = w->fs->super.node_bytes - HEADER_BYTES;
	struct rd r = rd_from(node + HEADER_BYTES, space);

	for (uint32_t items = items_of(node); items > 0; items--) {
		struct btrfs_key key = btrfs_key_get(&r);
		uint32_t off = rd_le32(&r), size = rd_le32(&r);
		if (!range_within((struct range){ off, size }, space))
			return node_bad(logical, "an item lies outside of it", e);
		if (btrfs_key_cmp(&key, &w->first) < 0 ||
		    btrfs_key_cmp(&key, &w->last) > 0)
			continue;
		struct rd item = rd_from(node + HEADER_BYTES + off, size);
		if (w->fn(w->arg, &key, &item, e) != 0)
			return -1;
	}
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct leaf_place *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Read the run of leaves p[0..n) at once. If that fails, walk_batch() reads each leaf
 * alone, and from other copies. */
static void
read_run(struct walk *w, const struct leaf_place *p, size_t n)
{
	size_t node_bytes = w->fs->super.node_bytes;
	size_t len = (size_t)(p[n - 1].at - p[0].at) + node_bytes;
	struct err ignored;

	if (disk_read(w->fs->disk, w->run, len, p[0].at, &ignored) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		memcpy(w->batch + p[i].slot * node_bytes, w->run + (p[i].at - p[0].at),
		    node_bytes);
		w->have[p[i].slot] = true;
	}
}

/* Does the leaf at `next` still belong to the run that began at `first`? */
static bool
in_run(const struct walk *w, uint64_t first, uint64_t last, uint64_t next)
{
	uint64_t node_bytes = w->fs->super.node_bytes;

	return next - last <= node_bytes + GAP_BYTES &&
	       next - first <= RUN_BYTES - node_bytes;
}

static int
prefetch(struct walk *w, const struct child *c, unsigned n, struct err *e)
{
	struct leaf_place p[BATCH_LEAVES_MAX];
	unsigned end;

	if (w->batch == NULL)
		w->batch = malloc(BATCH_BYTES);
	if (w->run == NULL)
		w->run = malloc(RUN_BYTES);
	if (w->batch == NULL || w->run == NULL)
		return err_nomem(e, "a tree of btrfs");
	for (unsigned i = 0; i < n; i++) {
		p[i].slot = i;
		w->have[i] = false;
		if (place_of(w, c[i].logical, 0, &p[i].at, e) != 0)
			return -1;
	}
	qsort(p, n, sizeof p[0], by_place);
	for (unsigned i = 0; i < n; i = end) {
		for (end = i + 1;
		     end < n && in_run(w, p[i].at, p[end - 1].at, p[end].at);)
			end++;
		read_run(w, p + i, end - i);
	}
	return 0;
}

static int
walk_batch(struct walk *w, const struct child *c, unsigned n, struct err *e)
{
	struct err ignored;

	if (n == 0)
		return 0;
	if (prefetch(w, c, n, e) != 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *leaf = w->batch + (size_t)i * w->fs->super.node_bytes;
		struct wanted want = { &c[i], true, 0 };
		if (!(w->have[i] && check_node(w, &want, leaf, &ignored) == 0) &&
		    read_node(w, &want, leaf, e) != 0)
			return -1;
		if (walk_leaf(w, c[i].logical, leaf, e) != 0)
			return -1;
	}
	return 0;
}

/* Walk the children of a node of level 1, in batches. */
static int
walk_leaves(struct walk *w, const uint8_t *node, struct btrfs_key end, struct err *e)
{
	uint32_t items = items_of(node);
	unsigned most = BATCH_BYTES / w->fs->super.node_bytes, n = 0;
	struct child batch[BATCH_LEAVES_MAX];

	for (uint32_t i = 0; i < items; i++) {
		batch[n] = child_get(w, node, i, items, end);
		if (child_matters(w, &batch[n]))
			n++;
		if (n == most) {
			if (walk_batch(w, batch, n, e) != 0)
				return -1;
			n = 0;
		}
	}
	return walk_batch(w, batch, n, e);
}

static int
walk_node(struct walk *w, const struct wanted *want, struct err *e)
{
	uint8_t *node = node_buffer(w, want->level);

	if (node == NULL)
		return err_nomem(e, "a tree of btrfs");
	if (read_node(w, want, node, e) != 0)
		return -1;
	if (want->level == 0)
		return walk_leaf(w, want->as->logical, node, e);
	if (want->level == 1)
		return walk_leaves(w, node, want->as->end, e);
	uint32_t items = items_of(node);
	for (uint32_t i = 0; i < items; i++) {
		struct child c = child_get(w, node, i, items, want->as->end);
		struct wanted below = { &c, true, (uint8_t)(want->level - 1) };
		if (child_matters(w, &c) && walk_node(w, &below, e) != 0)
			return -1;
	}
	return 0;
}

int
btrfs_walk(struct btrfs *fs, const struct btrfs_root *root, struct btrfs_key first,
    struct btrfs_key last, btrfs_item_fn *fn, void *arg, struct err *e)
{
	struct child as = {
		.end = key_max, .logical = root->logical, .generation = root->generation
	};
	struct wanted want = { &as, false, root->level };
	struct walk *w;

	if (root->level >= LEVELS)
		return err_set(
		    e, ERR_FORMAT, "tree %" PRIu64 " has too many levels", root->owner);
	if ((w = calloc(1, sizeof *w)) == NULL)
		return err_nomem(e, "a tree of btrfs");
	*w = (struct walk){ .fs = fs,
		.owner = root->owner,
		.first = first,
		.last = last,
		.fn = fn,
		.arg = arg };
	int rc = walk_node(w, &want, e);
	for (int i = 0; i < LEVELS; i++)
		free(w->node[i]);
	free(w->batch);
	free(w->run);
	free(w);
	return rc;
}

int
btrfs_walk_all(struct btrfs *fs, const struct btrfs_root *root, btrfs_item_fn *fn,
    void *arg, struct err *e)
{
	return btrfs_walk(fs, root, key_min, key_max, fn, arg, e);
}
