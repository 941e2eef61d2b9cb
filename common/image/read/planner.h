/* planner.h: compares chunks with what a sink has (--skip-same), in threads of its own.  A
 * chunk is compared as soon as its tables are here, to learn which other blocks of it are
 * needed.
 *
 * The network goes on filling the chunk's buffer during the comparison, which only looks at
 * blocks that were here when the buffer was handed over.
 */
#ifndef COMMON_IMAGE_READ_PLANNER_H
#define COMMON_IMAGE_READ_PLANNER_H

#include "common/base/mailbox.h"
#include "common/image/read/sink.h"
#include "common/wire/blockmap.h"

/* What is known of the chunk in a buffer. */
struct plan {
	struct blockmap here;  /* blocks that were here when the buffer was handed over */
	struct sink_part part; /* blocks that are needed; not final: compare again with them */
};

struct planner_config {
	struct sink *sink;
	uint32_t buffers;
	const uint8_t *memory; /* buffer after buffer, of NDZ_CHUNK_BYTES */
	/* Gets FEEDER_PLANNED when planner_plan() of a buffer is valid, and FEEDER_FAILED when a
	 * thread has failed. */
	struct mailbox *box;
};

struct planner;

/* Starts the threads; planner_free() ends them.  ERR_NOMEM; ERR_IO: no thread. */
int planner_new(struct planner **, const struct planner_config *, struct err *);
/* Hands over the chunk in a buffer, of which these blocks are here. */
void planner_put(struct planner *, uint32_t buf, const struct blockmap *here);
/* The plan of a buffer, which is valid from FEEDER_PLANNED to the next planner_put(). */
struct plan *planner_plan(struct planner *, uint32_t buf);
/* Stops the threads.  -1: one of them has failed, and the error says why.  NULL is allowed. */
int planner_stop(struct planner *, struct err *);
/* Stops the threads, if they still run, and releases the planner.  NULL is allowed. */
void planner_free(struct planner *);

#endif /* COMMON_IMAGE_READ_PLANNER_H */
