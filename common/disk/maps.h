/* maps.h: which sectors of an image go where on a target.
 *
 * A whole disk, or a partition by -s, is one map; a partition of an image of a disk
 * (--only) is one map that begins where the partition does; the tail of a disk of another
 * size adds maps for the pieces that are moved, and gaps for those that are left out; a plan
 * (--fit) has a map for each partition, and one for what lies in front of the first.
 * Sectors that no map has are not installed.  Sectors of the target are counted from the
 * first one that is installed to: that of the disk, or of the partition.  A streaming disk has
 * the maps of a plan, too.
 */
#ifndef COMMON_DISK_MAPS_H
#define COMMON_DISK_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/ptable.h"

enum { MAPS_MAX = PTABLE_PARTS_MAX + 1 };

/* Where sectors go that no map has. */
#define MAPS_NOWHERE UINT64_MAX

struct map {
	struct range from; /* of the image */
	uint64_t to;       /* where the first of them goes */
};

/* No two maps share a sector of the image, or one of the target. */
struct maps {
	unsigned n;
	struct map map[MAPS_MAX]; /* ascending in the image */
};

/* All sectors from `from.off` on, to sector 0 and behind it. */
struct maps maps_one(struct range from);
/* Add a map, if it has any sectors.  ERR_REFUSED: it shares sectors with another one;
 * ERR_FORMAT: it ends behind the last number, or there are too many. */
int maps_add(struct maps *, struct range from, uint64_t to, struct err *);
/* Where do the first sectors of r (r.len > 0) go?  Returns how many go side by side; *to:
 * where the first one goes, or MAPS_NOWHERE, when none of these goes anywhere. */
uint64_t maps_run(const struct maps *, struct range r, uint64_t *to);
/* Do all sectors of r (r.len > 0) go side by side to the target? *to: where. */
bool maps_whole(const struct maps *, struct range r, uint64_t *to);
/* The other way: which sectors of the image go to the first sectors of r? Returns how many
 * follow one another there; *from: the first, or MAPS_NOWHERE. */
uint64_t maps_back(const struct maps *, struct range r, uint64_t *from);

#endif /* COMMON_DISK_MAPS_H */
