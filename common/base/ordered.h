/* ordered.h: work done in parallel, results taken in the order of submission.
 *
 * One producer submits items; any number of workers take them, oldest first,
 * and report them done; one consumer takes them back in the order in which
 * they were submitted.  At most `cap` items are inside at any time, so a slow
 * consumer stops the producer.
 *
 * close:  no more submissions; workers and the consumer drain, then see
 *         QUEUE_END.
 * cancel: every blocked or later call returns QUEUE_CANCEL.
 */
#ifndef COMMON_BASE_ORDERED_H
#define COMMON_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/queue.h"

struct ordered;

struct ordered *ordered_new(size_t cap); /* NULL: out of memory */
void ordered_free(struct ordered *);     /* items are the caller's */
enum queue_rc ordered_submit(struct ordered *, void *item);
/* For a worker: the next item that nobody has begun, and its ticket. */
enum queue_rc ordered_begin(struct ordered *, void **item, size_t *ticket);
/* ordered_begin() without waiting: QUEUE_END when there is no such item now. */
enum queue_rc ordered_try_begin(struct ordered *, void **item, size_t *ticket);
void ordered_done(struct ordered *, size_t ticket);
/* For the consumer: the oldest item, once it is done. */
enum queue_rc ordered_take(struct ordered *, void **item);
/* For the consumer: is an item done, so that ordered_take() does not wait? */
bool ordered_ready(struct ordered *);
/* When all threads are gone, each call gives out one of the items that a cancel left
 * inside. */
bool ordered_drain(struct ordered *, void **item);
void ordered_close(struct ordered *);
void ordered_cancel(struct ordered *);

#endif /* COMMON_BASE_ORDERED_H */
