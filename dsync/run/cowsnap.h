/* cowsnap.h: a snapshot of a device of the device mapper by dm-snapshot: for as long as it is there,
 * what is written to the device copies the old data to a device of its own first.
 *
 * The table of the device moves to /dev/mapper/NAME-dsync-real, the device becomes a "snapshot-origin"
 * of it, and the snapshot is shown as /dev/mapper/NAME-dsync-snapshot.
 */
#ifndef DSYNC_RUN_COWSNAP_H
#define DSYNC_RUN_COWSNAP_H

#include <stdbool.h>
#include <stdint.h>

#include "dsync/run/mapper.h"

struct cowsnap {
	struct mapped_stack stack;
	char real[MAPPED_WORD_BYTES], shown_as[MAPPED_WORD_BYTES];
	char *table;        /* of the device below; owned */
	bool moved, shown;  /* NAME-dsync-real exists; NAME-dsync-snapshot exists */
	bool origin;        /* the device below is a snapshot-origin */
	uint64_t frozen_us; /* how long the device was suspended */
};

/* Take a snapshot of the device, or of what its tracker stands on.  `cow` is a device for old data,
 * whose contents are lost.  What a run that was killed has left is removed before.
 * ERR_UNSUPPORTED: it is no device of the device mapper, or its name is too long; ERR_IO.
 * cowsnap_end() must follow in any case. */
int cowsnap_take(struct cowsnap *, const char *device, const char *cow, struct err *);
/* Remove what a run that was killed has left of a snapshot of this device, so that nothing uses its
 * device for old data any more.  Errors as cowsnap_take(). */
int cowsnap_tidy(const char *device, struct err *);
/* Give the device its table back, and remove the snapshot.  A failure is logged. */
void cowsnap_end(struct cowsnap *);

#endif /* DSYNC_RUN_COWSNAP_H */
