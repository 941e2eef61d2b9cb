/* pair.h: brings the copy of a device to the device's state, and compares the two. */
#ifndef DSYNC_PAIR_PAIR_H
#define DSYNC_PAIR_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "dsync/extract/extract.h"
#include "dsync/pair/far.h"

struct pair {
	struct extract_config from; /* the device, and how it is extracted */
	struct far to;                   /* the copy */
};

struct pair_report {
	struct extract_report sent; /* what was sent */
	struct far_status before; /* the copy before the sync */
	bool confirmed_late; /* an earlier stream had arrived unconfirmed */
	double seconds;
};

/* Send what has changed since the state that the copy has; everything if `full` is set, if
 * the copy has a state that is not remembered here, or if it is incomplete and the source of
 * change does not note each write.  The new state is confirmed when it has arrived.  ERR_USAGE:
 * the source of change remembers no states; errors of far.h and of extract_stream(). */
int pair_sync(struct pair *, bool full, struct pair_report *, struct err *);

struct pair_difference {
	uint64_t device_bytes, compared_bytes;
	struct rangeset differs; /* in bytes, in pieces of a mebibyte; the caller's */
};
/* Compare the device and its copy by digests.  What has changed since the copy's state, as the
 * source of change reports it, is left out; without one (from.since is NULL) nothing is.  Differences
 * are noted, so that the next sync sends these pieces.
 * ERR_REFUSED: the copy has no state that is remembered here, or has another size; errors
 * of far.h and of extract_list(). */
int pair_verify(struct pair *, struct pair_difference *, struct err *);

#endif /* DSYNC_PAIR_PAIR_H */
