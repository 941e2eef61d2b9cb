/* planner.h: compares chunks with what a sink has, in threads of its own, as soon as their
 * tables are here, to learn which other blocks are needed (--skip-same).
 *
 * The network goes on filling a buffer meanwhile; only blocks that were here when it
 * was handed over are looked at.
 */
#ifndef FRISBEE_LOAD_PLANNER_H
#define FRISBEE_LOAD_PLANNER_H

#include "common/image/read/sink.h"
#include "common/wire/blockmap.h"

/* What is known of the chunk in a buffer. */
struct plan {
	struct blockmap here;  /* blocks that were here when it was handed over */
	struct sink_part part; /* blocks that are needed; if not final, ask again */
};

struct planner_config {
	struct sink *sink;
	uint32_t buffers;
	const uint8_t *memory; /* buffer after buffer, of NDZ_CHUNK_BYTES */
	/* From any thread: planner_plan() is there; planner_failed() will be true. */
	void (*planned)(void *arg, uint32_t buf);
	void (*failed)(void *arg);
	void *arg;
};

struct planner;

/* Starts the threads; planner_free() ends them.  ERR_NOMEM; ERR_IO: no thread. */
int planner_new(struct planner **, const struct planner_config *, struct err *);
/* Hands over the chunk in a buffer, of which these blocks are here; planned() tells the end. */
void planner_put(struct planner *, uint32_t buf, const struct blockmap *here);
/* The plan of a buffer, which is valid between planned() and the next planner_put(). */
struct plan *planner_plan(struct planner *, uint32_t buf);
/* Stop the threads; from any thread, but one at a time.  NULL is fine. */
void planner_stop(struct planner *);
/* After planner_stop(): why, if anything failed. */
bool planner_failed(const struct planner *, struct err *);
void planner_free(struct planner *);

#endif /* FRISBEE_LOAD_PLANNER_H */
