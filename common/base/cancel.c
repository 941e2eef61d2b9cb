/* cancel.c: keeps for each thread whose work it does, and tells whether that work is still
 * wanted.  Any thread calls this. */
#include "common/base/cancel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/loop.h"

static _Thread_local struct cancel *owner;

struct start {
	struct cancel *owner;
	void *(*run)(void *);
	void *arg;
};

void
cancel_work_for(struct cancel *c)
{
	owner = c;
}

struct cancel *
cancel_owner(void)
{
	return owner;
}

void
cancel_wakes(struct loop *l)
{
	if (owner != NULL)
		owner->wakes = l;
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
	return owner != NULL ? signal_of(owner) : 0;
}

int
cancel_check(struct err *e)
{
	int sig = cancel_signal();

	if (sig == 0)
		return 0;
	return err_set(e, ERR_CANCELLED, "interrupted by SIG%s", sigabbrev_np(sig));
}

static void *
begin(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	owner = s.owner;
	return s.run(s.arg);
}

int
thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	struct start *s = malloc(sizeof *s);

	if (s == NULL)
		return ENOMEM;
	*s = (struct start){ owner, run, arg };
	int rc = pthread_create(thread, NULL, begin, s);
	if (rc != 0)
		free(s);
	return rc;
}
