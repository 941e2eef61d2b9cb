/* usual.c: keeps the results of runs without bad clients and strangers (usual.h).  runs.c calls it,
 * in the program's only thread. */
#include "tests/sim/usual.h"

#include <stdio.h>
#include <string.h>

enum {
	KEPT = 256,      /* results: of more than all scenarios of 20 seeds */
	LOOK_EVERY = 20, /* seeds; a result that is found for one of them is compared */
};

struct kept {
	struct scenario sc;
	uint64_t seed;
	struct outcome out;
};

static struct kept kept[KEPT];
static unsigned nkept; /* how many were ever kept: the oldest ones are replaced */

/* The same scenario without what has no influence when those that are bad are absent: what they
 * would do, the name, and the limits that runs.c checks.  All bytes of the result are set. */
static void
without_bad(const struct scenario *sc, struct scenario *absent)
{
	memcpy(absent, sc, sizeof *absent);
	absent->bad_absent = true;
	memset(&absent->bad, 0, sizeof absent->bad);
	absent->bad_drawn = absent->rival_same = false;
	absent->foe_does = 0;
	absent->name = "without what is bad";
	absent->max_clean = 1; /* any limit: with one, clients must be fed all the time */
	absent->clean_extra_us = absent->clean_tail_us = 0;
	absent->clean_sent = 0;
}

static const struct outcome *
find(const struct scenario *absent, uint64_t seed)
{
	for (unsigned i = 0; i < KEPT && i < nkept; i++)
		if (kept[i].seed == seed &&
		    memcmp(&kept[i].sc, absent, sizeof *absent) == 0)
			return &kept[i].out;
	return NULL;
}

static void
keep(const struct scenario *absent, uint64_t seed, const struct outcome *out)
{
	struct kept *k = &kept[nkept++ % KEPT];

	memcpy(&k->sc, absent, sizeof k->sc);
	k->seed = seed;
	k->out = *out;
}

/* Is the result that was found equal to that of the scenario itself? */
static void
look(const struct scenario *sc, uint64_t seed, struct outcome *found)
{
	struct scenario own = *sc;
	struct outcome out;

	own.bad_absent = true;
	world_run(&own, seed, false, &out);
	if (out.hash != found->hash || out.end_us != found->end_us ||
	    out.finished != found->finished)
		snprintf(found->failed, sizeof found->failed,
		    "the run without bad clients depends on what they would do");
}

void
usual_run(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct scenario absent;

	without_bad(sc, &absent);
	const struct outcome *found = find(&absent, seed);
	if (found == NULL) {
		world_run(&absent, seed, false, out);
		keep(&absent, seed, out);
		return;
	}
	*out = *found;
	if (seed % LOOK_EVERY == 1)
		look(sc, seed, out);
}
