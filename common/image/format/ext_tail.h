/* ext_tail.h: the tail of a disk image: what is stored of the disk's end, outside of
 * every partition.
 *
 * It belongs to a disk of exactly that size: an installer writes it to such a disk,
 * and leaves it out elsewhere.  Record 12 of the extension area says which sectors
 * these are; chunk 0 has it, and every chunk that stores such sectors has the same
 * one.  docs/image-format.md has it to the byte.
 */
#ifndef COMMON_IMAGE_FORMAT_EXT_TAIL_H
#define COMMON_IMAGE_FORMAT_EXT_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/range.h"

/* What was recognised in a tail.  The numbers are part of the format, and are never used
 * again. */
enum tail_kind {
	TAIL_UNKNOWN = 0, /* nothing was recognised, but it is not zero */
	TAIL_MD0 = 1,
	TAIL_MD1 = 2,
	TAIL_IMSM = 3,
	TAIL_DDF = 4,
	TAIL_LDM = 5,
	TAIL_VHD = 6,
	TAIL_NVIDIA = 7,
	TAIL_PROMISE = 8,
	TAIL_SILICON = 9,
	TAIL_VIA = 10,
	TAIL_LSI = 11,
	TAIL_ADAPTEC = 12,
	TAIL_HIGHPOINT = 13,
	TAIL_JMICRON = 14,
	TAIL_GEOM = 15,
	TAIL_ZFS = 16,
	TAIL_DRBD = 17,
	TAIL_AVB = 18,
	TAIL_VERITY = 19,
	TAIL_KINDS,
};

enum { TAIL_PIECES_MAX = 32, TAIL_HEAD_BYTES = 24, TAIL_PIECE_BYTES = 24 };

struct tail_piece {
	struct range sectors; /* of the image; the stored ones of them are the tail */
	uint32_t kind;        /* enum tail_kind, or one of a later version */
};

struct tail {
	size_t n; /* 0: the image has no tail */
	struct tail_piece pieces[TAIL_PIECES_MAX]; /* ascending, apart */
	uint64_t disk_sectors; /* of the disk whose end this is */
	uint64_t needed;       /* end of what is stored outside of the tail, in sectors */
};

/* The name of a kind for people: "a Linux RAID superblock (version 1.0)". */
const char *tail_kind_name(uint32_t kind);

/* Read the record's body into a tail that has no pieces yet.  ERR_FORMAT: the record is
 * invalid, or the second one. */
int tail_get(struct tail *, struct rd *, struct err *);
/* Write the record's body. */
void tail_put(const struct tail *, struct wr *);
/* Bytes that the record takes in a chunk, with its head; 0 without a tail. */
size_t tail_record_bytes(const struct tail *);
/* Are the two tails the same, piece by piece? */
bool tail_same(const struct tail *, const struct tail *);

/* How many sectors of r (r.len > 0), from its first one on, belong to one and the same
 * piece, or to no piece.  *piece is that piece, or NULL. */
uint64_t tail_run(
    const struct tail *, struct range r, const struct tail_piece **piece);
/* The end of the last sector in regions[n] that belongs to no piece; 0: there is none. */
uint64_t tail_rest_end(const struct tail *, const struct range *regions, size_t n);
/* Does any sector of regions[n] belong to a piece? */
bool tail_touches(const struct tail *, const struct range *regions, size_t n);
/* Add to sectors[i] how many sectors of regions[n] belong to piece i. */
void tail_count(const struct tail *, const struct range *regions, size_t n,
    uint64_t sectors[TAIL_PIECES_MAX]);

/* Write for people how much there is of each kind: "4 KiB of a Linux RAID superblock
 * (version 1.0), 512 bytes of ...".  sectors[i] is the number of sectors of piece i.
 * Returns buf. */
const char *tail_text(const struct tail *, const uint64_t sectors[TAIL_PIECES_MAX],
    char *buf, size_t cap);

#endif /* COMMON_IMAGE_FORMAT_EXT_TAIL_H */
