/* tables.c: fetches the headers and fragment tables of an image's chunks, one chunk after the
 * other, in a few threads.  export.c starts and ends them.  Between two chunks a thread waits for
 * its turn: whoever reads data comes first.  An error is not told: a reader who needs the chunk
 * will find it. */
#include "stream/export/tables.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"

/* A chunk takes one or two answers of a server.  Four threads hide the time until an answer
 * comes, and delay a reader that comes meanwhile by few blocks. */
enum { THREADS = 4 };

struct tables {
	struct tables_config cfg;
	struct cancel ending; /* a part of what the starting thread works for */
	pthread_t threads[THREADS];
	unsigned n;
	_Atomic uint64_t next, known;
	atomic_uint running;
	atomic_bool failed; /* the source gives nothing any more, or there is no room */
	uint64_t started_us;
};

static bool
is_over(struct tables *t, const struct err *e)
{
	return e->kind != ERR_FORMAT || cancel_signal() != 0 || atomic_load(&t->failed);
}

static void
fetch_all(struct tables *t)
{
	uint64_t chunks = random_chunks(t->cfg.random), i;
	struct err e;

	while (!atomic_load(&t->failed) && (i = atomic_fetch_add(&t->next, 1)) < chunks) {
		t->cfg.wait_for_turn(t->cfg.arg);
		if (random_stats(t->cfg.random).kept >= t->cfg.most_bytes)
			atomic_store(&t->failed, true);
		else if (random_learn(t->cfg.random, i, &e) == 0)
			atomic_fetch_add(&t->known, 1);
		else if (is_over(t, &e))
			atomic_store(&t->failed, true);
	}
}

static void *
run(void *arg)
{
	struct tables *t = arg;

	fetch_all(t);
	if (atomic_fetch_sub(&t->running, 1) == 1 && cancel_signal() == 0)
		t->cfg.done(t->cfg.arg, atomic_load(&t->known), clock_us() - t->started_us);
	return NULL;
}

int
tables_start(struct tables **out, const struct tables_config *cfg, struct err *e)
{
	struct tables *t = calloc(1, sizeof *t);
	struct cancel *owner = cancel_owner();

	if (t == NULL)
		return err_nomem(e, "fragment tables");
	t->cfg = *cfg;
	t->ending.whole = owner;
	t->started_us = clock_us();
	atomic_store(&t->running, THREADS);
	cancel_work_for(&t->ending);
	while (t->n < THREADS && thread_start(&t->threads[t->n], run, t) == 0)
		t->n++;
	cancel_work_for(owner);
	if (t->n < THREADS) {
		tables_end(t);
		return err_nomem(e, "threads for fragment tables");
	}
	*out = t;
	return 0;
}

void
tables_end(struct tables *t)
{
	if (t == NULL)
		return;
	t->ending.signal = SIGTERM;
	for (unsigned i = 0; i < t->n; i++)
		pthread_join(t->threads[i], NULL);
	free(t);
}
