/* paper.h: runs tables 3 and 4 of the Frisbee paper (USENIX 2003) with clients that
 * speak only the base protocol, and prints the results beside the published ones. */
#ifndef TESTS_SIM_PAPER_H
#define TESTS_SIM_PAPER_H

#include <stdint.h>

/* Prints both tables, and returns the exit status: 1 if a run failed.  This takes
 * minutes. */
int paper_tables(uint64_t seed);

#endif /* TESTS_SIM_PAPER_H */
