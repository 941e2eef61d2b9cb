#include "common/base/cli_guard.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cli.h"
#include "common/base/err.h"

enum { GRACE_S = 3 };

static struct {
	sem_t signals;
	bool on;
	const char *program;
	pthread_mutex_t lock;
	void (*tidy)(void *arg);
	void *arg;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
wait_for_signal(void)
{
	while (sem_wait(&guard.signals) != 0 && errno == EINTR)
		;
}

/* Or until there is another one. */
static void
wait_for_grace(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GRACE_S;
	while (sem_timedwait(&guard.signals, &until) != 0 && errno == EINTR)
		;
}

static void *
guard_main(void *arg)
{
	char line[300];
	struct err e;

	(void)arg;
	wait_for_signal();
	wait_for_grace();
	pthread_mutex_lock(&guard.lock); /* kept: nobody else tidies up any more */
	if (guard.tidy != NULL)
		guard.tidy(guard.arg);
	cli_check_signal(&e);
	/* Not by stdio, whose locks others may have. */
	int n = snprintf(line, sizeof line,
	    "%s: %s, while something it waited for did not answer\n", guard.program,
	    e.text);
	if (write(STDERR_FILENO, line, (size_t)n) != n)
		_exit(1);
	_exit(1);
}

void
cli_guard_start(const char *program)
{
	pthread_t thread;
	sigset_t all, before;

	guard.program = program;
	if (sem_init(&guard.signals, 0, 0) != 0)
		return;
	/* Signals are for the others. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	guard.on = pthread_create(&thread, NULL, guard_main, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (guard.on)
		pthread_detach(thread);
}

void
cli_guard_wake(void)
{
	if (guard.on)
		sem_post(&guard.signals);
}

void
cli_guard_set(void (*tidy)(void *arg), void *arg)
{
	pthread_mutex_lock(&guard.lock);
	guard.tidy = tidy;
	guard.arg = arg;
	pthread_mutex_unlock(&guard.lock);
}
