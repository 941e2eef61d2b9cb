/* test_timed.c: waits end at their time, and not before, also when the clock is set
 * back an hour after they have begun.  To the program, the clock shows an hour more
 * than to the kernel, as it did then. */
#include "common/base/timed.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "tests/t.h"

enum {
	SHORT_US = 20000,
	LONG_US = 600000000, /* nothing here may take this long */
	HOUR_S = 3600,
	LIMIT_S = 60, /* SIGALRM fails a test that waits until the hour is over */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static bool told;

/* In the place of the C library's. */
int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, t);

	if (rc == 0 && clock == CLOCK_REALTIME)
		t->tv_sec += HOUR_S;
	return rc;
}

static bool
took(uint64_t began, uint64_t us)
{
	uint64_t now = clock_us();

	return now - began >= us && now - began < us + LIMIT_S * UINT64_C(1000000);
}

static void *
tell(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	told = true;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void
test_condition(void)
{
	uint64_t began = clock_us(), until = began + SHORT_US;
	pthread_t t;

	pthread_mutex_lock(&lock);
	while (timed_wait(&news, &lock, until))
		;
	T_CHECK(took(began, SHORT_US));
	T_CHECK(!timed_wait(&news, &lock, clock_us()));
	T_CHECK(!timed_wait(&news, &lock, 0));
	T_CHECK(pthread_create(&t, NULL, tell, NULL) == 0);
	bool in_time = true;
	for (until = clock_us() + LONG_US; !told && in_time;)
		in_time = timed_wait(&news, &lock, until);
	T_CHECK(told && in_time);
	pthread_mutex_unlock(&lock);
	T_CHECK(timed_join(t, clock_us() + LONG_US));
}

static void
test_semaphore(void)
{
	uint64_t began = clock_us();
	sem_t s;

	T_CHECK(sem_init(&s, 0, 1) == 0);
	T_CHECK(timed_take(&s, began + LONG_US));
	T_CHECK(!timed_take(&s, began + SHORT_US));
	T_CHECK(took(began, SHORT_US));
	sem_destroy(&s);
}

static void *
hold(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

static void
test_thread(void)
{
	static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
	uint64_t began = clock_us();
	pthread_t t;

	pthread_mutex_lock(&held);
	T_CHECK(pthread_create(&t, NULL, hold, &held) == 0);
	T_CHECK(!timed_join(t, began + SHORT_US));
	T_CHECK(took(began, SHORT_US));
	pthread_mutex_unlock(&held);
	T_CHECK(timed_join(t, clock_us() + LONG_US));
}

static void
test_sleep(void)
{
	struct cancel c = { 0 };
	uint64_t began = clock_us();

	timed_sleep(SHORT_US);
	T_CHECK(took(began, SHORT_US));
	began = clock_us();
	timed_pause(began + 4 * SHORT_US);
	T_CHECK(took(began, 4 * SHORT_US));
	timed_pause(0);
	cancel_work_for(&c);
	c.signal = SIGTERM;
	timed_pause(clock_us() + LONG_US);
	T_CHECK(clock_us() - began < LONG_US);
}

int
main(void)
{
	alarm(LIMIT_S);
	test_condition();
	test_semaphore();
	test_thread();
	test_sleep();
	return t_done();
}
