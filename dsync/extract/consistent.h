/* moment.h: tells whether the data that was read of a device is of one moment. */
#ifndef DSYNC_EXTRACT_MOMENT_H
#define DSYNC_EXTRACT_MOMENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct moment {
	struct disk *disk;       /* borrowed; what is read */
	bool steady;             /* nobody could write it when reading began */
	struct stat before;      /* of the device, when reading began */
	char why[512];           /* why it is not one moment */
};

/* Look at the device before its first byte is read.  A read-only device is steady; so is a
 * device that nobody has open for writing, as inuse.h finds it. */
void moment_begin(struct moment *, struct disk *);
/* Call this after the last byte was read.  Returns whether the device was steady all the time;
 * if not, m->why says why. */
bool moment_was_one(struct moment *);

#endif /* DSYNC_EXTRACT_MOMENT_H */
