/* queue.h: a bounded FIFO of pointers between pipeline stages.
 *
 * close: the producer has no more items; consumers take what is left, and then get
 * QUEUE_END.
 *
 * cancel: something failed; every blocked or later call returns QUEUE_CANCEL. */
#ifndef COMMON_BASE_QUEUE_H
#define COMMON_BASE_QUEUE_H

#include <stddef.h>

enum queue_rc { QUEUE_OK, QUEUE_END, QUEUE_CANCEL };

struct queue;

struct queue *queue_new(size_t cap);                  /* NULL: out of memory */
void queue_free(struct queue *);                      /* items are the caller's */
enum queue_rc queue_put(struct queue *, void *item);  /* blocks while full */
/* queue_put() before all items that are in the queue, for what is urgent. */
enum queue_rc queue_put_first(struct queue *, void *item);
enum queue_rc queue_get(struct queue *, void **item); /* blocks while empty */
/* queue_get() without waiting: QUEUE_END also when the queue is empty at the moment. */
enum queue_rc queue_try_get(struct queue *, void **item);
void queue_close(struct queue *);
void queue_cancel(struct queue *);

#endif /* COMMON_BASE_QUEUE_H */
