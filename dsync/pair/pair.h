/* pair.h: a device and its copy, brought to the same state, with an answer back. */
#ifndef DSYNC_PAIR_PAIR_H
#define DSYNC_PAIR_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "dsync/extract/extract.h"
#include "dsync/pair/far.h"

struct pair {
	struct extract_config from;
	struct far to;
};

struct pair_report {
	struct extract_report sent;
	struct far_status before;
	bool confirmed_late; /* an earlier stream had arrived, and nobody knew */
	double seconds;
};

/* Send what has changed since the state that the copy has; everything when `full`, or when
 * the copy has a state that is not known here.  It is confirmed when it has arrived. */
int pair_sync(struct pair *, bool full, struct pair_report *, struct err *);

struct pair_difference {
	uint64_t device_bytes, compared_bytes;
	struct rangeset differs; /* bytes, in pieces of a mebibyte; owned */
};
/* Compare both by digests.  What the source of change calls changed is not compared.
 * ERR_REFUSED: the copy is not of a state that is known here. */
int pair_verify(struct pair *, struct pair_difference *, struct err *);

#endif /* DSYNC_PAIR_PAIR_H */
