/* snapshot.h: takes a snapshot of a device, from which the data is read, and drops it again. */
#ifndef DSYNC_EXTRACT_SNAPSHOT_H
#define DSYNC_EXTRACT_SNAPSHOT_H

#include <stdint.h>

#include "common/base/err.h"

struct snapshot_kind;

struct snapshot {
	const struct snapshot_kind *kind; /* NULL: there is no snapshot */
	void *self;                       /* the kind's own data */
	char *path;                       /* of the snapshot; owned */
	uint64_t frozen_us; /* how long the device was frozen for it; 0: not known */
};

/* Take a snapshot.  `how` is one of
 *	thin		the device, or what its tracker stands on, is a volume of dm-thin
 *	lvm[:SIZE]	by dm-snapshot, into a logical volume of SIZE bytes (a tenth of the
 *			device, at least 64 MiB)
 *	dm:COW		by dm-snapshot, into the device COW
 *	PROGRAM		"PROGRAM take DEVICE" prints the path of the snapshot
 * Both strings are borrowed until snapshot_drop(), which must follow in any case.  ERR_USAGE,
 * ERR_UNSUPPORTED: no such snapshot can be taken of this device; ERR_IO: a program failed;
 * ERR_FORMAT: it printed no path; ERR_ABSENT: it is not installed. */
int snapshot_take(struct snapshot *, const char *how, const char *device, struct err *);
/* Check what can be checked of `how` before anything is opened.  ERR_USAGE. */
int snapshot_check(const char *how, struct err *);
/* Drop the snapshot, if one was taken; "PROGRAM drop DEVICE PATH" does so for a program.  A failure
 * is logged. */
void snapshot_drop(struct snapshot *);

#endif /* DSYNC_EXTRACT_SNAPSHOT_H */
