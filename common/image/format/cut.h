/* cut.h: the rule by which windows that follow the content of a disk end.
 *
 * Stored sectors, in ascending order, are seen in blocks of 4 KiB on a grid that begins
 * anew with every zone: a partition, or the space in front of, between or behind
 * partitions.  A window ends behind a block whose hash is 0 mod 16, but not before it has 4
 * blocks; behind its 32nd block; and where a zone ends.  For a store, it also ends behind a
 * block that ends in 64 zeros, if it has 4 blocks: the last block of a file mostly does, so
 * what is behind it is cut as before wherever the file was copied to.  A long fragment,
 * which has several windows, ends where that hash is 0 mod 64 and not 0, and where a zone
 * ends.  The hash is the remainder of the CRC-32C of the block's allocated sectors,
 * which is 0 for zeros.  Sectors that are free and are stored nevertheless (filler)
 * belong to a window like others, but are no part of any block: what lies around
 * allocated blocks does not change where windows end.
 *
 * Data that was moved by a multiple of 4 KiB within its zone, or to another disk, is
 * therefore cut as before, from the first end on that its content makes.
 * Source: docs/image-format.md, "Fragments".
 */
#ifndef COMMON_IMAGE_FORMAT_CUT_H
#define COMMON_IMAGE_FORMAT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

enum {
	CUT_BLOCK_SECTORS = 8,
	CUT_BLOCKS_MIN = 4,
	CUT_BLOCKS_MAX = 32,
	CUT_WINDOW_BYTES_MAX = CUT_BLOCKS_MAX * CUT_BLOCK_SECTORS * SECTOR_BYTES,
};

/* Where zones begin, in sectors of the image.  The first one begins at sector 0,
 * whether that is listed or not, so a struct of zeros is a disk of one zone. */
struct cut_zones {
	uint64_t *starts; /* owned */
	size_t n, cap;
};

/* Let zones begin where these sectors begin and where they end.  Zones may be added in any
 * order.  ERR_NOMEM. */
int cut_zones_add(struct cut_zones *, struct range sectors, struct err *);
/* Sort the zones, which must be done before they are used. */
void cut_zones_settle(struct cut_zones *);
void cut_zones_free(struct cut_zones *); /* leaves none */

enum cut_kind {
	CUT_NONE,
	CUT_WINDOW, /* a window ends */
	CUT_LONG,   /* a window ends, and a long fragment with it */
};

/* The open window and its last block.  The caller fills a struct with zeros, except for
 * `zones` and `filler`, which are borrowed, and `files`.  It belongs to one thread. */
struct cut {
	const struct cut_zones *zones;  /* or NULL */
	const struct rangeset *filler;  /* or NULL */
	bool files;                     /* windows end where files do, too: for a store */
	bool begun;                     /* the open window has a piece */
	bool counts;                    /* the piece of cut_piece() is no filler */
	bool counted;                   /* the block has sectors that are no filler */
	uint32_t hash;                  /* of these sectors */
	bool slack;                     /* they end in zeros */
	unsigned blocks;                /* complete blocks that have such sectors */
	size_t zone, filler_at;         /* indices where the last piece was found */
	uint64_t zone_start, block_end; /* of the piece that was added last, in sectors */
	uint64_t at_start, at_end;      /* zone_start and block_end of cut_piece()'s piece */
};

/* Returns the next piece: the first sectors of r, at least one, that are in one block and
 * one zone, and are either all filler or all no filler.  r must not begin before the end of
 * what was added. */
struct range cut_piece(struct cut *, struct range r);
/* Does a window end in front of the piece that cut_piece() returned last?  A second call for
 * the same piece returns CUT_NONE. */
enum cut_kind cut_before(struct cut *);
/* Add the piece that cut_piece() returned last, and its data, to the open window. */
void cut_add(struct cut *, struct range piece, const void *data);
/* The window ends in front of that piece for a reason of the caller's: the rule begins anew
 * with the piece. */
void cut_anew(struct cut *);

#endif /* COMMON_IMAGE_FORMAT_CUT_H */
