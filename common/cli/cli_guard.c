/* cli_guard.c: a thread that ends the program when a signal has come and the program does
 * not end by itself.  cli_main() starts it, the signal handler wakes it, and programs tell
 * it what must be tidied before the program may end (cli_guard_set()). */
#include "common/cli/cli_guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "common/cli/cli.h"
#include "common/cli/failure.h"

enum {
	/* The work that is under way ends by itself within this time, unless a device hangs.  A
	 * person at a terminal does not want to wait longer. */
	GRACE_US = 3000000,
	/* timeout(1) and terminals send a signal to the process and to its group, so it
	 * arrives twice.  A signal that comes within this time of the first one is taken for
	 * the same signal. */
	SAME_US = 500000,
};

static struct {
	sem_t signals; /* one for each signal that has come */
	bool on;       /* the thread runs */
	const char *program;
	int report_fd;        /* -1: no JSON is wanted */
	pthread_mutex_t lock; /* of tidy and arg */
	const char *(*tidy)(void *arg);
	void *arg;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
wait_for_signal(void)
{
	while (sem_wait(&guard.signals) != 0 && errno == EINTR)
		;
}

/* Wait until the time of grace is over, or until there is another signal. */
static void
wait_for_grace(void)
{
	uint64_t now = clock_us();

	while (timed_take(&guard.signals, now + SAME_US))
		;
	timed_take(&guard.signals, now + GRACE_US);
}

static void
put(int fd, const char *text, int n)
{
	if (write(fd, text, (size_t)n) != n)
		_exit(1);
}

/* poll() says that a pipe is writable only if PIPE_BUF bytes fit (pipe(7)); the report is
 * shorter. */
static bool
has_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

static void *
guard_main(void *arg)
{
	char text[300], line[600];
	const char *left = NULL;
	struct err e;
	int n;

	(void)arg;
	/* This thread was started before cli_catch_signals() set the owner of the work. */
	cancel_work_for(cli_cancel());
	wait_for_signal();
	wait_for_grace();
	pthread_mutex_lock(&guard.lock); /* never unlocked: tidy() cannot be changed any more */
	if (guard.tidy != NULL)
		left = guard.tidy(guard.arg);
	cancel_check(&e);
	snprintf(text, sizeof text,
	    "%.80s, while an operation that it waited for did not return%s%s", e.text,
	    left != NULL ? "; " : "", left != NULL ? left : "");
	/* write(2) and not stdio, whose locks other threads may hold. */
	if (guard.report_fd != STDERR_FILENO) {
		n = snprintf(line, sizeof line, "%s%s: %s\n", say_line_clearing(),
		    guard.program, text);
		put(STDERR_FILENO, line, n);
	}
	n = failure_text(line, sizeof line, text, e.kind, 1);
	if (guard.report_fd >= 0 && has_room(guard.report_fd))
		put(guard.report_fd, line, n);
	_exit(1);
}

void
cli_guard_start(const char *program, int report_fd)
{
	pthread_t thread;
	sigset_t all, before;

	guard.program = program;
	guard.report_fd = report_fd;
	if (sem_init(&guard.signals, 0, 0) != 0)
		return;
	/* The guard's thread inherits this mask, so other threads get the signals. */
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
cli_guard_set(const char *(*tidy)(void *arg), void *arg)
{
	pthread_mutex_lock(&guard.lock);
	guard.tidy = tidy;
	guard.arg = arg;
	pthread_mutex_unlock(&guard.lock);
}
