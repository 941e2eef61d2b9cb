/* cancel.c: keeps for each thread whose work it does, and tells whether that work is still
 * wanted.  Any thread calls this. */
#include "common/base/cancel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/loop.h"

struct worker {
	pthread_t thread;
	struct cancel *owner; /* the thread itself changes it, with the lock */
	atomic_bool knows;    /* it was told that its work is to end */
	struct worker *next;
};
static _Thread_local struct worker me;

/* The threads that cancel_interrupt() looks at. */
static struct {
	pthread_mutex_t lock;
	struct worker *first;
} workers = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct start {
	struct cancel *owner;
	void *(*run)(void *);
	void *arg;
};

void
cancel_work_for(struct cancel *c)
{
	pthread_mutex_lock(&workers.lock);
	me.owner = c;
	me.knows = false;
	pthread_mutex_unlock(&workers.lock);
}

struct cancel *
cancel_owner(void)
{
	return me.owner;
}

void
cancel_wakes(struct loop *l)
{
	if (me.owner != NULL)
		me.owner->wakes = l;
}

void
cancel_end(struct cancel *c, int sig)
{
	struct loop *l = c->wakes;

	c->signal = sig;
	if (l != NULL)
		loop_wake(l);
}

/* The signal that ends the work of c, or 0.  A signal that ends the whole also ends all of
 * its parts. */
static int
signal_of(const struct cancel *c)
{
	int sig = c->whole != NULL ? signal_of(c->whole) : 0;

	return sig != 0 ? sig : c->signal;
}

int
cancel_signal(void)
{
	int sig = me.owner != NULL ? signal_of(me.owner) : 0;

	if (sig != 0)
		me.knows = true;
	return sig;
}

int
cancel_check(struct err *e)
{
	int sig = cancel_signal();

	if (sig == 0)
		return 0;
	return err_set(e, ERR_CANCELLED, "interrupted by SIG%s", sigabbrev_np(sig));
}

void
cancel_interrupt(void)
{
	pthread_mutex_lock(&workers.lock);
	for (struct worker *w = workers.first; w != NULL; w = w->next)
		if (!w->knows && w->owner != NULL && signal_of(w->owner) != 0)
			pthread_kill(w->thread, CANCEL_INTERRUPTS);
	pthread_mutex_unlock(&workers.lock);
}

void
cancel_enlist(void)
{
	me.thread = pthread_self();
	pthread_mutex_lock(&workers.lock);
	me.next = workers.first;
	workers.first = &me;
	pthread_mutex_unlock(&workers.lock);
}

static void
leave(void)
{
	struct worker **at = &workers.first;

	pthread_mutex_lock(&workers.lock);
	while (*at != &me)
		at = &(*at)->next;
	*at = me.next;
	pthread_mutex_unlock(&workers.lock);
}

static void *
begin(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	me.owner = s.owner;
	cancel_enlist();
	void *result = s.run(s.arg);
	leave();
	return result;
}

int
thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	struct start *s = malloc(sizeof *s);

	if (s == NULL)
		return ENOMEM;
	*s = (struct start){ me.owner, run, arg };
	int rc = pthread_create(thread, NULL, begin, s);
	if (rc != 0)
		free(s);
	return rc;
}
