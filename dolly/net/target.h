/* target.h: what a node does with its chunks.  A thread proves them, unpacks raw data, and
 * puts the chunks into a sink. */
#ifndef DOLLY_NET_TARGET_H
#define DOLLY_NET_TARGET_H

#include "common/image/read/prove.h"
#include "common/image/read/sink.h"

enum target_thread_event {
	TARGET_RELEASED = 1, /* n: a slot whose bytes are not needed any more */
	TARGET_DAMAGED,      /* n: a slot whose chunk is damaged; target_thread_why() says how */
	TARGET_NEEDS,        /* n: a chunk that is needed, although the target had it before */
	TARGET_FAILED,       /* the target has failed, and releases no more slots;
	                      * target_thread_why() says why */
	TARGET_FINISHED,     /* the target is complete */
};

struct mailbox;
struct target_thread;

/* Opens the sink.  target_thread_start() calls it, in its caller's thread. */
typedef int target_thread_open_fn(void *arg, struct sink *, struct err *);

struct target_config {
	target_thread_open_fn *open;
	void *arg;
	const struct opener_config *opener; /* borrowed */
	bool raw;       /* the chunks are those of dolly/raw */
	uint64_t bytes; /* size of all raw data */
	uint32_t chunks;
	uint32_t slots; /* chunks that may be put at a time */
};

/* Opens the sink and starts the thread, whose events come through the mailbox.  Also after an
 * error *target belongs to target_thread_stop().  ERR_NOMEM; ERR_IO: no thread; errors of
 * prove.h, raw.h and open(). */
int target_thread_start(
    struct target_thread **, const struct target_config *, struct err *);
/* The mailbox of the events (enum target_thread_event), which stays the target's. */
struct mailbox *target_thread_mailbox(struct target_thread *);
/* What the sink says of itself (sink_info()), and whether it has a chunk (sink_has()). */
void target_thread_info(struct target_thread *, struct sink_info *);
bool target_thread_has(struct target_thread *, uint32_t chunk);
/* Puts a chunk of `length` bytes.  The bytes stay valid until TARGET_RELEASED or
 * TARGET_DAMAGED of the slot, or TARGET_FAILED.  TARGET_RELEASED means that the chunk was
 * proved. */
void target_thread_put(struct target_thread *, uint32_t slot, uint32_t chunk,
    const void *bytes, uint32_t length);
/* All chunks were put: the target is completed, and TARGET_FINISHED comes. */
void target_thread_finish(struct target_thread *);
/* What was written, after TARGET_FINISHED. */
void target_thread_sum(struct target_thread *, struct sink_sum *);
/* The error of TARGET_DAMAGED or TARGET_FAILED. */
void target_thread_why(struct target_thread *, struct err *);
/* Ends the thread, and releases the target; a target that is not complete is given up.
 * NULL is allowed. */
void target_thread_stop(struct target_thread *);

#endif /* DOLLY_NET_TARGET_H */
