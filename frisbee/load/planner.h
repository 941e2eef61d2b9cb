/* planner.h: compares chunks with what a sink has (--skip-same), in threads of its own.  A
 * chunk is compared as soon as its tables are here, to learn which other blocks of it are
 * needed.
 *
 * The network goes on filling the chunk's buffer during the comparison, which only looks at
 * blocks that were here when the buffer was handed over.
 */
#ifndef FRISBEE_LOAD_PLANNER_H
#define FRISBEE_LOAD_PLANNER_H

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
	/* Called in any thread.  planned: planner_plan() of this buffer is valid.  failed: a
	 * thread has failed, and planner_failed() will be true. */
	void (*planned)(void *arg, uint32_t buf);
	void (*failed)(void *arg);
	void *arg; /* of both callbacks */
};

struct planner;

/* Starts the threads; planner_free() ends them.  ERR_NOMEM; ERR_IO: no thread. */
int planner_new(struct planner **, const struct planner_config *, struct err *);
/* Hands over the chunk in a buffer, of which these blocks are here; planned() is
 * called when it was compared. */
void planner_put(struct planner *, uint32_t buf, const struct blockmap *here);
/* The plan of a buffer, which is valid between planned() and the next planner_put(). */
struct plan *planner_plan(struct planner *, uint32_t buf);
/* Stops the threads.  Any thread may call this, but only one at a time.  NULL is allowed. */
void planner_stop(struct planner *);
/* After planner_stop(): has a thread failed?  True: the error says why.  NULL: false. */
bool planner_failed(const struct planner *, struct err *);
/* Stops the threads, if they still run, and releases the planner.  NULL is allowed. */
void planner_free(struct planner *);

#endif /* FRISBEE_LOAD_PLANNER_H */
