/* window.h: a window is a part of the disk of which some sectors are stored.  Data goes from
 * disks and images to the writer in windows.  Sources give out aligned ones, which are 64 KiB
 * at a multiple of 64 KiB; recut.h makes those of them that follow the content.
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
	/* How many fit into a header of version 5 beside these regions. */
	WINDOW_RELOCS_MAX = 100,
};

/* The stored sectors of one window. */
struct window {
	unsigned nregions;                        /* 1..WINDOW_REGIONS_MAX */
	struct range regions[WINDOW_REGIONS_MAX]; /* sectors, ascending, apart */
	unsigned nrelocs;                         /* whose sectors are among these */
	const struct ndz_reloc *relocs;           /* borrowed until it is packed */
	bool fresh;                               /* begins a chunk */
	uint64_t fresh_at; /* if so: the sector because of which it does */
	/* Of windows that follow the content: no fragment goes on into it.  Aligned windows
	 * have it in their place. */
	bool apart;
};

uint64_t window_bytes(const struct window *); /* of its data */

#endif /* COMMON_IMAGE_READ_WINDOW_H */
