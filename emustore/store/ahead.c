/* ahead.c: gets what was announced, before it is asked for.  Called by blocks.c and
 * store_disk.c, in any thread; it has threads of its own. */
#include "emustore/store/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/cancel.h"

enum state { UNUSED, WAITING, BEING_GOT };

struct wanted {
	enum state state;
	uint64_t number, turn;
};

struct ahead {
	void (*get)(void *, uint64_t);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stop;
	unsigned most, nthreads;
	uint64_t turn;
	struct wanted wanted[AHEAD_MOST];
	pthread_t threads[AHEAD_THREADS_MAX];
	/* What the threads work for: a part of the work of the caller of ahead_new(),
	 * which ahead_end() cancels alone, so that it need not wait for what nobody will
	 * ask for. */
	struct cancel work_owner;
};

/* The entry of this state that has had it for longest; NULL: there is none. */
static struct wanted *
first(struct ahead *a, enum state state)
{
	struct wanted *best = NULL;

	for (unsigned i = 0; i < a->most; i++) {
		struct wanted *w = &a->wanted[i];
		if (w->state == state && (best == NULL || w->turn < best->turn))
			best = w;
	}
	return best;
}

static bool
is_wanted(const struct ahead *a, uint64_t number)
{
	for (unsigned i = 0; i < a->most; i++)
		if (a->wanted[i].state != UNUSED && a->wanted[i].number == number)
			return true;
	return false;
}

void
ahead_want(struct ahead *a, uint64_t number)
{
	pthread_mutex_lock(&a->lock);
	struct wanted *w = a->nthreads > 0 ? first(a, UNUSED) : NULL;
	if (w != NULL && !is_wanted(a, number)) {
		*w = (struct wanted){ WAITING, number, ++a->turn };
		pthread_cond_signal(&a->work);
	}
	pthread_mutex_unlock(&a->lock);
}

static void *
run(void *arg)
{
	struct ahead *a = arg;
	struct wanted *w;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if ((w = first(a, WAITING)) == NULL) {
			pthread_cond_wait(&a->work, &a->lock);
			continue;
		}
		w->state = BEING_GOT;
		pthread_mutex_unlock(&a->lock);
		a->get(a->arg, w->number);
		pthread_mutex_lock(&a->lock);
		w->state = UNUSED;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct ahead *
ahead_new(unsigned threads, unsigned most, void (*get)(void *, uint64_t), void *arg)
{
	struct ahead *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->get = get;
	a->arg = arg;
	a->most = most < AHEAD_MOST ? most : AHEAD_MOST;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	struct cancel *mine = cancel_owner();
	a->work_owner.whole = mine;
	cancel_work_for(&a->work_owner);
	while (a->nthreads < threads && a->nthreads < AHEAD_THREADS_MAX &&
	       thread_start(&a->threads[a->nthreads], run, a) == 0)
		a->nthreads++;
	cancel_work_for(mine);
	return a;
}

void
ahead_end(struct ahead *a)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	a->work_owner.signal = SIGTERM;
	pthread_cond_broadcast(&a->work);
	pthread_mutex_unlock(&a->lock);
	while (a->nthreads > 0)
		pthread_join(a->threads[--a->nthreads], NULL);
}

void
ahead_free(struct ahead *a)
{
	if (a == NULL)
		return;
	ahead_end(a);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
