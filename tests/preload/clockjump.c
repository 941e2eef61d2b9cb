/* clockjump.so: a clock that somebody sets all the time.
 *	LD_PRELOAD=clockjump.so CLOCKJUMP=PROGRAM program...
 * In the program of this name, the time of day goes ten years back or forth whenever it is asked for.
 *	LD_PRELOAD=clockjump.so CLOCK_BACK=SECONDS program...
 * The clock is so many seconds behind; with -SECONDS ahead, but not the kernel's, so that
 * waits by the time of day take as long as if somebody set it back meanwhile. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const time_t ten_years_s = 10 * 365 * 86400L;

static time_t
jump(void)
{
	static unsigned calls;
	static int here = -1;
	const char *name = getenv("CLOCKJUMP"), *back = getenv("CLOCK_BACK");

	if (back != NULL)
		return -atol(back);
	if (here < 0)
		here = name != NULL && strcmp(name, program_invocation_short_name) == 0;
	calls++;
	return !here ? 0 : calls % 2 != 0 ? ten_years_s : -ten_years_s;
}

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, t);

	if (rc == 0 && clock == CLOCK_REALTIME)
		t->tv_sec += jump();
	return rc;
}

time_t
time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out != NULL)
		*out = t.tv_sec;
	return t.tv_sec;
}
