/* pipeline.c: starts the threads of one piece of work, lets them fail together, and joins
 * them.  The thread that owns the work starts and joins them; any of the threads may call
 * pipeline_fail(). */
#include "common/base/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/ordered.h"
#include "common/base/pool.h"
#include "common/base/queue.h"

enum { ATTACHED_MAX = 16 };

struct stage {
	struct pipeline *owner;
	struct stage *next;
	pthread_t thread;
	int (*run)(void *, struct err *);
	void *arg;
};

struct attached {
	void (*cancel)(void *);
	void *obj;
};

struct pipeline {
	pthread_mutex_t lock;
	bool failed;
	struct err first;
	struct stage *stages;
	size_t nattached;
	struct attached attached[ATTACHED_MAX];
};

size_t
pipeline_jobs(uint64_t asked)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return asked != 0 ? (size_t)asked : cpus > 0 ? (size_t)cpus : 1;
}

struct pipeline *
pipeline_new(void)
{
	struct pipeline *p = calloc(1, sizeof *p);

	if (p != NULL)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void
pipeline_free(struct pipeline *p)
{
	if (p == NULL)
		return;
	assert(p->stages == NULL);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void
pipeline_attach(struct pipeline *p, void (*cancel)(void *), void *obj)
{
	assert(p->nattached < ATTACHED_MAX);
	p->attached[p->nattached++] = (struct attached){ cancel, obj };
}

static void
cancel_queue(void *q)
{
	queue_cancel(q);
}

static void
cancel_ordered(void *o)
{
	ordered_cancel(o);
}

static void
cancel_pool(void *pool)
{
	pool_cancel(pool);
}

void
pipeline_attach_queue(struct pipeline *p, struct queue *q)
{
	pipeline_attach(p, cancel_queue, q);
}

void
pipeline_attach_ordered(struct pipeline *p, struct ordered *o)
{
	pipeline_attach(p, cancel_ordered, o);
}

void
pipeline_attach_pool(struct pipeline *p, struct pool *pool)
{
	pipeline_attach(p, cancel_pool, pool);
}

void
pipeline_fail(struct pipeline *p, const struct err *e)
{
	pthread_mutex_lock(&p->lock);
	bool first = !p->failed;
	if (first) {
		p->failed = true;
		p->first = *e;
	}
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; first && i < p->nattached; i++)
		p->attached[i].cancel(p->attached[i].obj);
}

bool
pipeline_failed(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	bool failed = p->failed;
	pthread_mutex_unlock(&p->lock);
	return failed;
}

static void *
stage_main(void *arg)
{
	struct stage *s = arg;
	struct err e = { 0 };

	if (s->run(s->arg, &e) != 0)
		pipeline_fail(s->owner, &e);
	return NULL;
}

int
pipeline_start(struct pipeline *p, int (*run)(void *, struct err *), void *arg)
{
	struct err e;
	struct stage *s = calloc(1, sizeof *s);

	if (s == NULL) {
		err_nomem(&e, "a thread");
		goto fail;
	}
	*s = (struct stage){ .owner = p, .next = p->stages, .run = run, .arg = arg };
	errno = thread_start(&s->thread, stage_main, s);
	if (errno != 0) {
		err_os(&e, "cannot start a thread");
		goto fail;
	}
	p->stages = s;
	return 0;
fail:
	free(s);
	pipeline_fail(p, &e);
	return -1;
}

int
pipeline_join(struct pipeline *p, struct err *e)
{
	while (p->stages != NULL) {
		struct stage *s = p->stages;
		pthread_join(s->thread, NULL);
		p->stages = s->next;
		free(s);
	}
	if (!p->failed)
		return 0;
	*e = p->first;
	return -1;
}
