/* shares.c: runs of servers that share a link, and their limits (shares.h).  sim.c calls it, in
 * the program's only thread. */
#include "tests/sim/shares.h"

#include <stdio.h>

#include "tests/sim/answer.h"
#include "tests/sim/most.h"

const struct share shares_usual = { .link_bits = 100000000,
	.queue_bytes = 131072,
	.latency_us = 200,
	.rate_bits = 100000000,
	.start_us = 5000000,
	.measure_us = 30000000,
	.min_jain = 0.9,
	.min_use = 0.9,
	.max_loss = 0.02 };

/* With losses by chance, what the link drops is noticed later. */
static const double SHARE_LOSS = 0.01, SHARE_LOSS_MAX = 0.03;

static bool
run_share(const struct share *sh, uint64_t seed)
{
	struct share_outcome out;

	share_run(sh, seed, &out);
	printf("%u servers, seed %llu, %.1f %% lost by chance: fairness %.3f, link "
	       "used %.1f %%, lost %.2f %%\n",
	    sh->servers, (unsigned long long)seed, 100 * sh->loss, out.jain,
	    100 * out.use, 100 * out.loss);
	if (out.jain >= sh->min_jain && out.use >= sh->min_use &&
	    out.loss <= sh->max_loss)
		return true;
	printf("FAILED: at least %.2f, at least %.0f %%, at most %.0f %%\n"
	       "  replay: sim --seed %llu --share %u --set loss=%g\n",
	    sh->min_jain, 100 * sh->min_use, 100 * sh->max_loss,
	    (unsigned long long)seed, sh->servers, sh->loss);
	return false;
}

unsigned
shares_suite(uint64_t first, uint64_t seeds, unsigned *run)
{
	unsigned failed = 0;

	for (uint64_t seed = first; seed < first + seeds; seed++) {
		for (uint32_t n = 2; n <= MOST_SERVERS; n *= 2) {
			struct share sh = shares_usual;
			sh.servers = n;
			failed += !run_share(&sh, seed);
			sh.loss = SHARE_LOSS;
			sh.max_loss = SHARE_LOSS_MAX;
			failed += !run_share(&sh, seed);
			*run += 2;
		}
	}
	return failed;
}

int
shares_seeds(const struct share *sh, uint64_t first, uint64_t seeds)
{
	unsigned failed = 0;

	for (uint64_t s = first; s < first + seeds; s++)
		failed += !run_share(sh, s);
	printf("%llu runs, %u failed\n", (unsigned long long)seeds, failed);
	return failed != 0;
}

int
shares_tell(const struct share *sh, uint64_t seed)
{
	struct share_outcome out;

	share_run(sh, seed, &out);
	answer_share(sh, seed, &out);
	return 0;
}
