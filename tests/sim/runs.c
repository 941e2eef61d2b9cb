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
	one.mute_us = one.rival_us = one.tcp_us = 0;
	one.late_us = 0;
	one.net.cross = 0;
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

/* What a case is compared with: another run of the same seed. */
enum beside {
	BESIDE_NOTHING, /* only the time of one client alone */
	BESIDE_CLEAN,   /* without bad clients and strangers */
	BESIDE_LOADS,   /* machines that start by reads: all disks are loaded, and nobody reads */
	BESIDE_IDLE,    /* nobody reads */
	BESIDE_WAITING, /* a relay that waits: two loads in sequence */
	BESIDE_BEST,    /* the best fixed rate */
};

static enum beside
beside_of(const struct scenario *sc)
{
	return sc->max_clean > 0                ? BESIDE_CLEAN
	       : sc->ahead > 0 || sc->ordered ? BESIDE_LOADS
	       : sc->readers > 0              ? BESIDE_IDLE
	       : sc->max_overlap > 0          ? BESIDE_WAITING
	       : sc->max_of_best > 0          ? BESIDE_BEST
	                                      : BESIDE_NOTHING;
}

static void
run_beside(const struct scenario *sc, uint64_t seed, struct outcome *other)
{
	enum beside beside = beside_of(sc);
	struct scenario changed = *sc;

	if (beside == BESIDE_CLEAN) {
		usual_run(sc, seed, other);
		return;
	}
	changed.readers_idle = beside == BESIDE_LOADS || beside == BESIDE_IDLE;
	changed.relay_waits = beside == BESIDE_WAITING;
	if (beside == BESIDE_BEST) {
		changed.dynamic = false;
		changed.rate_bits = sc->best_bits;
	}
	world_run(&changed, seed, false, other);
}

/* One machine that starts by reads, alone. */
static void
run_boot_alone(const struct scenario *sc, uint64_t seed, struct outcome *alone)
{
	struct scenario one = *sc;

	one.clients = one.readers = 1;
	world_run(&one, seed, false, alone);
}

/* See runs.h.  The limits of the case are not checked. */
int
runs_tell(struct scenario sc, uint64_t seed, bool only)
{
	enum beside beside = only ? BESIDE_NOTHING : beside_of(&sc);
	struct outcome out, other, boot_alone;

	if (!only)
		measure_alone(&sc, seed);
	world_run(&sc, seed, false, &out);
	if (beside != BESIDE_NOTHING)
		run_beside(&sc, seed, &other);
	if (beside == BESIDE_LOADS)
		run_boot_alone(&sc, seed, &boot_alone);
	answer_case(&sc, seed,
	    &(struct answer){ .out = &out, .alone_us = only ? 0 : alone_us(&sc, seed, sc.chunk_us),
		.beside = beside != BESIDE_NOTHING ? &other : NULL,
		.boot_alone = beside == BESIDE_LOADS ? &boot_alone : NULL });
	return out.failed[0] != '\0';
}

/* A run fails, too, if one that it is compared with has failed. */
static void
take_failure(struct outcome *out, const struct outcome *other)
{
	if (out->failed[0] == '\0' && other->failed[0] != '\0')
		*out = *other;
}

static void
compare_boots(const struct scenario *sc, uint64_t seed, struct outcome *out,
    const struct outcome *loads)
{
	struct outcome alone;

	run_boot_alone(sc, seed, &alone);
	verdict_print_boots(sc, out, &alone, loads);
	take_failure(out, &alone);
	take_failure(out, loads);
	if (out->failed[0] == '\0')
		verdict_check_boots(sc, out, &alone, loads);
}

static void
compare_alone(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	uint64_t alone = alone_us(sc, seed, sc->chunk_us);

	verdict_print(sc, out, alone);
	if (out->failed[0] == '\0')
		verdict_check(sc, out, alone);
}

/* How a case is printed and judged beside one other run. */
static const struct {
	void (*print)(const struct scenario *, const struct outcome *, const struct outcome *);
	void (*check)(const struct scenario *, struct outcome *, const struct outcome *);
} verdicts[] = {
	[BESIDE_CLEAN] = { verdict_print_bad, verdict_check_bad },
	[BESIDE_IDLE] = { verdict_print_readers, verdict_check_readers },
	[BESIDE_WAITING] = { verdict_print_relay, verdict_check_relay },
	[BESIDE_BEST] = { verdict_print_rate, verdict_check_rate },
};

static void
compare(const struct scenario *sc, uint64_t seed, struct outcome *out)
{
	enum beside beside = beside_of(sc);
	struct outcome other;

	if (beside == BESIDE_NOTHING) {
		compare_alone(sc, seed, out);
		return;
	}
	run_beside(sc, seed, &other);
	if (beside == BESIDE_LOADS) {
		compare_boots(sc, seed, out, &other);
		return;
	}
	verdicts[beside].print(sc, out, &other);
	take_failure(out, &other);
	if (out->failed[0] == '\0')
		verdicts[beside].check(sc, out, &other);
}

bool
runs_case(const struct scenario *sc, uint64_t seed, bool traced, const char *changes)
{
	struct outcome out;

	world_run(sc, seed, traced, &out);
	compare(sc, seed, &out);
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
