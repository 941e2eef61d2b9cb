/* queue.c: a bounded queue between threads.  Any number of threads may put and get; each
 * call takes the queue's lock. */
#include "common/base/queue.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_full;
	pthread_cond_t not_empty;
	size_t cap, head, count;
	bool closed, cancelled;
	void *items[];
};

struct queue *
queue_new(size_t cap)
{
	assert(cap > 0 && cap < 1u << 24);
	struct queue *q = calloc(1, sizeof *q + cap * sizeof q->items[0]);
	if (q == NULL)
		return NULL;
	q->cap = cap;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->not_full, NULL);
	pthread_cond_init(&q->not_empty, NULL);
	return q;
}

void
queue_free(struct queue *q)
{
	if (q == NULL)
		return;
	pthread_cond_destroy(&q->not_empty);
	pthread_cond_destroy(&q->not_full);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

static enum queue_rc
queue_insert(struct queue *q, void *item, bool first)
{
	enum queue_rc rc = QUEUE_CANCEL;

	pthread_mutex_lock(&q->lock);
	while (q->count == q->cap && !q->cancelled)
		pthread_cond_wait(&q->not_full, &q->lock);
	if (!q->cancelled) {
		assert(!q->closed);
		if (first)
			q->head = (q->head + q->cap - 1) % q->cap;
		q->items[(q->head + (first ? 0 : q->count)) % q->cap] = item;
		q->count++;
		pthread_cond_signal(&q->not_empty);
		rc = QUEUE_OK;
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

enum queue_rc
queue_put(struct queue *q, void *item)
{
	return queue_insert(q, item, false);
}

enum queue_rc
queue_put_first(struct queue *q, void *item)
{
	return queue_insert(q, item, true);
}

static enum queue_rc
queue_take(struct queue *q, void **item, bool wait)
{
	enum queue_rc rc = QUEUE_END;

	pthread_mutex_lock(&q->lock);
	while (wait && q->count == 0 && !q->closed && !q->cancelled)
		pthread_cond_wait(&q->not_empty, &q->lock);
	if (q->cancelled) {
		rc = QUEUE_CANCEL;
	} else if (q->count > 0) {
		*item = q->items[q->head];
		q->head = (q->head + 1) % q->cap;
		q->count--;
		pthread_cond_signal(&q->not_full);
		rc = QUEUE_OK;
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

enum queue_rc
queue_get(struct queue *q, void **item)
{
	return queue_take(q, item, true);
}

enum queue_rc
queue_try_get(struct queue *q, void **item)
{
	return queue_take(q, item, false);
}

static void
queue_stop(struct queue *q, bool *flag)
{
	pthread_mutex_lock(&q->lock);
	*flag = true;
	pthread_cond_broadcast(&q->not_empty);
	pthread_cond_broadcast(&q->not_full);
	pthread_mutex_unlock(&q->lock);
}

void
queue_close(struct queue *q)
{
	queue_stop(q, &q->closed);
}

void
queue_cancel(struct queue *q)
{
	queue_stop(q, &q->cancelled);
}
