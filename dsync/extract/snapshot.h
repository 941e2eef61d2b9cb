/* snapshot.h: runs a user's program that takes a snapshot of a device, and drops it again. */
#ifndef DSYNC_EXTRACT_SNAPSHOT_H
#define DSYNC_EXTRACT_SNAPSHOT_H

#include "common/base/err.h"

struct snapshot {
	const char *program, *device; /* borrowed; NULL: there is no snapshot */
	char *path;                   /* of the snapshot; owned */
};

/* Run "PROGRAM take DEVICE", which prints the path of the snapshot.  Both strings are borrowed
 * until snapshot_drop().  ERR_IO: the program failed; ERR_FORMAT: it printed no path;
 * ERR_ABSENT: it is not installed. */
int snapshot_take(struct snapshot *, const char *program, const char *device, struct err *);
/* Run "PROGRAM drop DEVICE PATH" if a snapshot was taken.  A failure is logged. */
void snapshot_drop(struct snapshot *);

#endif /* DSYNC_EXTRACT_SNAPSHOT_H */
