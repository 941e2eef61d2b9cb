/* ordered.c: lets items be worked on in parallel, and gives them out in the order in which
 * they were submitted.  Stages of a pipeline call this: one thread submits, several begin
 * and finish items, and one takes them. */
#include "common/base/ordered.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct slot {
	void *item;
	bool done;
};

/* Item numbers are never used again; item n is in slot n % cap. taken <= begun <= submitted
 * <= taken + cap. */
struct ordered {
	pthread_mutex_t lock;
	pthread_cond_t room;  /* the producer waits here */
	pthread_cond_t work;  /* the workers wait here */
	pthread_cond_t ready; /* the consumer waits here */
	size_t cap, taken, begun, submitted;
	bool closed, cancelled;
	struct slot slots[];
};

struct ordered *
ordered_new(size_t cap)
{
	assert(cap > 0 && cap < 1u << 20);
	struct ordered *o = calloc(1, sizeof *o + cap * sizeof o->slots[0]);
	if (o == NULL)
		return NULL;
	o->cap = cap;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->room, NULL);
	pthread_cond_init(&o->work, NULL);
	pthread_cond_init(&o->ready, NULL);
	return o;
}

void
ordered_free(struct ordered *o)
{
	if (o == NULL)
		return;
	pthread_cond_destroy(&o->ready);
	pthread_cond_destroy(&o->work);
	pthread_cond_destroy(&o->room);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

enum queue_rc
ordered_submit(struct ordered *o, void *item)
{
	enum queue_rc rc = QUEUE_CANCEL;

	pthread_mutex_lock(&o->lock);
	while (o->submitted - o->taken == o->cap && !o->cancelled)
		pthread_cond_wait(&o->room, &o->lock);
	if (!o->cancelled) {
		assert(!o->closed);
		o->slots[o->submitted++ % o->cap] = (struct slot){ .item = item };
		pthread_cond_signal(&o->work);
		rc = QUEUE_OK;
	}
	pthread_mutex_unlock(&o->lock);
	return rc;
}

static enum queue_rc
begin(struct ordered *o, void **item, size_t *ticket, bool wait)
{
	enum queue_rc rc = QUEUE_END;

	pthread_mutex_lock(&o->lock);
	while (wait && o->begun == o->submitted && !o->closed && !o->cancelled)
		pthread_cond_wait(&o->work, &o->lock);
	if (o->cancelled) {
		rc = QUEUE_CANCEL;
	} else if (o->begun < o->submitted) {
		*ticket = o->begun++;
		*item = o->slots[*ticket % o->cap].item;
		rc = QUEUE_OK;
	}
	pthread_mutex_unlock(&o->lock);
	return rc;
}

enum queue_rc
ordered_begin(struct ordered *o, void **item, size_t *ticket)
{
	return begin(o, item, ticket, true);
}

enum queue_rc
ordered_try_begin(struct ordered *o, void **item, size_t *ticket)
{
	return begin(o, item, ticket, false);
}

void
ordered_done(struct ordered *o, size_t ticket)
{
	pthread_mutex_lock(&o->lock);
	assert(ticket >= o->taken && ticket < o->begun);
	o->slots[ticket % o->cap].done = true;
	if (ticket == o->taken)
		pthread_cond_signal(&o->ready);
	pthread_mutex_unlock(&o->lock);
}

enum queue_rc
ordered_take(struct ordered *o, void **item)
{
	enum queue_rc rc = QUEUE_END;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct slot *s = &o->slots[o->taken % o->cap];
		if (o->cancelled) {
			rc = QUEUE_CANCEL;
			break;
		}
		if (o->taken < o->begun && s->done) {
			*item = s->item;
			o->taken++;
			pthread_cond_signal(&o->room);
			rc = QUEUE_OK;
			break;
		}
		if (o->closed && o->taken == o->submitted)
			break;
		pthread_cond_wait(&o->ready, &o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return rc;
}

bool
ordered_ready(struct ordered *o)
{
	pthread_mutex_lock(&o->lock);
	bool ready = o->taken < o->begun && o->slots[o->taken % o->cap].done;
	pthread_mutex_unlock(&o->lock);
	return ready;
}

bool
ordered_drain(struct ordered *o, void **item)
{
	if (o->taken == o->submitted)
		return false;
	*item = o->slots[o->taken++ % o->cap].item;
	return true;
}

static void
ordered_stop(struct ordered *o, bool *flag)
{
	pthread_mutex_lock(&o->lock);
	*flag = true;
	pthread_cond_broadcast(&o->room);
	pthread_cond_broadcast(&o->work);
	pthread_cond_broadcast(&o->ready);
	pthread_mutex_unlock(&o->lock);
}

void
ordered_close(struct ordered *o)
{
	ordered_stop(o, &o->closed);
}

void
ordered_cancel(struct ordered *o)
{
	ordered_stop(o, &o->cancelled);
}
