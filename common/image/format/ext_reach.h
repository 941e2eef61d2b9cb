/* ext_reach.h: how far the partitions and filesystems of an image reach.
 *
 * What an image stores can end long before its filesystem does, and a filesystem cannot be
 * used on a disk that ends before it.  Record 14 of the extension area, in chunk 0, says
 * where each one ends; docs/image-format.md has it to the byte.
 */
#ifndef COMMON_IMAGE_FORMAT_EXT_REACH_H
#define COMMON_IMAGE_FORMAT_EXT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/range.h"

enum {
	REACH_PARTS_MAX = 128,
	REACH_HEAD_BYTES = 8,
	REACH_PART_BYTES = 48,
	REACH_NAME_BYTES = 15,
};

/* Bits of reach_part.flags.  Unknown bits are of later versions, and are kept. */
enum {
	REACH_STORED = 1, /* the image, with its bases, stores something of it */
};

/* A partition, or all of the source if it has no partition table. */
struct reach_part {
	uint32_t number;      /* of the partition; 0: there is no table */
	struct range sectors; /* of the image */
	uint64_t fs_sectors;  /* length of its filesystem; 0: not known */
	/* A disk with larger sectors than this cannot hold the filesystem; 0: not
	 * known. */
	uint32_t sector_bytes;
	uint8_t flags;
	char fs[REACH_NAME_BYTES + 1]; /* "ext4"; "": nothing was recognised */
};

struct reach {
	size_t n; /* at least 1, in a record */
	struct reach_part parts[REACH_PARTS_MAX];
};

/* Read the record's body into *out, which is NULL so far; the caller frees it with
 * free(). ERR_FORMAT: the record is invalid, or the second one; ERR_NOMEM. */
int reach_get(struct reach **out, struct rd *, struct err *);
/* Write the record's body. */
void reach_put(const struct reach *, struct wr *);
/* Bytes that the record takes in a chunk, with its head; 0 for NULL. */
size_t reach_record_bytes(const struct reach *);
/* Are the two records the same?  NULL: there is none. */
bool reach_same(const struct reach *, const struct reach *);
/* Add a part, if there is room for it. */
void reach_add(struct reach *, const struct reach_part *);
/* The part of the partition with this number, or NULL; the record may be NULL. */
const struct reach_part *reach_find(const struct reach *, unsigned number);
/* The sector, of the image, at which the filesystem of a part ends; 0: not known. */
uint64_t reach_fs_end(const struct reach_part *);

/* How many sectors a target needs, so that no filesystem that is stored, and with `disk`
 * no partition of which something is stored, reaches beyond it; 0 for NULL. */
uint64_t reach_needed(const struct reach *, bool disk);

#endif /* COMMON_IMAGE_FORMAT_EXT_REACH_H */
