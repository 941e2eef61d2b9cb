/* test_times.h: times of ours that tests wait for are shortened by the environment variable
 * FRISBEE_TEST_TIMES="linger=0.2,parent=0.5": seconds by name, from a millisecond to an hour.
 * test_times.c has the names.  A time that a slow machine needs is not among them.
 *
 * Engines do not call this: they are told their times by their configuration (`make house`). */
#ifndef COMMON_BASE_TEST_TIMES_H
#define COMMON_BASE_TEST_TIMES_H

#include <stdint.h>

#include "common/base/err.h"

/* ERR_USAGE when the variable is set and has an unknown name, a name twice, or a number that
 * is none or out of range.  cli_main() calls it, so such a program does nothing. */
int test_times_check(struct err *);
/* The time of this name, in microseconds; usual_us when the variable does not have it, or is
 * wrong.  The name is one of test_times.c. */
uint64_t test_time_us(const char *name, uint64_t usual_us);

#endif /* COMMON_BASE_TEST_TIMES_H */
