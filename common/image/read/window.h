/* window.h: a window is a part of the disk of which some sectors are stored.  Data goes from
 * disks and images to the writer in windows.  Disks and images give out aligned windows, which
 * are 64 KiB at a multiple of 64 KiB; recut.h makes windows that follow the content of them.
 */
#ifndef COMMON_IMAGE_READ_WINDOW_H
#define COMMON_IMAGE_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/range.h"
#include "common/image/codec/codec.h"
#include "common/image/format/format.h"

enum {
	WINDOW_GRAIN_SECTORS = 8, /* the pages of memory, and the sectors of many disks */
	WINDOW_SECTORS = FRAGMENT_WINDOW_BYTES / SECTOR_BYTES,
	WINDOW_REGIONS_MAX = WINDOW_SECTORS / 2,
	/* This number of relocations fits into a header of version 5 beside
	 * WINDOW_REGIONS_MAX regions. */
	WINDOW_RELOCS_MAX = 100,
};

/* The stored sectors of one window. */
struct window {
	unsigned nregions;                        /* 1..WINDOW_REGIONS_MAX */
	struct range regions[WINDOW_REGIONS_MAX]; /* sectors, ascending, apart */
	unsigned nrelocs;                         /* those of sectors in these regions */
	const struct ndz_reloc *relocs;           /* borrowed until it is packed */
	bool fresh;                               /* it must begin a chunk */
	uint64_t fresh_at; /* if so: the sector because of which it must */
	/* Of windows that follow the content: no fragment goes on from the window before into
	 * this one.  Of aligned windows their place on the disk decides that. */
	bool apart;
};

uint64_t window_bytes(const struct window *); /* length of the window's data */
/* Behind how many of its first `sectors` sectors, fewer than all, a window may be split: it ends in
 * front of a multiple of 4 KiB, which no two chunks should share, or where a region begins. */
uint64_t window_split_at(const struct window *, uint64_t sectors);
/* Let a window without relocations end behind its first `sectors` sectors; *rest gets the
 * others.  Neither is empty. */
void window_split(struct window *, uint64_t sectors, struct window *rest);

#endif /* COMMON_IMAGE_READ_WINDOW_H */
