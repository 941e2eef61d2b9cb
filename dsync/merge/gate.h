/* gate.h: decides whether a stream may be merged into a target. */
#ifndef DSYNC_MERGE_GATE_H
#define DSYNC_MERGE_GATE_H

#include <stdbool.h>

#include "common/base/err.h"
#include "dsync/merge/journal.h"
#include "dsync/stream/stream.h"

enum gate_says {
	GATE_MERGE,
	GATE_SAME, /* the target has this state already: nothing is to be done */
};

/* Decide from the target's state and the stream's head.  ERR_REFUSED: the stream does not belong
 * to this target; the sentence says what to do.  Sizes are not compared here. */
int gate_decide(const struct target_state *, const struct stream_head *, enum gate_says *,
    struct err *);
/* Whether each block that the stream writes has been written in the source since the target's state,
 * or has its content of that state.  After a part of such a stream, a later one that leads on from that
 * state can mend the target; after a part of another stream, none can. */
bool gate_leads_on(const struct target_state *, const struct stream_head *);

#endif /* DSYNC_MERGE_GATE_H */
