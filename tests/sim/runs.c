/* runs.c: runs cases, compares them, and reports (runs.h).  sim.c calls it, in the program's only
 * thread. */
#include "tests/sim/runs.h"

#include <stdio.h>

#include "tests/sim/answer.h"
#include "tests/sim/knobs.h"
#include "tests/sim/most.h"
#include "tests/sim/usual.h"
#include "tests/sim/verdict.h"

/* How long one client takes that is alone, without loss and faults, and whose disk
 * takes chunk_us for a chunk.  The times of a run are compared with this.  0: the run
 * failed. */
static uint64_t
alone_us(const struct scenario *sc, uint64_t seed, uint64_t chunk_us)
{
	struct scenario one = *sc;
	struct outcome out;

	one.clients = 1;
	one.chunk_us = chunk_us;
	one.unheard = false;
	one.crashes = one.slow_clients = 0;
	one.restart_us = one.new_image_us = 0;
	one.old_clients = one.greedy_old = one.greedy_new = 0;
	one.start = START_AT_ONCE;
	one.net.loss = one.net.server_loss = one.net.late = one.net.twice = 0;
	one.chunk_spread = one.damage = 0;
	one.bad_clients = one.foes = 0;
	one.mute_us = one.rival_us = 0;
	one.relay = false;
	one.readers = 0;
	world_run(&one, seed, false, &out);
	return out.failed[0] == '\0' ? out.median_us : 0;
}

/* Measure a client that is alone: how long it takes with a disk that is always fast
 * enough, and with a slow disk how much longer than that disk needs. */
static void
measure_alone(struct scenario *sc, uint64_t seed)
{
	uint64_t slow_us = 4 * sc->chunk_us + 1000000;

	sc->alone_net_us = alone_us(sc, seed, 1);
	sc->alone_extra_us = alone_us(sc, seed, slow_us) - sc->chunks * slow_us;
}

/* See runs.h.  The limits of the case are not checked. */
int
runs_tell(struct scenario sc, uint64_t seed)
{
	struct outcome out;

	measure_alone(&sc, seed);
	world_run(&sc, seed, false, &out);
	answer_case(&sc, seed, &out, alone_us(&sc, seed, sc.chunk_us));
	return out.failed[0] != '\0';
}

/* Compares the run with one of the same seed without bad clients and strangers. */
static void
compare(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct outcome usual;

	usual_run(sc, seed, &usual);
	verdict_print_bad(sc, out, &usual);
	if (out->failed[0] == '\0' && usual.failed[0] != '\0')
		*out = usual;
	if (out->failed[0] == '\0')
		verdict_check_bad(sc, out, &usual);
}

/* Compares the run of a relay with two loads in sequence, with the same seed. */
static void
compare_sequence(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct scenario waits = *sc;
	struct outcome sequence;

	waits.relay_waits = true;
	world_run(&waits, seed, false, &sequence);
	verdict_print_relay(sc, out, &sequence);
	if (out->failed[0] == '\0' && sequence.failed[0] != '\0')
		*out = sequence;
	if (out->failed[0] == '\0')
		verdict_check_relay(sc, out, &sequence);
}

/* Compares the run with one of the same seed at the best fixed rate. */
static void
compare_rate(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct scenario fixed = *sc;
	struct outcome best;

	fixed.dynamic = false;
	fixed.rate_bits = sc->best_bits;
	world_run(&fixed, seed, false, &best);
	verdict_print_rate(sc, out, &best);
	if (out->failed[0] == '\0' && best.failed[0] != '\0')
		*out = best;
	if (out->failed[0] == '\0')
		verdict_check_rate(sc, out, &best);
}

/* Compares the run with one of the same seed in which nobody reads. */
static void
compare_readers(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct scenario idle = *sc;
	struct outcome usual;

	idle.readers_idle = true;
	world_run(&idle, seed, false, &usual);
	verdict_print_readers(sc, out, &usual);
	if (out->failed[0] == '\0' && usual.failed[0] != '\0')
		*out = usual;
	if (out->failed[0] == '\0')
		verdict_check_readers(sc, out, &usual);
}

/* Compares machines that start by reads with one such machine alone, and with machines whose disks
 * are loaded and that read nothing. */
static void
compare_boots(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	struct scenario one = *sc, plain = *sc;
	struct outcome alone, loads;

	one.clients = one.readers = 1;
	plain.readers_idle = true;
	world_run(&one, seed, false, &alone);
	world_run(&plain, seed, false, &loads);
	verdict_print_boots(sc, out, &alone, &loads);
	if (out->failed[0] == '\0' && alone.failed[0] != '\0')
		*out = alone;
	if (out->failed[0] == '\0' && loads.failed[0] != '\0')
		*out = loads;
	if (out->failed[0] == '\0')
		verdict_check_boots(sc, out, &alone, &loads);
}

bool
runs_case(const struct scenario *sc, uint64_t seed, bool traced, const char *changes)
{
	struct outcome out;

	world_run(sc, seed, traced, &out);
	if (sc->max_clean > 0) {
		compare(sc, seed, &out);
	} else if (sc->ahead > 0 || sc->ordered) {
		compare_boots(sc, seed, &out);
	} else if (sc->readers > 0) {
		compare_readers(sc, seed, &out);
	} else if (sc->max_overlap > 0) {
		compare_sequence(sc, seed, &out);
	} else if (sc->max_of_best > 0) {
		compare_rate(sc, seed, &out);
	} else {
		uint64_t alone = alone_us(sc, seed, sc->chunk_us);
		verdict_print(sc, &out, alone);
		if (out.failed[0] == '\0')
			verdict_check(sc, &out, alone);
	}
	if (out.failed[0] == '\0')
		return true;
	printf("FAILED: %s\n  replay: sim --seed %llu --case %s%s --trace\n",
	    out.failed, (unsigned long long)seed, sc->name, changes);
	return false;
}

int
runs_seeds(const struct scenario *sc, uint64_t first, uint64_t seeds, bool traced,
    const char *changes)
{
	unsigned failed = 0;

	verdict_print_head();
	for (uint64_t s = first; s < first + seeds; s++)
		failed += !runs_case(sc, s, traced, changes);
	printf("%llu cases, %u failed\n", (unsigned long long)seeds, failed);
	return failed != 0;
}

void
runs_shrink(struct scenario *sc, char *changes, size_t cap)
{
	if (sc->clients <= MOST_CLIENTS && sc->chunks <= MOST_CHUNKS)
		return;
	knobs_drop_limits(sc);
	sc->clients = sc->clients < MOST_CLIENTS ? sc->clients : MOST_CLIENTS;
	sc->chunks = sc->chunks < MOST_CHUNKS ? sc->chunks : MOST_CHUNKS;
	sc->old_clients = sc->old_clients < sc->clients ? sc->old_clients : 1;
	sc->crashes = sc->crashes < sc->clients ? sc->crashes : sc->clients - 1;
	sc->readers = sc->readers < sc->clients ? sc->readers : sc->clients;
	snprintf(changes, cap,
	    " --set clients=%u --set chunks=%u --set crashes=%u --set readers=%u",
	    sc->clients, sc->chunks, sc->crashes, sc->readers);
}

bool
runs_twice(const struct scenario *sc)
{
	struct outcome a, b, c;

	world_run(sc, 1, false, &a);
	world_run(sc, 1, false, &b);
	world_run(sc, 2, false, &c);
	bool ok = a.hash == b.hash && a.end_us == b.end_us && a.hash != c.hash;
	if (!ok)
		printf("FAILED: one seed, two different runs\n");
	return ok;
}
