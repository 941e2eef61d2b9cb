/* Work that is to end: each thread looks at its owner, and so do the threads that it starts. */
#include "common/base/cancel.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/loop.h"
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

int
main(void)
{
	test_nobody();
	test_owner();
	test_two_owners();
	test_part();
	test_wakes();
	return t_done();
}
