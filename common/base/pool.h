/* pool.h: a fixed set of buffers that circulates in a pipeline.
 *
 * The number of buffers bounds a pipeline's memory: a stage that wants a buffer when all
 * are in use waits. pool_free() asserts that all were put back. */
#ifndef COMMON_BASE_POOL_H
#define COMMON_BASE_POOL_H

#include <stddef.h>

#include "common/base/queue.h"

struct pool;

/* Make `count` buffers of `size_bytes` each, aligned to 4096 bytes, uninitialised. */
struct pool *pool_new(size_t count, size_t size_bytes); /* NULL: out of memory */
void pool_free(struct pool *);
enum queue_rc pool_get(struct pool *, void **buf); /* blocks; OK or CANCEL */
void pool_put(struct pool *, void *buf);           /* works after a cancel, too */
/* Makes every blocked or later pool_get() return QUEUE_CANCEL. */
void pool_cancel(struct pool *);

#endif /* COMMON_BASE_POOL_H */
