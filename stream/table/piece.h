/* piece.h: the 512 bytes that a sector table consists of, docs/stream-format.md.
 *
 * Each piece carries a checksum, the table's id, and the sequence number of the flush that wrote
 * it, so that damage and pieces of other tables are recognised.  A piece of kind
 * PIECE_OF_SECTORS has a bit for each of PIECE_BITS sectors: whether the sector is present on
 * the disk.  A piece of kind PIECE_OF_PIECES has a bit for each of PIECE_BITS pieces of the other
 * kind: whether data that was written locally may be among the sectors of that piece.
 */
#ifndef STREAM_TABLE_PIECE_H
#define STREAM_TABLE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/disk/maps.h"

enum {
	PIECE_BYTES = 512,
	PIECE_BITS_BYTES = 480,
	PIECE_BITS = PIECE_BITS_BYTES * 8,
	TABLE_ID_BYTES = 16,
	TABLE_IMAGE_BYTES = 32,
	TABLE_DISK_BYTES = 32,
	TABLE_MAPS_MAX = 15, /* those that a header has room for */
};

enum piece_kind { PIECE_OF_SECTORS = 1, PIECE_OF_PIECES = 2 };

struct piece {
	enum piece_kind kind;
	bool local;        /* PIECE_OF_SECTORS: some of its sectors were written locally */
	uint64_t sequence; /* number of the flush that wrote the piece, from 1 on */
	uint64_t index;    /* which piece of its kind it is, from 0 on */
	uint8_t bits[PIECE_BITS_BYTES]; /* bit 0 of byte 0 is the first */
};

/* Write a piece of the table with this id into out[PIECE_BYTES]. */
void piece_put(const struct piece *, const uint8_t id[TABLE_ID_BYTES], uint8_t *out);
/* Read a piece from block[len].  false: it is not a whole piece of the table with this id, and
 * *p is not set. */
bool piece_get(struct piece *p, const uint8_t id[TABLE_ID_BYTES], const void *block, size_t len);

/* What the beginning of a table says.  Sizes are checked only against each other. */
struct table_header {
	uint64_t sequence; /* number of the flush that wrote it, from 1 on */
	uint8_t id[TABLE_ID_BYTES]; /* drawn at random, and also in the marker of the disk */
	uint8_t image[TABLE_IMAGE_BYTES]; /* export_identity() of the source */
	uint64_t sectors;    /* the table describes sectors 0 to this number - 1 */
	uint64_t disk_bytes; /* size of the disk that is shown */
	/* Byte of the disk where the table begins; TABLE_ELSEWHERE: it is not on the disk. */
	uint64_t at_bytes;
	bool begun; /* the disk has the marker; what is on it counts */
	bool complete; /* nothing is absent any more */
	/* Whoever served the disk has ended in order: all marks were written, and the disk was not
	 * written to since.  Headers of before this flag was used do not have it. */
	bool closed;
	/* identity_of() of the disk when it became complete; zeros before */
	uint8_t disk[TABLE_DISK_BYTES];
	/* Where the sectors of the image are on the disk, by a plan; n is 0: where they are in the
	 * image. */
	struct maps maps;
};

#define TABLE_ELSEWHERE UINT64_MAX

/* Write a header, which has TABLE_MAPS_MAX maps at most, into out[PIECE_BYTES]. */
void table_header_put(const struct table_header *, uint8_t *out);
/* Read a header from block[len].  false: there is no whole header, and *h is not set. */
bool table_header_get(struct table_header *h, const void *block, size_t len);

#endif /* STREAM_TABLE_PIECE_H */
