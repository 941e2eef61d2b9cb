/* totals.h: what the chunks of an image add up to. */
#ifndef TOOLS_IMAGEDUMP_TOTALS_H
#define TOOLS_IMAGEDUMP_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/image/read/chunk.h"

/* Zeros to begin with. */
struct totals {
	uint32_t chunks;
	unsigned version;
	const struct codec *codec;
	uint64_t regions, relocs, fragments;
	uint64_t stream_bytes, raw_bytes, sectors;
	uint64_t freed;       /* sectors that a delta calls free by now */
	uint64_t samples;     /* of what the base of a delta holds */
	uint64_t next_sector; /* where the next chunk should begin */
	uint32_t signed_chunks;
	bool tiled;       /* chunks say whose sectors they are: each, once */
	struct ext first; /* of chunk 0, without what it owns */
	struct lost lost; /* from the last chunk; owned */
	uint64_t tail_sectors[TAIL_PIECES_MAX]; /* stored of each piece of first.tail */
};

/* The next chunk, which is parsed; its list of lost sectors becomes the totals'. */
void totals_add(struct totals *, struct chunk *);
/* ERR_FORMAT when the next chunk, not yet added, does not begin where the last one
 * ends.  Version 1 does not tell. */
int totals_check_tiling(struct totals *, const struct chunk *, struct err *);
void totals_free(struct totals *);

#endif /* TOOLS_IMAGEDUMP_TOTALS_H */
