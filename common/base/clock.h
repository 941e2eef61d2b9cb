/* clock.h: monotonic clocks for code that measures or waits.  Engines do not call it:
 * their callers tell them the time. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since some moment in the past; never goes back (CLOCK_MONOTONIC). */
uint64_t clock_us(void);
/* Microseconds of a clock that also runs while the machine sleeps (CLOCK_BOOTTIME): for times
 * that are compared with those of other machines. */
uint64_t clock_boot_us(void);

#endif /* COMMON_BASE_CLOCK_H */
