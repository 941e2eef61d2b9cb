/* cli_guard.c: a thread that, when a signal has come, interrupts the calls that others wait in,
 * and ends a program that does not end by itself.  cli_main() starts it, the signal handler wakes
 * it, and programs tell it what must be tidied before the program may end (cli_guard_set()). */
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
#include "common/base/test_times.h"
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
	/* Between two interruptions of those who do not know of the signal. */
	INTERRUPT_US = 200000,
	/* A program may lock its memory, as streamswitch does, and with it this stack in full
	 * length, which is usually 8 MiB. */
	STACK_BYTES = 256 << 10,
};

static struct {
	sem_t signals; /* one for each signal that has come */
	sem_t begun;   /* the thread waits for one */
	bool on;       /* they can be counted */
	const char *program;
	bool ends;            /* the program, when it does not end by itself */
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

/* Wait until that time, and interrupt meanwhile.  True: there is another signal. */
static bool
interrupt_until(uint64_t until_us)
{
	for (uint64_t now; (now = clock_us()) < until_us;) {
		uint64_t next = now + INTERRUPT_US;
		cancel_interrupt();
		if (timed_take(&guard.signals, next < until_us ? next : until_us))
			return true;
	}
	return false;
}

/* Interrupt until the time of grace is over, or until there is another signal; or as long as
 * the program runs. */
static void
interrupt(void)
{
	uint64_t now = clock_us();

	while (interrupt_until(guard.ends ? now + SAME_US : UINT64_MAX))
		;
	interrupt_until(now + test_time_us("grace", GRACE_US));
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
	sem_post(&guard.begun);
	wait_for_signal();
	interrupt();
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
cli_guard_prepare(const char *program, bool ends, int report_fd)
{
	guard.program = program;
	guard.ends = ends;
	guard.report_fd = report_fd;
	guard.on = sem_init(&guard.signals, 0, 0) == 0 && sem_init(&guard.begun, 0, 0) == 0;
}

void
cli_guard_start(void)
{
	pthread_t thread;
	pthread_attr_t small;
	sigset_t all, before;

	if (!guard.on || pthread_attr_init(&small) != 0)
		return;
	pthread_attr_setstacksize(&small, STACK_BYTES);
	/* The guard's thread inherits this mask, so other threads get the signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, &small, guard_main, NULL) == 0) {
		pthread_detach(thread);
		/* What a thread that begins has locked would stay locked in a child of fork(). */
		while (sem_wait(&guard.begun) != 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&small);
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
