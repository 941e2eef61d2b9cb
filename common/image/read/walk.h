/* walk.h: gives out a set of sectors window by window, as struct window has them. */
#ifndef COMMON_IMAGE_READ_WALK_H
#define COMMON_IMAGE_READ_WALK_H

#include "common/disk/rangeset.h"
#include "common/image/read/window.h"

struct walk {
	const struct rangeset *set; /* borrowed */
	size_t at;            /* index of the current range of the set */
	uint64_t used;        /* sectors of that range that were given out */
};

/* Gives out the sectors of the next window that has any.  Returns how many ranges these
 * are, 0 at the end. */
unsigned walk_next(struct walk *, struct range ranges[WINDOW_REGIONS_MAX]);

#endif /* COMMON_IMAGE_READ_WALK_H */
