/* answer.h: what came of a run, as a JSON document: for the tables of make paper. */
#ifndef TESTS_SIM_ANSWER_H
#define TESTS_SIM_ANSWER_H

#include "tests/sim/share.h"
#include "tests/sim/world.h"

/* Prints the outcome of a run.  alone_us: the time of one client alone with the usual disk. */
void answer_case(
    const struct scenario *, uint64_t seed, const struct outcome *, uint64_t alone_us);
void answer_share(const struct share *, uint64_t seed, const struct share_outcome *);

#endif /* TESTS_SIM_ANSWER_H */
