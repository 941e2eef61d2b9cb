/* clock.h: a monotonic clock for those who measure or wait.  Engines do not call it: they
 * are told the time. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since some moment in the past; never goes back (CLOCK_MONOTONIC). */
uint64_t clock_us(void);

#endif /* COMMON_BASE_CLOCK_H */
