/* pool.c: lends a fixed number of buffers to threads.  The stages of a pipeline call this,
 * each in its own thread. */
#include "common/base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PAGE_BYTES = 4096 };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t home;
	size_t count, nhome;
	bool cancelled;
	void *bufs[]; /* the first nhome of them are not in use */
};

struct pool *
pool_new(size_t count, size_t size_bytes)
{
	struct pool *p = calloc(1, sizeof *p + count * sizeof p->bufs[0]);

	if (p == NULL)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->home, NULL);
	size_t rounded = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	for (; p->count < count; p->count++, p->nhome++) {
		p->bufs[p->count] = aligned_alloc(PAGE_BYTES, rounded);
		if (p->bufs[p->count] == NULL) {
			pool_free(p);
			return NULL;
		}
	}
	return p;
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	assert(p->nhome == p->count);
	for (size_t i = 0; i < p->count; i++)
		free(p->bufs[i]);
	pthread_cond_destroy(&p->home);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

enum queue_rc
pool_get(struct pool *p, void **buf)
{
	enum queue_rc rc = QUEUE_CANCEL;

	pthread_mutex_lock(&p->lock);
	while (p->nhome == 0 && !p->cancelled)
		pthread_cond_wait(&p->home, &p->lock);
	if (!p->cancelled) {
		*buf = p->bufs[--p->nhome];
		rc = QUEUE_OK;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void
pool_put(struct pool *p, void *buf)
{
	pthread_mutex_lock(&p->lock);
	assert(p->nhome < p->count);
	p->bufs[p->nhome++] = buf;
	pthread_cond_signal(&p->home);
	pthread_mutex_unlock(&p->lock);
}

void
pool_cancel(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->cancelled = true;
	pthread_cond_broadcast(&p->home);
	pthread_mutex_unlock(&p->lock);
}
