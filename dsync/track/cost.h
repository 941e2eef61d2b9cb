/* cost.h: what a tracker of a device takes, and whether its metadata has room for that.
 *
 * When a write needs a block of metadata and none is left, dm-era lets it fail, and the filesystem on
 * the device gets an error.  So the room is asked for before a tracker is activated, as much as dm-era
 * takes at most.
 */
#ifndef DSYNC_TRACK_COST_H
#define DSYNC_TRACK_COST_H

#include <stdint.h>

#include "common/base/err.h"
#include "dsync/track/superblock.h"

struct track_cost {
	uint64_t block_bytes, blocks;
	uint64_t memory_bytes;   /* of the kernel: of each block whether it was written, twice */
	uint64_t metadata_bytes; /* of the device for what dm-era notes: whole MiB */
};

/* What a tracker of a device of `bytes` bytes takes with blocks of `block_bytes` bytes. */
struct track_cost cost_of(uint64_t bytes, uint64_t block_bytes);
/* Check that the metadata, whose first block `s` was read with superblock_read(), has room for a tracker.
 * ERR_REFUSED: it has not; the sentence says how much is needed, and which blocks it has room for. */
int cost_check(
    const struct superblock *s, const char *metadata, uint64_t bytes, uint64_t block_bytes,
    struct err *);

#endif /* DSYNC_TRACK_COST_H */
