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
/* Packets of a server are not sent at even distances: a half second has one more or less. */
static const double KEPT_WITHIN = 0.01;
/* Seeds of run_end() for one of the others, and when a server ends. */
enum { ENDS = 3, END_FIRST_US = 2000000, END_WITHIN_US = 4000000 };

/* Four servers, or as many as there is time for, send at a fifth of the link each, and one of them
 * ends at a moment that the seed draws: to the others this is nothing. */
static bool
run_end(uint64_t seed)
{
	struct share sh = shares_usual;
	struct share_outcome out;
	uint64_t rng = seed;

	sh.servers = MOST_SERVERS < 4 ? MOST_SERVERS : 4;
	sh.rate_bits = sh.link_bits / 5;
	sh.measure_us = 8000000;
	sh.end_us = END_FIRST_US + random_next(&rng) % END_WITHIN_US;
	share_run(&sh, seed, &out);
	bool ok = out.least_kept >= 1 - KEPT_WITHIN && out.most_kept <= 1 + KEPT_WITHIN;
	printf("%u servers, seed %llu, one ends after %.3f s: in each half second the others send "
	       "%.3f to %.3f of what they sent before\n",
	    sh.servers, (unsigned long long)seed, (double)sh.end_us / 1e6, out.least_kept,
	    out.most_kept);
	if (!ok)
		printf("FAILED: %.2f to %.2f\n  replay: sim --seed %llu --share %u --set rate=%llu "
		       "--set measure-us=%llu --set end-us=%llu --json\n",
		    1 - KEPT_WITHIN, 1 + KEPT_WITHIN, (unsigned long long)seed, sh.servers,
		    (unsigned long long)sh.rate_bits, (unsigned long long)sh.measure_us,
		    (unsigned long long)sh.end_us);
	return ok;
}

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
		for (uint64_t i = 0; i < ENDS; i++) {
			failed += !run_end((seed - 1) * ENDS + i + 1);
			++*run;
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
