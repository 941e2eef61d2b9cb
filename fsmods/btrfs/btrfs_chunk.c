/* btrfs_chunk.c: reads the chunk tree, which maps logical addresses to places on the
 * device. btrfs.c calls this, in the thread that scans.
 *
 * A CHUNK_ITEM, whose key has the logical address as its offset:
 *
 *	0	le64 length, le64 owner, le64 (stripe length), le64 type
 *	32	le32 x 3, le16 stripes, le16 sub-stripes
 *	48	stripes: le64 device, le64 place, uuid[16] of the device
 *
 * The chunk tree itself lies in chunks of type SYSTEM; the superblock holds copies of
 * these.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "fsmods/btrfs/btrfs.h"

enum {
	DEV_ITEMS_OBJECTID = 1,
	FIRST_CHUNK_OBJECTID = 256,
	CHUNK_UNUSED_BYTES = 12, /* alignments that mean nothing */
	STRIPE_BYTES = 32,
};

enum block_group_type {
	GROUP_DATA = 1 << 0,
	GROUP_SYSTEM = 1 << 1,
	GROUP_METADATA = 1 << 2,
	GROUP_RAID0 = 1 << 3,
	GROUP_RAID1 = 1 << 4,
	GROUP_DUP = 1 << 5,
	GROUP_RAID1C3 = 1 << 9,
	GROUP_RAID1C4 = 1 << 10,
	GROUP_KINDS = GROUP_DATA | GROUP_SYSTEM | GROUP_METADATA,
};

/* The number of stripes of a profile in which each stripe is a whole copy; 0: it is
 * another profile. */
static unsigned
copies_of(uint64_t type)
{
	switch (type & ~(uint64_t)GROUP_KINDS) {
	case 0:
	case GROUP_RAID0: /* over a single device: one stripe */
		return 1;
	case GROUP_DUP:
	case GROUP_RAID1:
		return 2;
	case GROUP_RAID1C3:
		return 3;
	case GROUP_RAID1C4:
		return 4;
	}
	return 0;
}

static int
check_chunk(const struct btrfs_super *s, const struct btrfs_chunk *c, struct err *e)
{
	uint64_t mask = s->sector_bytes - 1;

	if (c->len == 0 || ((c->logical | c->len) & mask) != 0 ||
	    c->len > UINT64_MAX - c->logical || (c->type & GROUP_KINDS) == 0)
		return err_set(
		    e, ERR_FORMAT, "chunk %" PRIu64 " is impossible", c->logical);
	for (unsigned i = 0; i < c->copies; i++)
		if ((c->at[i] & mask) != 0 ||
		    !range_within((struct range){ c->at[i], c->len }, s->dev_total))
			return err_set(e, ERR_FORMAT,
			    "chunk %" PRIu64 " lies outside the device", c->logical);
	return 0;
}

static int
decode_chunk(const struct btrfs_super *s, uint64_t logical, struct rd *r,
    struct btrfs_chunk *c, struct err *e)
{
	uint8_t uuid[BTRFS_UUID_BYTES];

	*c = (struct btrfs_chunk){ .logical = logical, .len = rd_le64(r) };
	rd_skip(r, 16);
	c->type = rd_le64(r);
	c->copies = copies_of(c->type);
	rd_skip(r, CHUNK_UNUSED_BYTES);
	unsigned stripes = rd_le16(r);
	rd_skip(r, 2);
	if (!rd_ok(r) || !rd_can_hold(r, stripes, STRIPE_BYTES))
		return err_set(
		    e, ERR_FORMAT, "chunk %" PRIu64 " is cut short", logical);
	if (c->copies == 0 || stripes != c->copies)
		return err_set(e, ERR_UNSUPPORTED,
		    "chunk %" PRIu64 " has a profile of several "
		    "devices (type 0x%" PRIx64 ", %u stripes)",
		    logical, c->type, stripes);
	for (unsigned i = 0; i < c->copies; i++) {
		uint64_t dev_id = rd_le64(r);
		c->at[i] = rd_le64(r);
		rd_copy(r, uuid, sizeof uuid);
		if (dev_id != s->dev_id || memcmp(uuid, s->dev_uuid, sizeof uuid) != 0)
			return err_set(e, ERR_UNSUPPORTED,
			    "chunk %" PRIu64 " lies on another device", logical);
	}
	return check_chunk(s, c, e);
}

static int
append_chunk(struct btrfs_chunks *m, const struct btrfs_chunk *c, struct err *e)
{
	if (m->n == m->cap) {
		size_t cap = m->cap * 2 + 16;
		struct btrfs_chunk *more = realloc(m->c, cap * sizeof *more);
		if (more == NULL)
			return err_nomem(e, "the chunks of a btrfs");
		m->c = more;
		m->cap = cap;
	}
	m->c[m->n++] = *c;
	return 0;
}

static bool
ends_at_most(const void *chunks, size_t i, uint64_t logical)
{
	const struct btrfs_chunks *m = chunks;

	return m->c[i].logical + m->c[i].len <= logical;
}

struct btrfs_chunk *
btrfs_chunk_find(struct btrfs_chunks *m, uint64_t logical)
{
	size_t lo = bisect(m->n, m, logical, ends_at_most);

	return lo < m->n && m->c[lo].logical <= logical ? &m->c[lo] : NULL;
}

static int
by_logical(const void *a, const void *b)
{
	const struct btrfs_chunk *x = a, *y = b;

	return (x->logical > y->logical) - (x->logical < y->logical);
}

/* Sort the chunks by address (the superblock has them in the order in which they were
 * made), and fail if two overlap. */
static int
sort_chunks(struct btrfs_chunks *m, struct err *e)
{
	if (m->n > 1)
		qsort(m->c, m->n, sizeof *m->c, by_logical);
	for (size_t i = 1; i < m->n; i++)
		if (m->c[i].logical - m->c[i - 1].logical < m->c[i - 1].len)
			return err_set(e, ERR_FORMAT,
			    "chunk %" PRIu64 " overlaps the one before it",
			    m->c[i].logical);
	return 0;
}

static int
read_system_chunks(const struct btrfs_super *s, struct btrfs_chunks *m, struct err *e)
{
	struct rd r = rd_from(s->sys_chunks, s->sys_chunks_len);
	struct btrfs_chunk c;

	while (rd_left(&r) > 0) {
		struct btrfs_key key = btrfs_key_get(&r);
		if (!rd_ok(&r) || key.type != BTRFS_CHUNK_ITEM)
			return err_set(e, ERR_FORMAT,
			    "its superblock's system chunks are damaged");
		if (decode_chunk(s, key.offset, &r, &c, e) != 0 ||
		    append_chunk(m, &c, e) != 0)
			return -1;
	}
	return sort_chunks(m, e);
}

struct reading {
	const struct btrfs_super *super;
	struct btrfs_chunks chunks;
	unsigned devices;
};

/* The chunk tree and the superblock must describe the same device. */
static int
check_device(const struct btrfs_super *s, const struct btrfs_key *key, struct rd *item,
    struct err *e)
{
	uint64_t id = rd_le64(item), total = rd_le64(item), used = rd_le64(item);

	if (id != s->dev_id || key->offset != id)
		return err_set(
		    e, ERR_UNSUPPORTED, "it has another device, number %" PRIu64, id);
	if (total != s->dev_total || used != s->dev_used)
		return err_set(e, ERR_FORMAT,
		    "its superblock and its chunk tree differ about the "
		    "device");
	return 0;
}

static int
chunk_tree_item(void *arg, const struct btrfs_key *key, struct rd *item, struct err *e)
{
	struct reading *x = arg;
	struct btrfs_chunk c;

	if (key->type == BTRFS_DEV_ITEM && key->objectid == DEV_ITEMS_OBJECTID) {
		x->devices++;
		return check_device(x->super, key, item, e);
	}
	if (key->type != BTRFS_CHUNK_ITEM || key->objectid != FIRST_CHUNK_OBJECTID)
		return err_set(e, ERR_UNSUPPORTED,
		    "unknown item in the chunk tree (type %u)", key->type);
	if (decode_chunk(x->super, key->offset, item, &c, e) != 0)
		return -1;
	return append_chunk(&x->chunks, &c, e);
}

static bool
same_chunk(const struct btrfs_chunk *a, const struct btrfs_chunk *b)
{
	return a->logical == b->logical && a->len == b->len && a->type == b->type &&
	       memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* The superblock's copies of system chunks must agree with the chunk tree. */
static int
check_system_chunks(
    const struct btrfs_chunks *system, struct btrfs_chunks *all, struct err *e)
{
	for (size_t i = 0; i < system->n; i++) {
		const struct btrfs_chunk *c = btrfs_chunk_find(
		    all, system->c[i].logical);
		if (c == NULL || !same_chunk(c, &system->c[i]))
			return err_set(e, ERR_FORMAT,
			    "its superblock and its chunk tree differ about "
			    "chunk %" PRIu64,
			    system->c[i].logical);
	}
	return 0;
}

static int
read_all(struct btrfs *fs, struct reading *x, struct err *e)
{
	if (read_system_chunks(&fs->super, &fs->chunks, e) != 0 ||
	    btrfs_walk_all(fs, &fs->super.chunk_root, chunk_tree_item, x, e) != 0 ||
	    sort_chunks(&x->chunks, e) != 0)
		return -1;
	if (x->devices != 1)
		return err_set(e, ERR_FORMAT, "its chunk tree has no device");
	return check_system_chunks(&fs->chunks, &x->chunks, e);
}

int
btrfs_chunks_read(struct btrfs *fs, struct err *e)
{
	struct reading x = { .super = &fs->super };
	int rc = read_all(fs, &x, e);

	free(fs->chunks.c);
	fs->chunks = x.chunks;
	return rc;
}
