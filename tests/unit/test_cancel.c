/* Work that is to end: each thread looks at its owner, and so do the threads that it starts. */
#include "common/base/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/loop.h"
#include "common/base/timed.h"
#include "tests/t.h"

static void *
look(void *signal)
{
	*(int *)signal = cancel_signal();
	return NULL;
}

/* What a thread that is started now sees. */
static int
seen_by_thread(void)
{
	pthread_t t;
	int signal = -1;

	T_CHECK(thread_start(&t, look, &signal) == 0);
	pthread_join(t, NULL);
	return signal;
}

static void
test_nobody(void)
{
	struct err e;

	cancel_work_for(NULL);
	T_CHECK(cancel_signal() == 0);
	T_CHECK(cancel_check(&e) == 0);
	T_CHECK(seen_by_thread() == 0);
}

static void
test_owner(void)
{
	struct cancel c = { 0 };
	struct err e;

	cancel_work_for(&c);
	T_CHECK(cancel_check(&e) == 0);
	T_CHECK(seen_by_thread() == 0);
	c.signal = SIGTERM;
	T_CHECK(cancel_signal() == SIGTERM);
	T_CHECK(seen_by_thread() == SIGTERM);
	T_CHECK(cancel_check(&e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(strstr(e.text, "SIGTERM") != NULL);
	cancel_work_for(NULL);
}

/* Of two pieces of work in one process, one ends. */
static void
test_two_owners(void)
{
	struct cancel ends = { .signal = SIGINT }, goes_on = { 0 };

	cancel_work_for(&ends);
	T_CHECK(seen_by_thread() == SIGINT);
	cancel_work_for(&goes_on);
	T_CHECK(cancel_signal() == 0);
	T_CHECK(seen_by_thread() == 0);
	cancel_work_for(NULL);
}

/* A part ends alone, and with the whole, which says why. */
static void
test_part(void)
{
	struct cancel whole = { 0 }, part = { .whole = &whole }, other = { .whole = &whole };

	cancel_work_for(&whole);
	T_CHECK(cancel_owner() == &whole);
	part.signal = SIGTERM;
	T_CHECK(cancel_signal() == 0);
	cancel_work_for(&other);
	T_CHECK(seen_by_thread() == 0);
	cancel_work_for(&part);
	T_CHECK(cancel_owner() == &part);
	T_CHECK(seen_by_thread() == SIGTERM);
	whole.signal = SIGINT;
	T_CHECK(seen_by_thread() == SIGINT);
	cancel_work_for(&other);
	T_CHECK(seen_by_thread() == SIGINT);
	cancel_work_for(NULL);
	T_CHECK(cancel_owner() == NULL);
}

/* Whoever waits in a loop is woken, also when the work has ended just before it waits. */
static void
test_wakes(void)
{
	uint64_t before = clock_us();
	struct cancel c = { 0 };
	struct loop l;
	struct err e;

	T_CHECK(loop_open(&l, &e) == 0);
	cancel_wakes(&l); /* for nobody */
	cancel_work_for(&c);
	cancel_wakes(&l);
	cancel_end(&c, SIGTERM);
	loop_once(&l, 20000);
	T_CHECK(cancel_signal() == SIGTERM);
	T_CHECK(clock_us() - before < 10000000);
	loop_once(&l, 1); /* it is woken once */
	cancel_wakes(NULL);
	cancel_end(&c, SIGINT);
	loop_close(&l);
	T_CHECK(cancel_signal() == SIGINT);
	cancel_work_for(NULL);
}

static atomic_int interruptions; /* of all threads */

static void
on_interrupt(int sig)
{
	(void)sig;
	interruptions++;
}

/* A thread that reads from a pipe. */
struct reading {
	struct cancel *owner;
	bool asks; /* before it reads, whether it is to end */
	int pipe[2];
	int failed; /* why it could not read; 0: it could */
	pthread_t thread;
	_Atomic bool begins;
};

static void *
read_one(void *arg)
{
	struct reading *r = arg;
	char byte;

	cancel_work_for(r->owner);
	if (r->asks)
		(void)cancel_signal();
	r->begins = true;
	r->failed = read(r->pipe[0], &byte, 1) == 1 ? 0 : errno;
	cancel_work_for(NULL);
	return NULL;
}

static void
begin_reading(struct reading *r)
{
	T_CHECK(pipe(r->pipe) == 0 && thread_start(&r->thread, read_one, r) == 0);
	while (!r->begins)
		timed_sleep(1000);
}

/* A byte comes if the thread does not end before. */
static void
end_reading(struct reading *r)
{
	T_CHECK(write(r->pipe[1], "", 1) == 1);
	pthread_join(r->thread, NULL);
	close(r->pipe[0]);
	close(r->pipe[1]);
}

/* Who waits and does not know that it is to end is interrupted, also when that was said before it
 * waited.  Nobody else is: neither who knows, nor whose work goes on, nor who works for nobody. */
static void
test_interrupt(void)
{
	const struct sigaction act = { .sa_handler = on_interrupt };
	struct cancel whole = { 0 }, part = { .whole = &whole }, other = { 0 };
	struct reading ends = { .owner = &part }, knows = { .owner = &part, .asks = true },
		       goes_on = { .owner = &other }, nobodys = { .owner = NULL };

	T_CHECK(sigaction(CANCEL_INTERRUPTS, &act, NULL) == 0);
	begin_reading(&goes_on);
	begin_reading(&nobodys);
	cancel_interrupt(); /* nothing is to end yet */
	whole.signal = SIGINT;
	begin_reading(&knows);
	for (int i = 0; i < 10; i++)
		cancel_interrupt();
	begin_reading(&ends);
	while (!timed_join(ends.thread, clock_us() + 20000))
		cancel_interrupt();
	T_CHECK(ends.failed == EINTR && interruptions > 0);
	int before = interruptions;
	for (int i = 0; i < 10; i++)
		cancel_interrupt();
	end_reading(&knows);
	end_reading(&goes_on);
	end_reading(&nobodys);
	T_CHECK(knows.failed == 0 && goes_on.failed == 0 && nobodys.failed == 0);
	T_CHECK(interruptions == before);
}

/* The thread that a program begins with is among them when it has said so. */
static void
test_enlist(void)
{
	struct cancel c = { .signal = SIGINT };
	int before = interruptions;

	cancel_work_for(&c);
	cancel_interrupt();
	T_CHECK(interruptions == before);
	cancel_enlist();
	cancel_interrupt();
	T_CHECK(interruptions == before + 1);
	T_CHECK(cancel_signal() == SIGINT);
	cancel_interrupt();
	T_CHECK(interruptions == before + 1);
	cancel_work_for(NULL);
}

int
main(void)
{
	test_nobody();
	test_owner();
	test_two_owners();
	test_part();
	test_wakes();
	test_interrupt();
	test_enlist();
	return t_done();
}
