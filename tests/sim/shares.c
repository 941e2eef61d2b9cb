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
/* Seeds of run_end() for one of the others, and when a server ends; BACK_CHUNKS: at a fifth of the link they
 * are not loaded by then. */
enum { ENDS = 3, END_FIRST_US = 2000000, END_WITHIN_US = 4000000, DOWN_US = 1000000, BACK_CHUNKS = 18 };

/* The first server comes back, and its image is whole in the end. */
static void
let_it_come_back(struct share *sh)
{
	sh->start_us = 1000000;
	sh->down_us = DOWN_US;
	sh->chunks = BACK_CHUNKS;
	sh->measure_us = 14000000;
}

static void
tell_end(const struct share *sh, uint64_t seed, const struct share_outcome *out, bool ok)
{
	printf("%u servers, seed %llu, one ends after %.3f s%s: in each half second the others send "
	       "%.3f to %.3f of what they sent before%s\n",
	    sh->servers, (unsigned long long)seed, (double)sh->end_us / 1e6,
	    sh->down_us != 0 ? ", and comes back" : "", out->least_kept, out->most_kept,
	    sh->down_us == 0 ? "" : out->whole ? ", and its client is whole" : ", and its client is not whole");
	if (!ok)
		printf("FAILED: %.2f to %.2f\n  replay: sim --seed %llu --share %u --set rate=%llu --set start-us=%llu "
		       "--set measure-us=%llu --set end-us=%llu --set down-us=%llu --set chunks=%u --json\n",
		    1 - KEPT_WITHIN, 1 + KEPT_WITHIN, (unsigned long long)seed, sh->servers,
		    (unsigned long long)sh->rate_bits, (unsigned long long)sh->start_us,
		    (unsigned long long)sh->measure_us, (unsigned long long)sh->end_us,
		    (unsigned long long)sh->down_us, sh->chunks);
}

/* Four servers, or as many as there is time for, send at a fifth of the link each, and one of them
 * ends at a moment that the seed draws: to the others this is nothing, nor is it when it comes back. */
static bool
run_end(uint64_t seed, bool back)
{
	struct share sh = shares_usual;
	struct share_outcome out;
	uint64_t rng = seed;

	sh.servers = MOST_SERVERS < 4 ? MOST_SERVERS : 4;
	sh.rate_bits = sh.link_bits / 5;
	sh.measure_us = 8000000;
	sh.end_us = END_FIRST_US + random_next(&rng) % END_WITHIN_US;
	if (back)
		let_it_come_back(&sh);
	share_run(&sh, seed, &out);
	bool ok = out.least_kept >= 1 - KEPT_WITHIN && out.most_kept <= 1 + KEPT_WITHIN && out.whole == back;
	tell_end(&sh, seed, &out, ok);
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
			failed += !run_end((seed - 1) * ENDS + i + 1, false);
			failed += !run_end((seed - 1) * ENDS + i + 1, true);
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
