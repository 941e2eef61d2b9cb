/* consistent.h: tells whether the data that was read of a device is consistent: what the device
 * held at one point in time, because nobody could write to it meanwhile. */
#ifndef DSYNC_EXTRACT_CONSISTENT_H
#define DSYNC_EXTRACT_CONSISTENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct consistency {
	struct disk *disk;       /* borrowed; what is read */
	bool steady;             /* nobody could write it when reading began */
	struct stat before;      /* of the device, when reading began */
	char why[512];           /* why the data is not consistent */
};

/* Look at the device before its first byte is read.  A device is steady that nobody has open for
 * writing, as inuse.h finds it. */
void consistency_begin(struct consistency *, struct disk *);
/* Call this after the last byte was read.  Returns whether the device was steady all the time;
 * if not, m->why says why. */
bool consistency_held(struct consistency *);

#endif /* DSYNC_EXTRACT_CONSISTENT_H */
