/* timed.c: waits for conditions, semaphores, threads and times (timed.h); any thread
 * calls this. */
#include "common/base/timed.h"

#include <errno.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"

enum { LOOK_US = 50000 /* between two looks whether the work is to end */ };

static struct timespec
time_of(uint64_t us)
{
	return (struct timespec){ (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
}

bool
timed_wait(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t until_us)
{
	const struct timespec until = time_of(until_us);

	return pthread_cond_clockwait(c, lock, CLOCK_MONOTONIC, &until) == 0;
}

bool
timed_take(sem_t *s, uint64_t until_us)
{
	const struct timespec until = time_of(until_us);
	int rc;

	do
		rc = sem_clockwait(s, CLOCK_MONOTONIC, &until);
	while (rc != 0 && errno == EINTR);
	return rc == 0;
}

bool
timed_join(pthread_t thread, uint64_t until_us)
{
	const struct timespec until = time_of(until_us);

	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void
timed_sleep(uint64_t us)
{
	const struct timespec t = time_of(us);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

void
timed_pause(uint64_t until_us)
{
	for (uint64_t now; cancel_signal() == 0 && (now = clock_us()) < until_us;)
		timed_sleep(until_us - now < LOOK_US ? until_us - now : LOOK_US);
}
