/* target.h: what a node does with its chunks: a thread proves them, and puts them into
 * a sink; raw data is unpacked before. */
#ifndef DOLLY_NET_TARGET_H
#define DOLLY_NET_TARGET_H

#include "common/image/read/prove.h"
#include "common/image/read/sink.h"

enum target_thread_event {
	TARGET_RELEASED = 1, /* n: a slot, which is not needed any more */
	TARGET_DAMAGED,      /* n: a slot, whose chunk is not what it should be:
	                        target_thread_why() */
	TARGET_NEEDS,        /* n: a chunk, which is needed after all */
	TARGET_FAILED,       /* target_thread_why() */
	TARGET_FINISHED,
};

struct mailbox;
struct target_thread;

/* Opens the sink; in the thread of whoever calls this. */
typedef int target_thread_open_fn(void *arg, struct sink *, struct err *);

struct target_config {
	target_thread_open_fn *open;
	void *arg;
	const struct proof_config *proof; /* borrowed */
	bool raw;       /* chunks of dolly/raw, */
	uint64_t bytes; /* ... and all of the data */
	uint32_t chunks;
	uint32_t slots; /* at most so many are put at a time */
};

/* Events come through the mailbox. */
int target_thread_start(
    struct target_thread **, const struct target_config *, struct err *);
struct mailbox *target_thread_mailbox(struct target_thread *);
void target_thread_info(struct target_thread *, struct sink_info *);
bool target_thread_has(struct target_thread *, uint32_t chunk);
/* The bytes stay until TARGET_RELEASED or TARGET_DAMAGED. */
void target_thread_put(struct target_thread *, uint32_t slot, uint32_t chunk,
    const void *bytes, uint32_t length);
/* All were put. */
void target_thread_finish(struct target_thread *);
/* What was written, after TARGET_FINISHED. */
void target_thread_sum(struct target_thread *, struct sink_sum *);
void target_thread_why(struct target_thread *, struct err *);
/* Ends the thread; what is not whole is given up.  Also NULL. */
void target_thread_stop(struct target_thread *);

#endif /* DOLLY_NET_TARGET_H */
