/* gate.h: may a stream be merged into a target? */
#ifndef DSYNC_MERGE_GATE_H
#define DSYNC_MERGE_GATE_H

#include "common/base/err.h"
#include "dsync/merge/journal.h"
#include "dsync/stream/stream.h"

enum gate_says {
	GATE_MERGE,
	GATE_SAME, /* the target has this state: there is nothing to do */
};

/* Of what is known of a target and what a stream says of itself.  ERR_REFUSED with what to
 * do.  That sizes agree is not looked at here. */
int gate(const struct target_state *, const struct stream_head *, enum gate_says *,
    struct err *);

#endif /* DSYNC_MERGE_GATE_H */
