/* starve.h: a process that gets no descriptor any more, for tests. */
#ifndef TESTS_UNIT_STARVE_H
#define TESTS_UNIT_STARVE_H

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/t.h"

/* From now on this process gets no descriptor.  Returns the limit for feed(). */
static inline struct rlimit
starve(void)
{
	struct rlimit usual, now;
	int next = dup(0); /* the lowest number that is free */

	close(next);
	T_CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
	now = (struct rlimit){ (rlim_t)next, usual.rlim_max };
	T_CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
	T_CHECK(dup(0) == -1 && errno == EMFILE);
	return usual;
}

/* The process gets descriptors again. */
static inline void
feed(struct rlimit usual)
{
	T_CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

#endif /* TESTS_UNIT_STARVE_H */
