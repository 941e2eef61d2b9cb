/* clock.c: the system's clocks that are never set; any thread calls this. */
#include "common/base/clock.h"

#include <time.h>

static uint64_t
microseconds_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
clock_us(void)
{
	return microseconds_of(CLOCK_MONOTONIC);
}

uint64_t
clock_boot_us(void)
{
	return microseconds_of(CLOCK_BOOTTIME);
}
