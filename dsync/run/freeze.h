/* freeze.h: suspends a device of the device mapper for a moment, which ends even if this program is
 * killed in it.
 *
 * As long as a device is suspended all who use it wait, a filesystem on it is frozen, and a machine whose
 * root it is stands still.  So a process of its own suspends the device and resumes it, when it is told
 * to or when this program is no more.  SIGINT, SIGTERM and SIGHUP do not end that process.
 */
#ifndef DSYNC_RUN_FREEZE_H
#define DSYNC_RUN_FREEZE_H

#include "common/base/child.h"

struct freeze {
	struct child *shell; /* that has suspended the device; NULL: nothing is suspended */
};

/* Suspend the device, which is borrowed.  ERR_IO: dmsetup has failed, and the device is not suspended;
 * ERR_ABSENT: there is no shell; ERR_NOMEM. */
int freeze_begin(struct freeze *, const char *device, struct err *);
/* Resume the device, which is tried several times.  ERR_IO: it is still suspended.  0 if nothing is
 * suspended. */
int freeze_end(struct freeze *, struct err *);

#endif /* DSYNC_RUN_FREEZE_H */
