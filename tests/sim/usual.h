/* usual.h: runs without what is bad, with which the cases of cases_bad.c are compared.
 *
 * Cases that differ only in what their bad clients and strangers do are compared with the same run,
 * since in that run these take no part.  So the results of the last runs are kept, and a run
 * that was made for another case of the same seed is not made again. */
#ifndef TESTS_SIM_USUAL_H
#define TESTS_SIM_USUAL_H

#include <stdint.h>

#include "tests/sim/world.h"

/* Runs the scenario with this seed and with bad_absent, or finds the result of such a run.  One
 * of 20 results that are found is compared with a run of its own; if they are not equal, the run
 * has failed and says so. */
void usual_run(const struct scenario *, uint64_t seed, struct outcome *);

#endif /* TESTS_SIM_USUAL_H */
