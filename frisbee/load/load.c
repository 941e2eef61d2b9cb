/* load.c: a load as a value: starts its thread, and keeps what it reports (load.h).  Any program
 * calls this, in any thread; load_main() and load_note() run in the load's own. */
#include "frisbee/load/load_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* The event of a load that has ended.  Nobody takes it, so that the descriptor stays readable. */
enum { HAS_ENDED };

void
load_note(struct load *l, const struct load_stats *r)
{
	pthread_mutex_lock(&l->lock);
	l->noted = *r;
	pthread_mutex_unlock(&l->lock);
}

static void *
load_main(void *arg)
{
	struct load *l = arg;

	l->rc = loop_run(l, &l->result, &l->err);
	load_note(l, &l->result);
	if (l->cfg.ended != NULL)
		l->cfg.ended(l->cfg.arg, l->rc, &l->err);
	mailbox_put(l->ended, HAS_ENDED, 0);
	return NULL;
}

static void
free_load(struct load *l)
{
	load_close(l);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Opens the load for an owner of its own, which is a part of the caller's owner.  The threads of
 * the feeder and the sink get the same owner. */
static int
begin(struct load *l, struct err *e)
{
	struct cancel *caller = cancel_owner();

	l->cancel.whole = caller;
	cancel_work_for(&l->cancel);
	int rc = load_open(l, e);
	if (rc == 0) {
		errno = thread_start(&l->thread, load_main, l);
		rc = errno != 0 ? err_os(e, "cannot start a thread") : 0;
	}
	cancel_work_for(caller);
	return rc;
}

int
load_start(struct load **out, const struct load_config *cfg, struct err *e)
{
	struct load *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, "the client");
	l->cfg = *cfg;
	pthread_mutex_init(&l->lock, NULL);
	if (begin(l, e) != 0) {
		free_load(l);
		return -1;
	}
	*out = l;
	return 0;
}

void
load_stats(struct load *l, struct load_stats *out)
{
	pthread_mutex_lock(&l->lock);
	*out = l->noted;
	pthread_mutex_unlock(&l->lock);
}

void
load_urgent(struct load *l, uint32_t chunk)
{
	const struct asked_chunk c = { .chunk = chunk, .whole = true };

	asks_chunk(l->asks, &c);
}

void
load_read(struct load *l, uint32_t chunk, const struct blockmap *need)
{
	const struct asked_chunk c = { .chunk = chunk, .need = *need };

	asks_chunk(l->asks, &c);
}

int
load_fd(const struct load *l)
{
	return mailbox_fd(l->ended);
}

void
load_stop(struct load *l)
{
	l->cancel.signal = SIGTERM;
	asks_to_look(l->asks);
}

int
load_end(struct load *l, struct load_stats *out, struct err *e)
{
	pthread_join(l->thread, NULL);
	int rc = l->rc;
	if (rc != 0)
		*e = l->err;
	if (out != NULL)
		*out = l->result;
	free_load(l);
	return rc;
}
