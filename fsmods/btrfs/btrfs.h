/* btrfs.h: what the files of the btrfs module share; for them only.
 *
 * btrfs_super.c reads the superblock, btrfs_chunk.c maps logical addresses to
 * places on the device, btrfs_tree.c walks trees, btrfs.c finds what is free.
 * Everything here is in bytes; places are relative to the partition.
 *
 * Sources: the btrfs documentation ("On-disk format"), and the kernel's user
 * space headers linux/btrfs_tree.h and linux/btrfs.h.
 */
#ifndef FSMODS_BTRFS_BTRFS_H
#define FSMODS_BTRFS_BTRFS_H

#include "common/base/rd.h"
#include "fsmods/btrfs/btrfs_sum.h"
#include "fsmods/fsmod.h"

enum {
	BTRFS_SUPER_BYTES = 4096,
	BTRFS_UUID_BYTES = 16,
	BTRFS_SYS_CHUNKS_CAP = 2048,
	BTRFS_COPIES_MAX = 4, /* RAID1C4 */
	BTRFS_SUPERS = 3,
};

enum btrfs_tree_id {
	BTRFS_TREE_ROOT = 1,
	BTRFS_TREE_EXTENT = 2,
	BTRFS_TREE_CHUNK = 3,
	BTRFS_TREE_BLOCK_GROUP = 11,
};

enum btrfs_key_type {
	BTRFS_ROOT_ITEM = 132,
	BTRFS_EXTENT_ITEM = 168,
	BTRFS_METADATA_ITEM = 169,
	BTRFS_BLOCK_GROUP_ITEM = 192,
	BTRFS_DEV_ITEM = 216,
	BTRFS_CHUNK_ITEM = 228,
};

/* Where the superblock and its mirrors are. */
extern const uint64_t btrfs_super_at[BTRFS_SUPERS];

/* The root of a tree, as the superblock or the ROOT_ITEM that points to it describes it. */
struct btrfs_root {
	uint64_t owner;
	uint64_t logical;
	uint64_t generation;
	uint8_t level;
};

struct btrfs_super {
	uint8_t fsid[BTRFS_UUID_BYTES]; /* as it stands in the tree nodes */
	uint64_t generation;
	struct btrfs_root root, chunk_root;
	uint64_t bytes_used;
	uint32_t sector_bytes, node_bytes;
	uint16_t sum_type;
	bool block_group_tree;
	/* This device. */
	uint64_t dev_id, dev_total, dev_used;
	uint8_t dev_uuid[BTRFS_UUID_BYTES];
	uint32_t sys_chunks_len;
	uint8_t sys_chunks[BTRFS_SYS_CHUNKS_CAP];
};

/* A piece of the logical address space, and the block group in it. */
struct btrfs_chunk {
	uint64_t logical, len;
	uint64_t type;
	unsigned copies;
	uint64_t at[BTRFS_COPIES_MAX];
	bool has_group;
	uint64_t said_used; /* by its block group */
	uint64_t used;      /* by the extents in it */
};

struct btrfs_chunks {
	struct btrfs_chunk *c; /* owned; ordered by logical address, disjoint */
	size_t n, cap;
};

struct btrfs {
	struct disk *disk;
	struct range part; /* sectors */
	struct btrfs_super super;
	struct btrfs_chunks chunks;
};

/* Read and check the superblock of the partition. ERR_UNSUPPORTED: a feature or state
 * that this module does not handle; ERR_FORMAT: it is damaged, or a mirror is newer; also
 * errors of reading. */
int btrfs_super_read(
    struct btrfs_super *, struct disk *, struct range part, struct err *);

/* Read the chunk tree into the filesystem's chunks (the caller frees their array, also after
 * an error), starting from the system chunks that the superblock holds. ERR_UNSUPPORTED:
 * several devices, or a profile that is not made of whole copies; ERR_FORMAT: damaged. */
int btrfs_chunks_read(struct btrfs *, struct err *);
/* The chunk that this address lies in, or NULL. */
struct btrfs_chunk *btrfs_chunk_find(struct btrfs_chunks *, uint64_t logical);

struct btrfs_key {
	uint64_t objectid;
	uint8_t type;
	uint64_t offset;
};

/* Read a key of 17 bytes. */
struct btrfs_key btrfs_key_get(struct rd *);
/* Negative, 0 or positive, in the order of keys in a tree. */
int btrfs_key_cmp(const struct btrfs_key *, const struct btrfs_key *);

/* Called with one item, whose bytes are in the reader. Returns 0, or -1 to end the walk
 * with an error. */
typedef int btrfs_item_fn(
    void *arg, const struct btrfs_key *, struct rd *item, struct err *);
/* Call fn for every item from first to last (inclusive), in order of keys. ERR_FORMAT
 * when a node is damaged on every copy; also errors of reading and of fn. */
int btrfs_walk(struct btrfs *, const struct btrfs_root *, struct btrfs_key first,
    struct btrfs_key last, btrfs_item_fn *, void *arg, struct err *);
/* Call fn for every item of the tree; errors as btrfs_walk(). */
int btrfs_walk_all(struct btrfs *, const struct btrfs_root *, btrfs_item_fn *,
    void *arg, struct err *);

#endif /* FSMODS_BTRFS_BTRFS_H */
