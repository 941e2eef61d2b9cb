/* queue.h: bounded FIFO of pointers between pipeline stages.
 *
 * close:  the producer has no more items; consumers drain, then see QUEUE_END.
 * cancel: something failed; every blocked or later call returns QUEUE_CANCEL.
 */
#ifndef COMMON_BASE_QUEUE_H
#define COMMON_BASE_QUEUE_H

#include <stddef.h>

enum queue_rc { QUEUE_OK, QUEUE_END, QUEUE_CANCEL };

struct queue;

struct queue *queue_new(size_t cap);                  /* NULL: out of memory */
void queue_free(struct queue *);                      /* items are the caller's */
enum queue_rc queue_put(struct queue *, void *item);  /* blocks while full */
enum queue_rc queue_get(struct queue *, void **item); /* blocks while empty */
/* Like queue_get, but QUEUE_END also when it is empty just now. */
enum queue_rc queue_try_get(struct queue *, void **item);
void queue_close(struct queue *);
void queue_cancel(struct queue *);

#endif /* COMMON_BASE_QUEUE_H */
