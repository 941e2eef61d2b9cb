/* cpu.h: time that does not count who else is busy. */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include <stdint.h>
#include <time.h>

/* Microseconds of CPU that this thread has had. */
static inline double
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

#endif /* BENCH_CPU_H */
