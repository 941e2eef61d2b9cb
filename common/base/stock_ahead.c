/* stock_ahead.c: gets things into a stock before they are asked for (stock_ahead.h).  Called by
 * emustore/store/blocks.c and emustore/store/store_disk.c, in any thread; it has threads of its
 * own. */
#include "common/base/stock_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/cancel.h"

enum state { UNUSED, WAITING, BEING_GOT };

struct wanted {
	enum state state;
	uint64_t key, turn;
};

struct stock_ahead {
	struct stock *stock;
	stock_ahead_get *get;
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stop;
	unsigned most, nthreads;
	uint64_t turn;
	struct wanted wanted[STOCK_AHEAD_MOST];
	pthread_t threads[STOCK_AHEAD_THREADS_MAX];
	/* What the threads work for: a part of the work of the caller of stock_ahead_new(),
	 * which stock_ahead_end() cancels alone, so that it need not wait for what nobody will
	 * ask for. */
	struct cancel work_owner;
};

/* The entry of this state that has had it for longest; NULL: there is none. */
static struct wanted *
first(struct stock_ahead *a, enum state state)
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
is_wanted(const struct stock_ahead *a, uint64_t key)
{
	for (unsigned i = 0; i < a->most; i++)
		if (a->wanted[i].state != UNUSED && a->wanted[i].key == key)
			return true;
	return false;
}

void
stock_ahead_want(struct stock_ahead *a, uint64_t key)
{
	if (stock_has(a->stock, key))
		return;
	pthread_mutex_lock(&a->lock);
	struct wanted *w = a->nthreads > 0 ? first(a, UNUSED) : NULL;
	if (w != NULL && !is_wanted(a, key)) {
		*w = (struct wanted){ WAITING, key, ++a->turn };
		pthread_cond_signal(&a->work);
	}
	pthread_mutex_unlock(&a->lock);
}

/* Whoever asks for a thing that could not be made learns why. */
static void
get_one(struct stock_ahead *a, uint64_t key)
{
	struct err ignored;
	struct stock_item *i = a->get(a->arg, key, &ignored);

	if (i != NULL)
		stock_put_back(a->stock, i);
}

static void *
run(void *arg)
{
	struct stock_ahead *a = arg;
	struct wanted *w;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if ((w = first(a, WAITING)) == NULL) {
			pthread_cond_wait(&a->work, &a->lock);
			continue;
		}
		w->state = BEING_GOT;
		pthread_mutex_unlock(&a->lock);
		get_one(a, w->key);
		pthread_mutex_lock(&a->lock);
		w->state = UNUSED;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct stock_ahead *
stock_ahead_new(struct stock *stock, unsigned threads, unsigned most, stock_ahead_get *get,
    void *arg)
{
	struct stock_ahead *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->stock = stock;
	a->get = get;
	a->arg = arg;
	a->most = most < STOCK_AHEAD_MOST ? most : STOCK_AHEAD_MOST;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	struct cancel *mine = cancel_owner();
	a->work_owner.whole = mine;
	cancel_work_for(&a->work_owner);
	while (a->nthreads < threads && a->nthreads < STOCK_AHEAD_THREADS_MAX &&
	       thread_start(&a->threads[a->nthreads], run, a) == 0)
		a->nthreads++;
	cancel_work_for(mine);
	return a;
}

void
stock_ahead_end(struct stock_ahead *a)
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
stock_ahead_free(struct stock_ahead *a)
{
	if (a == NULL)
		return;
	stock_ahead_end(a);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
