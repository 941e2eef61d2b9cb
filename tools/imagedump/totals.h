/* totals.h: what the chunks of an image add up to. */
#ifndef TOOLS_IMAGEDUMP_TOTALS_H
#define TOOLS_IMAGEDUMP_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/image/read/chunk.h"

/* Zeros to begin with. */
struct totals {
	uint32_t chunks;                     /* how many were added */
	unsigned version;                    /* of the chunk that was added last */
	const struct codec *codec;           /* of the chunk that was added last */
	uint64_t regions, relocs, fragments; /* how many all chunks have */
	/* bytes of all data, compressed and decoded; the highest end of a chunk's sectors */
	uint64_t stream_bytes, raw_bytes, sectors;
	/* What chunks hold besides: headers, extension areas, and zeros behind these. */
	uint64_t header_bytes, extension_bytes, padding_bytes;
	uint64_t freed;       /* sectors that a delta calls free by now */
	uint64_t samples;     /* how many samples a delta has of its base */
	uint64_t next_sector; /* where the next chunk should begin */
	uint32_t signed_chunks;
	bool tiled;       /* totals_check_tiling(): the chunks cover every sector once */
	struct ext first; /* of chunk 0; of what it owns, `reach` alone */
	struct lost lost; /* from the last chunk that has a list; owned */
	uint64_t tail_sectors[TAIL_PIECES_MAX]; /* stored sectors of each piece of first.tail */
};

/* Add the next chunk, which is parsed.  Its list of lost sectors is moved into the totals. */
void totals_add(struct totals *, struct chunk *);
/* Check the next chunk before it is added, and note the result in `tiled`.  ERR_FORMAT: it
 * does not begin where the chunk before it ends.  Chunks of version 1 do not say where they
 * begin, and are no error. */
int totals_check_tiling(struct totals *, const struct chunk *, struct err *);
void totals_free(struct totals *); /* frees what the totals own, not the struct */

#endif /* TOOLS_IMAGEDUMP_TOTALS_H */
