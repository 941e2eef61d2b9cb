/* runs.h: runs cases of the simulator, and prints their results for people or programs.
 */
#ifndef TESTS_SIM_RUNS_H
#define TESTS_SIM_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/world.h"

/* Runs the case with one seed, prints its line, and says whether it kept its limits.
 * `changes` has the --set options that change the case: they are printed in the command
 * that repeats a failed run. */
bool runs_case(
    const struct scenario *, uint64_t seed, bool traced, const char *changes);
/* Runs the case with each of the seeds first to first + seeds - 1, and returns the exit
 * status. */
int runs_seeds(const struct scenario *, uint64_t first, uint64_t seeds, bool traced,
    const char *changes);
/* Runs the case once and prints the result as JSON, without limits; returns the exit
 * status.  only: without the runs with which it would be compared. */
int runs_tell(struct scenario, uint64_t seed, bool only);
/* Makes the case small enough for instrumented code (most.h), and writes the changes as
 * --set options into changes[cap]. */
void runs_shrink(struct scenario *, char *changes, size_t cap);
/* Are two runs with the same seed equal, and one with another seed different? */
bool runs_twice(const struct scenario *);

#endif /* TESTS_SIM_RUNS_H */
