/* window.h: a window is 64 KiB of the disk, of which some sectors are stored.  Data goes from
 * disks and images to the writer in windows.
 */
#ifndef COMMON_IMAGE_READ_WINDOW_H
#define COMMON_IMAGE_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/range.h"
#include "common/image/codec/codec.h"
#include "common/image/format/format.h"

enum {
	WINDOW_SECTORS = FRAGMENT_WINDOW_BYTES / SECTOR_BYTES,
	WINDOW_REGIONS_MAX = WINDOW_SECTORS / 2,
};

/* The allocated sectors of one aligned 64 KiB window. */
struct window {
	unsigned nregions;                        /* 1..WINDOW_REGIONS_MAX */
	struct range regions[WINDOW_REGIONS_MAX]; /* sectors, ascending, apart */
	unsigned nrelocs;                         /* whose sectors are among these */
	const struct ndz_reloc *relocs;           /* borrowed until it is packed */
	bool fresh;                               /* begins a chunk */
};

uint64_t window_bytes(const struct window *); /* of its data */

#endif /* COMMON_IMAGE_READ_WINDOW_H */
