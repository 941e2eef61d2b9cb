/* answer.h: what came of a run, as a JSON document: for the tables of make paper. */
#ifndef TESTS_SIM_ANSWER_H
#define TESTS_SIM_ANSWER_H

#include "tests/sim/share.h"
#include "tests/sim/world.h"

/* What is told of a case. */
struct answer {
	const struct outcome *out;
	uint64_t alone_us; /* the time of one client alone with the usual disk */
	/* The run that the case is compared with, and one machine that starts alone; NULL: none. */
	const struct outcome *beside, *boot_alone;
};

/* Prints what came of a case. */
void answer_case(const struct scenario *, uint64_t seed, const struct answer *);
void answer_share(const struct share *, uint64_t seed, const struct share_outcome *);

#endif /* TESTS_SIM_ANSWER_H */
