/* sim: the protocol's engines on a simulated network.
 *
 *	sim				every case of the suite, seed 1
 *	sim --seeds N			... with the seeds 1 to N
 *	sim --part usual		... one part of it: usual, neighbours or share
 *	sim --named WORD		... only the cases whose names hold this word
 *	sim --every N --first K		... and only every Nth case from case K on, where time is short
 *	sim --case NAME --seed S	one run; --trace shows what happens in it
 *	sim --case NAME --set KEY=V	... with something changed, see --help
 *	sim --share N			N servers on one link
 *	... --json			one run, told as JSON, with those that it is compared with
 *	... --json --only		... without them
 *	sim --list			the cases
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cases.h"
#include "tests/sim/knobs.h"
#include "tests/sim/most.h"
#include "tests/sim/runs.h"
#include "tests/sim/shares.h"
#include "tests/sim/verdict.h"

static bool
run_one(const struct scenario *of_suite, uint64_t seed)
{
	struct scenario sc = *of_suite;
	char changes[1024] = "";

	runs_shrink(&sc, changes, sizeof changes);
	bool ok = runs_case(&sc, seed, false, changes);
	fflush(stdout);
	return ok;
}

/* What the suite consists of: a part of it may be asked for alone. */
enum part { PART_USUAL = 1, PART_NEIGHBOURS = 2, PART_SHARE = 4, PART_ALL = 7 };

/* Of the cases of the suite whose names hold the word (NULL: of all), only `first`, `first + every`
 * and so on are run. */
struct some {
	unsigned first, every;
	const char *word;
};

static bool
is_named(const struct scenario *sc, const char *word)
{
	return word == NULL || strstr(sc->name, word) != NULL;
}

static unsigned
run_usual(uint64_t seed, struct some some, unsigned *run)
{
	unsigned failed = 0;

	for (size_t i = some.first; i < cases_count; i += some.every) {
		if (!is_named(&cases[i], some.word))
			continue;
		failed += !run_one(&cases[i], seed);
		++*run;
	}
	return failed;
}

/* These are small, and have many seeds for one of the others. */
static unsigned
run_neighbours(uint64_t seed, struct some some, unsigned *run)
{
	unsigned failed = 0;

	for (size_t i = some.first; i < bad_cases_count * BAD_SEEDS; i += some.every) {
		const struct scenario *sc = &bad_cases[i / BAD_SEEDS];
		if (!is_named(sc, some.word))
			continue;
		failed += !run_one(sc, (seed - 1) * BAD_SEEDS + i % BAD_SEEDS + 1);
		++*run;
	}
	return failed;
}

static int
run_suite(int parts, uint64_t first, uint64_t seeds, struct some some)
{
	unsigned run = 0, failed = 0;

	if (some.every > 1)
		printf("only every %uth case is run, from case %u on (--every, --first)\n",
		    some.every, some.first);

	if (parts & PART_USUAL && some.word == NULL) {
		failed += !runs_twice(&cases[1]);
		run++;
	}
	verdict_print_head();
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		if (parts & PART_USUAL)
			failed += run_usual(seed, some, &run);
		if (parts & PART_NEIGHBOURS)
			failed += run_neighbours(seed, some, &run);
	}
	if (parts & PART_SHARE && some.word == NULL)
		failed += shares_suite(first, seeds, &run);
	printf("%u cases, %u failed\n", run, failed);
	return failed != 0 || run == 0;
}

/* 0: there is no such part. */
static int
part_named(const char *name)
{
	return strcmp(name, "usual") == 0        ? PART_USUAL
	       : strcmp(name, "neighbours") == 0 ? PART_NEIGHBOURS
	       : strcmp(name, "share") == 0      ? PART_SHARE
	                                         : 0;
}

static int
usage(FILE *f, int status)
{
	fprintf(f,
	    "usage: sim [--seed S | --seeds N] [--part usual|neighbours|share]"
	    " [--named WORD] [--every N] [--first K]\n"
	    "       sim --case NAME [--seed S | --seeds N] [--trace | --json [--only]]"
	    " [--set KEY=V]...\n       sim --share SERVERS [--seed S | --seeds N]"
	    " [--json] [--set KEY=V]...\n       sim --list\nkeys:");
	knobs_print(f);
	fprintf(f, "\nkeys with --share:");
	knobs_print_share(f);
	fprintf(f, "\n");
	return status;
}

static int
list_cases(void)
{
	for (size_t i = 0; i < cases_count; i++)
		printf("%s\n", cases[i].name);
	for (size_t i = 0; i < bad_cases_count; i++)
		printf("%s\n", bad_cases[i].name);
	return 0;
}

/* What the command line asks for. */
struct request {
	uint64_t seed, seeds;
	int parts; /* of enum part */
	struct some some; /* of the cases of the suite */
	bool traced, have_case, json, only;
	char changes[1024];
	struct scenario sc;
	struct share share;
};

static bool
turn(struct request *rq, const char *setting)
{
	if (rq->share.servers == 0)
		return rq->have_case &&
		       knobs_change(&rq->sc, setting, rq->changes, sizeof rq->changes);
	/* What a changed one may cost is not known. */
	rq->share.min_jain = rq->share.min_use = 0;
	rq->share.max_loss = 1;
	return knobs_change_share(&rq->share, setting);
}

/* -1: go on; else the exit status. */
static int
understand(struct request *rq, int opt, const char *arg)
{
	const struct scenario *sc;

	switch (opt) {
	case 's':
		rq->seed = strtoull(arg, NULL, 10);
		return -1;
	case 'n':
		rq->seeds = strtoull(arg, NULL, 10);
		return -1;
	case 't':
		rq->traced = true;
		return -1;
	case 'j':
		rq->json = true;
		return -1;
	case 'o':
		rq->only = true;
		return -1;
	case 'P':
		if ((rq->parts = part_named(arg)) == 0)
			return usage(stderr, 2);
		return -1;
	case 'e':
		rq->some.every = (unsigned)strtoul(arg, NULL, 10);
		return rq->some.every > 0 ? -1 : usage(stderr, 2);
	case 'w':
		rq->some.word = arg;
		return -1;
	case 'f':
		rq->some.first = (unsigned)strtoul(arg, NULL, 10);
		return -1;
	case 'l':
		return list_cases();
	case 'h':
		return usage(stdout, 0);
	case 'c':
		if ((sc = cases_find(arg)) == NULL)
			return usage(stderr, 2);
		rq->sc = *sc;
		rq->have_case = true;
		return -1;
	case 'S':
		rq->share = shares_usual;
		rq->share.servers = (uint32_t)strtoul(arg, NULL, 10);
		return rq->share.servers > 0 && rq->share.servers < 200
		           ? -1
		           : usage(stderr, 2);
	case 'k':
		if (turn(rq, arg))
			return -1;
		return usage(stderr, 2);
	default:
		return usage(stderr, 2);
	}
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "case", required_argument, NULL, 'c' },
		{ "share", required_argument, NULL, 'S' },
		{ "part", required_argument, NULL, 'P' },
		{ "every", required_argument, NULL, 'e' },
		{ "first", required_argument, NULL, 'f' },
		{ "named", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'j' },
		{ "only", no_argument, NULL, 'o' },
		{ "set", required_argument, NULL, 'k' },
		{ "trace", no_argument, NULL, 't' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request rq = { .seed = 1, .seeds = 1, .parts = PART_ALL, .some.every = 1 };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if ((rc = understand(&rq, opt, optarg)) >= 0)
			return rc;
	if (rq.json)
		return rq.share.servers > 0 ? shares_tell(&rq.share, rq.seed)
		       : rq.have_case       ? runs_tell(rq.sc, rq.seed, rq.only)
		                            : usage(stderr, 2);
	if (rq.share.servers > 0)
		return shares_seeds(&rq.share, rq.seed, rq.seeds);
	if (rq.have_case)
		return runs_seeds(&rq.sc, rq.seed, rq.seeds, rq.traced, rq.changes);
	return run_suite(rq.parts, rq.seed, rq.seeds, rq.some);
}
