/* shares.h: runs of servers that share a link, told to people or to programs. */
#ifndef TESTS_SIM_SHARES_H
#define TESTS_SIM_SHARES_H

#include <stdint.h>

#include "tests/sim/share.h"

/* The usual link and rates; how many servers is to be said. */
extern const struct share shares_usual;

/* 2, 4 ... servers, without and with losses by chance, with each seed.  Adds to *run;
 * how many failed. */
unsigned shares_suite(uint64_t first, uint64_t seeds, unsigned *run);
/* The exit status of these, and of one run as JSON. */
int shares_seeds(const struct share *, uint64_t first, uint64_t seeds);
int shares_tell(const struct share *, uint64_t seed);

#endif /* TESTS_SIM_SHARES_H */
