/* parallel.c: calls one function for many items, in several threads at once.  Called by
 * refresh.c and check.c; the calling thread takes part. */
#include "emustore/store/parallel.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/base/cancel.h"

enum { THREADS_MAX = 32 }; /* more than these would wait for the same disk or link */

struct work {
	pthread_mutex_t lock;
	size_t next, n;
	int (*fn)(void *, size_t, struct err *);
	void *arg;
	bool failed;
	struct err *e;
};

static void *
run(void *arg)
{
	struct work *w = arg;
	struct err e;

	pthread_mutex_lock(&w->lock);
	while (!w->failed && w->next < w->n) {
		size_t i = w->next++;
		pthread_mutex_unlock(&w->lock);
		int rc = w->fn(w->arg, i, &e);
		pthread_mutex_lock(&w->lock);
		if (rc != 0 && !w->failed) {
			w->failed = true;
			*w->e = e;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int
parallel_do(size_t n, unsigned threads, int (*fn)(void *, size_t, struct err *),
    void *arg, struct err *e)
{
	struct work w = { .n = n, .fn = fn, .arg = arg, .e = e };
	pthread_t ids[THREADS_MAX];
	unsigned started = 0;

	pthread_mutex_init(&w.lock, NULL);
	while (started < THREADS_MAX && started + 1 < threads && started + 1 < n &&
	       thread_start(&ids[started], run, &w) == 0)
		started++;
	run(&w); /* this thread works, too, also when no other could be started */
	while (started > 0)
		pthread_join(ids[--started], NULL);
	pthread_mutex_destroy(&w.lock);
	return w.failed ? -1 : 0;
}
