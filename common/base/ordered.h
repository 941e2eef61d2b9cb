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
/* For the producer: adds an item, and waits while there is no room.  QUEUE_OK or
 * QUEUE_CANCEL. */
enum queue_rc ordered_submit(struct ordered *, void *item);
/* For a worker: takes the oldest item that no worker has begun, and its ticket.  Waits for
 * one. */
enum queue_rc ordered_begin(struct ordered *, void **item, size_t *ticket);
/* ordered_begin() without waiting: QUEUE_END when there is no such item now. */
enum queue_rc ordered_try_begin(struct ordered *, void **item, size_t *ticket);
/* For a worker: the item with this ticket is done. */
void ordered_done(struct ordered *, size_t ticket);
/* For the consumer: takes the oldest item; waits until it is done. */
enum queue_rc ordered_take(struct ordered *, void **item);
/* For the consumer: is the oldest item done, so that ordered_take() does not wait? */
bool ordered_ready(struct ordered *);
/* For the owner, when all threads have ended: each call gives out one of the items that a
 * cancel left inside, in any state.  False: there is none. */
bool ordered_drain(struct ordered *, void **item);
void ordered_close(struct ordered *);
void ordered_cancel(struct ordered *);

#endif /* COMMON_BASE_ORDERED_H */
