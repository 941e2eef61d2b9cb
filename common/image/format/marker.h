/* marker.h: the incomplete marker, which stands in the first block of a disk or partition while it
 * is installed, or streamed to (docs/installing.md).  What carries it is not whole: its boot area,
 * and anything else, may be missing. */
#ifndef COMMON_IMAGE_FORMAT_MARKER_H
#define COMMON_IMAGE_FORMAT_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/format.h"

enum {
	MARKER_BYTES = 512,
	MARKER_ID_BYTES = 16,
	/* Whoever installs holds these first bytes back while the marker stands there, so only
	 * an image that stores all of them lets its installation be marked. */
	MARKER_AREA_BYTES = 4096,
	MARKER_AREA_SECTORS = MARKER_AREA_BYTES / SECTOR_BYTES,
};

/* What the marker says of the installation that is not complete. */
struct marker {
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image; zeros when it has none */
	uint64_t started;             /* seconds since 1970 */
	uint8_t id[MARKER_ID_BYTES];  /* of this installation, drawn at random */
	/* Bytes of the disk that hold its state (--state=target); 0, 0: there is none. */
	uint64_t state_at, state_bytes;
};

/* Decode a marker.  Returns whether the block is one. */
bool marker_get(struct marker *, const uint8_t block[MARKER_BYTES]);
void marker_put(const struct marker *, uint8_t block[MARKER_BYTES]);
/* Read the marker at byte `at` of the disk: 1; 0: there is none; -1. */
int marker_read(struct disk *, uint64_t at, struct marker *, struct err *);
/* ERR_REFUSED when partition `number` of the disk, which begins at this sector, carries the marker;
 * number 0: the disk does.  Errors of reading. */
int marker_refuse(struct disk *, uint64_t sector, unsigned number, struct err *);
/* The same for the disk and each of its partitions, as far as its table can be read. */
int marker_refuse_any(struct disk *, struct err *);

#endif /* COMMON_IMAGE_FORMAT_MARKER_H */
