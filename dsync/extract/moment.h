/* moment.h: is what was read of a device one moment of it? */
#ifndef DSYNC_EXTRACT_MOMENT_H
#define DSYNC_EXTRACT_MOMENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct moment {
	struct disk *disk;       /* borrowed; what is read */
	bool steady;             /* nobody could write it when reading began */
	struct stat before;
	char why[512];           /* when not */
};

/* Before the first byte is read.  A device that is read-only is steady; so is one that
 * nobody has open for writing, as inuse.h knows it. */
void moment_begin(struct moment *, struct disk *);
/* Behind the last byte: was it steady all the time?  When not, m->why says why. */
bool moment_was_one(struct moment *);

#endif /* DSYNC_EXTRACT_MOMENT_H */
