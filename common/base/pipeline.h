/* pipeline.h: threads that fail together.
 *
 * A stage is a function that runs until its input ends.  It returns 0, or -1 with an error.
 * The pipeline keeps the first error and then calls every cancel function that was
 * attached, so that all other stages wake up and leave.  Joining returns that first error.
 * Stages that leave because of a cancel return 0, or -1 with ERR_CANCELLED: the first error
 * stands either way. */
#ifndef COMMON_BASE_PIPELINE_H
#define COMMON_BASE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct pipeline;

/* How many threads to start for work that can use many: `asked`, or one for each processor
 * when `asked` is 0. */
size_t pipeline_jobs(uint64_t asked);

struct pipeline *pipeline_new(void); /* NULL: out of memory */
/* To be called after pipeline_join(), or when no stage was started.  NULL is allowed. */
void pipeline_free(struct pipeline *);
/* Name what is to be cancelled on failure; at most 16 of all kinds (asserted).  The
 * pipeline does not own it.  What is attached after the failure is not cancelled.  No lock
 * is taken: one thread calls these. */
struct queue;
struct ordered;
struct pool;
void pipeline_attach_queue(struct pipeline *, struct queue *);
void pipeline_attach_ordered(struct pipeline *, struct ordered *);
void pipeline_attach_pool(struct pipeline *, struct pool *);
void pipeline_attach(struct pipeline *, void (*cancel)(void *obj), void *obj);
/* Start a thread that runs the stage.  Returns -1 when there is no memory or no thread; the
 * pipeline has failed then. */
int pipeline_start(struct pipeline *, int (*stage)(void *arg, struct err *), void *arg);
/* Record a failure and, if it is the first, cancel all that is attached.  Any thread may
 * call it. */
void pipeline_fail(struct pipeline *, const struct err *);
/* Has anything failed?  Any thread may call it. */
bool pipeline_failed(struct pipeline *);
/* Wait for all threads.  0, or -1 with the first error. */
int pipeline_join(struct pipeline *, struct err *);

#endif /* COMMON_BASE_PIPELINE_H */
