/* clock.c: the system's monotonic clock; any thread calls this. */
#include "common/base/clock.h"

#include <time.h>

uint64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}
