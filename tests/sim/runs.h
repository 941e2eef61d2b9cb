/* runs.h: runs of the simulator's cases, told to people or to programs. */
#ifndef TESTS_SIM_RUNS_H
#define TESTS_SIM_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/world.h"

/* `changes` is how the case differs from the suite's, as --set options. */
bool runs_case(
    const struct scenario *, uint64_t seed, bool traced, const char *changes);
/* With as many seeds from the first one on: the exit status. */
int runs_seeds(const struct scenario *, uint64_t first, uint64_t seeds, bool traced,
    const char *changes);
/* For programs: one run as JSON, whatever it may cost; the exit status. */
int runs_tell(struct scenario, uint64_t seed);
/* To what instrumented code can do (most.h); changes[cap] as above. */
void runs_shrink(struct scenario *, char *changes, size_t cap);
/* The same seed twice must be the same run. */
bool runs_twice(const struct scenario *);

#endif /* TESTS_SIM_RUNS_H */
