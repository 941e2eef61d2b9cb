/* paper.h: tables 3 and 4 of the Frisbee paper (USENIX 2003), run with clients that
 * speak the base protocol only, beside what was published. */
#ifndef TESTS_SIM_PAPER_H
#define TESTS_SIM_PAPER_H

#include <stdint.h>

/* The exit status: 1 when a run broke a rule.  Takes minutes. */
int paper_tables(uint64_t seed);

#endif /* TESTS_SIM_PAPER_H */
