/* cut.h: where windows end that follow the content of a disk.
 *
 * Stored sectors, in ascending order, are seen in blocks of 4 KiB on a grid that begins
 * anew with every zone: a partition, or the space in front of, between or behind
 * partitions.  A window ends behind a block whose hash is 0 mod 16, but not before it
 * has 4 blocks; behind its 32nd block; and where a zone ends.  A long fragment, which
 * has several windows, ends where that hash is 0 mod 64 and not 0, and where a zone
 * ends.  The hash is the remainder of the CRC-32C of the block's allocated sectors,
 * which is 0 for zeros.  Sectors that are free and are stored nevertheless (filler)
 * belong to a window like others, but are no part of any block: what lies around
 * allocated blocks does not change where windows end.
 *
 * So data that was moved by a multiple of 4 KiB within its zone, or to another disk, is
 * cut as it was, from the first end on that the content makes.
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

/* Zones begin where these sectors begin and where they end.  In any order.  ERR_NOMEM.
 */
int cut_zones_add(struct cut_zones *, struct range sectors, struct err *);
/* Sort them, before they are used. */
void cut_zones_settle(struct cut_zones *);
void cut_zones_free(struct cut_zones *); /* leaves none */

enum cut_kind {
	CUT_NONE,
	CUT_WINDOW, /* a window ends */
	CUT_LONG,   /* a window ends, and a long fragment with it */
};

/* What is known of the open window.  One is filled with zeros but for zones and filler,
 * which are borrowed, and belongs to one thread. */
struct cut {
	const struct cut_zones *zones;  /* or NULL */
	const struct rangeset *filler;  /* or NULL */
	bool begun;                     /* cut_add() was called */
	bool counts;                    /* the piece is no filler */
	bool counted;                   /* the block has sectors that count */
	uint32_t hash;                  /* of these */
	unsigned blocks;                /* that count, in the open window */
	size_t zone, filler_at;         /* where the last piece was found */
	uint64_t zone_start, block_end; /* of the last piece, in sectors */
	uint64_t at_start, at_end;      /* the same of the piece that comes next */
};

/* The first sectors of r, at least one, that are in one block and one zone and are all
 * filler or all none.  r must not begin before what was added. */
struct range cut_piece(struct cut *, struct range r);
/* Does a window end in front of that piece?  When it is asked again: CUT_NONE. */
enum cut_kind cut_before(struct cut *);
/* The piece goes into the open window; its data. */
void cut_add(struct cut *, struct range piece, const void *data);
/* A window ends in front of the piece for another reason, and the rule begins anew with
 * it. */
void cut_anew(struct cut *);

#endif /* COMMON_IMAGE_FORMAT_CUT_H */
