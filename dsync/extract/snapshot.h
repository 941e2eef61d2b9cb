/* snapshot.h: a user's program takes a snapshot of a device, and drops it afterwards. */
#ifndef DSYNC_EXTRACT_SNAPSHOT_H
#define DSYNC_EXTRACT_SNAPSHOT_H

#include "common/base/err.h"

struct snapshot {
	const char *program, *device; /* borrowed; NULL: nothing was taken */
	char *path;                   /* of the snapshot; owned */
};

/* Run "PROGRAM take DEVICE", which prints the path of the snapshot.  ERR_IO: it failed;
 * ERR_FORMAT: it printed no path. */
int snapshot_take(struct snapshot *, const char *program, const char *device, struct err *);
/* Run "PROGRAM drop DEVICE PATH", if one was taken.  A failure is logged. */
void snapshot_drop(struct snapshot *);

#endif /* DSYNC_EXTRACT_SNAPSHOT_H */
