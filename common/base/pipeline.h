/* pipeline.h: threads that fail together.
 *
 * A stage is a function that runs until its input ends, and returns 0, or -1
 * with an error.  The first error is kept; it runs every cancel function that
 * was attached, so that all other stages wake up and leave.  Joining returns
 * that first error.  Stages that leave because of a cancel return 0, or -1
 * with ERR_CANCELLED: either way the first error stands.
 */
#ifndef COMMON_BASE_PIPELINE_H
#define COMMON_BASE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct pipeline;

/* How many threads to start for work that can use many: `asked`, or one for each processor
 * when that is 0. */
size_t pipeline_jobs(uint64_t asked);

struct pipeline *pipeline_new(void); /* NULL: out of memory */
/* Only after pipeline_join(), or when no stage was started. */
void pipeline_free(struct pipeline *);
/* What to cancel on failure; at most 16 of all kinds. */
struct queue;
struct ordered;
struct pool;
void pipeline_attach_queue(struct pipeline *, struct queue *);
void pipeline_attach_ordered(struct pipeline *, struct ordered *);
void pipeline_attach_pool(struct pipeline *, struct pool *);
void pipeline_attach(struct pipeline *, void (*cancel)(void *obj), void *obj);
/* Start a thread.  -1 when the system refuses one; then the pipeline has failed. */
int pipeline_start(struct pipeline *, int (*stage)(void *arg, struct err *), void *arg);
/* Record a failure from anywhere, and cancel. */
void pipeline_fail(struct pipeline *, const struct err *);
bool pipeline_failed(struct pipeline *);
/* Wait for all threads.  0, or -1 with the first error. */
int pipeline_join(struct pipeline *, struct err *);

#endif /* COMMON_BASE_PIPELINE_H */
