/* sim: the protocol's engines on a simulated network.
 *
 *	sim				every case of the suite, seed 1
 *	sim --seeds N			... with the seeds 1 to N
 *	sim --case NAME --seed S	one run; --trace shows what happens in it
 *	sim --case NAME --set KEY=V	... with something changed, see --help
 *	sim --share N			N servers on one link
 *	... --json			one run, told as JSON
 *	sim --paper			the tables of the Frisbee paper
 *	sim --list			the cases
 */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/answer.h"
#include "tests/sim/machines.h"
#include "tests/sim/paper.h"
#include "tests/sim/share.h"
#include "tests/sim/world.h"

/* Instrumented code is slow: no more machines and chunks than this. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#elif __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
enum { MOST_CLIENTS = 4, MOST_CHUNKS = 24, MOST_SERVERS = 2 };
#elif defined(__SANITIZE_ADDRESS__)
enum { MOST_CLIENTS = 6, MOST_CHUNKS = 24, MOST_SERVERS = 2 };
#else
enum { MOST_CLIENTS = 20000, MOST_CHUNKS = 1000, MOST_SERVERS = 8 };
#endif

static const struct scenario suite[] = {
	{ "one", .clients = 1, .chunks = 32, PAPER, LIMITS(0.001, 1.05, 10) },
	{ "one-1", .clients = 1, .chunks = 32, PAPER, .net.loss = 0.01 },
	{ "one-10", .clients = 1, .chunks = 32, PAPER, .net.loss = 0.1 },
	{ "eight", .clients = 8, .chunks = 48, LAN, CLIENT(64), .rate_bits = 60000000,
	    .chunk_us = 20000, LIMITS(0.02, 1.02, 20) },
	{ "eight-1", .clients = 8, .chunks = 48, PAPER, .net.loss = 0.01 },
	{ "eight-10", .clients = 8, .chunks = 48, PAPER, .net.loss = 0.1 },
	{ "eight-uniform", .clients = 8, .chunks = 48, PAPER,
	    SKEWED(START_UNIFORM, 3) },
	{ "crowd", .clients = 80, .chunks = 24, PAPER, LIMITS(0.02, 1.1, 150) },
	{ "crowd-groups", .clients = 80, .chunks = 24, PAPER, SKEWED(START_GROUPS, 3),
	    LIMITS(0.55, 1.1, 80) },
	{ "crowd-uniform", .clients = 80, .chunks = 24, PAPER,
	    SKEWED(START_UNIFORM, 3) },
	{ "crowd-1", .clients = 80, .chunks = 16, PAPER, .net.loss = 0.01,
	    LIMITS(0.45, 2, 800) },
	{ "crowd-10", .clients = 80, .chunks = 16, PAPER, .net.loss = 0.1,
	    LIMITS(0.7, 3, 1300) },
	{ "quick-one-10", .clients = 1, .chunks = 24, QUICK, .net.loss = 0.1 },
	{ "quick", .clients = 80, .chunks = 24, QUICK, LIMITS(0.02, 1.1, 220) },
	{ "quick-groups", .clients = 80, .chunks = 24, QUICK, SKEWED(START_GROUPS, 3) },
	{ "quick-uniform", .clients = 80, .chunks = 24, QUICK,
	    SKEWED(START_UNIFORM, 3) },
	{ "quick-1", .clients = 80, .chunks = 12, QUICK, .net.loss = 0.01,
	    LIMITS(0.45, 2, 1500) },
	{ "quick-10", .clients = 80, .chunks = 8, QUICK, .net.loss = 0.1,
	    LIMITS(0.7, 4, 1500) },
	{ "bursts", .clients = 8, .chunks = 32, PAPER, .net.loss = 0.05,
	    .net.burst = 20 },
	{ "fast", .clients = 1, .chunks = 256, FAST(900, 3000), CLIENT(64),
	    .chunk_us = 2000, LIMITS(0.12, 1.05, 1500) },
	{ "fast-shallow", .clients = 1, .chunks = 256, FAST(400, 4000), CLIENT(64),
	    .chunk_us = 2000 },
	{ "fast-1", .clients = 1, .chunks = 256, FAST(900, 3000), CLIENT(64),
	    .chunk_us = 2000, .net.loss = 0.01 },
	{ "fast-eight", .clients = 8, .chunks = 64, FAST(900, 3000), CLIENT(64),
	    .chunk_us = 8000 },
	{ "disk", .clients = 4, .chunks = 48, PAPER, .read_latency_us = 2000,
	    .read_bytes_per_s = 30000000 },
	{ "stall", .clients = 4, .chunks = 32, PAPER, .read_bytes_per_s = 100000000,
	    .stall_us = 400000, .stall_every_us = 900000, LIMITS(0.02, 1.1, 80) },
	{ "mixed", .clients = 8, .chunks = 48, LAN, CLIENT(16), .rate_bits = 90000000,
	    .chunk_us = 88000, .slow_clients = 2, .slow_chunk_us = 144000 },
	{ "crash", .clients = 12, .chunks = 32, PAPER, .crashes = 4, .net.loss = 0.01 },
	{ "restart", .clients = 8, .chunks = 32, PAPER, .restart_us = 2000000 },
	{ "restart-one", .clients = 1, .chunks = 32, PAPER, .restart_us = 2000000,
	    .net.loss = 0.01 },
	{ "outage", .clients = 8, .chunks = 32, PAPER, .restart_us = 1000000,
	    .down_us = 1000000 },
	{ "outage-quick", .clients = 8, .chunks = 24, QUICK, .restart_us = 1000000,
	    .down_us = 3000000, .net.loss = 0.01 },
	{ "file", .clients = 3, .chunks = 5, PAPER, .odd_bytes = 307200 },
	{ "file-odd", .clients = 3, .chunks = 5, PAPER, .odd_bytes = 333333,
	    .net.loss = 0.1 },
	{ "file-short", .clients = 3, .chunks = 1, PAPER, .odd_bytes = 1,
	    .net.loss = 0.3 },
	{ "file-late", .clients = 3, .chunks = 4, LAN, CLIENT(8), .chunk_us = 1000,
	    .rate_bits = 70000000, .odd_bytes = 307200, SKEWED(START_UNIFORM, 1),
	    LATE(0.01, 3000), .net.loss = 0.02 },
	{ "tiny", .clients = 5, .chunks = 24, LAN, CLIENT(1), DISK,
	    .rate_bits = 70000000, .net.loss = 0.02 },
	{ "tiny-two", .clients = 12, .chunks = 16, LAN, CLIENT(2), DISK,
	    .rate_bits = 70000000, SKEWED(START_UNIFORM, 3) },
	{ "tiny-quick", .clients = 2, .chunks = 6, LAN, CLIENT(1), .chunk_us = 20000,
	    .rate_bits = 70000000, SKEWED(START_UNIFORM, 1), .net.loss = 0.01 },
	{ "slow-disks", .clients = 4, .chunks = 16, LAN, CLIENT(4), .chunk_us = 300000,
	    .rate_bits = 70000000 },
	{ "late", .clients = 8, .chunks = 32, PAPER, LATE(0.05, 1500),
	    .net.twice = 0.02, .net.loss = 0.005 },
	{ "very-late", .clients = 4, .chunks = 16, PAPER, LATE(0.2, 200000),
	    .net.twice = 0.1, .net.loss = 0.05 },
	{ "messy", .clients = 8, .chunks = 12, QUICK, SKEWED(START_UNIFORM, 2),
	    LATE(0.02, 3000), .net.twice = 0.01, .net.loss = 0.02 },
	{ "narrow", .clients = 4, .chunks = 24, LAN, CLIENT(64), DISK,
	    .rate_bits = 150000000, .dynamic = true },
	{ "sequential", .clients = 8, .chunks = 32, PAPER, .sequential = true,
	    SKEWED(START_UNIFORM, 3) },
	{ "x-one", .clients = 1, .chunks = 32, PAPER, EXT },
	{ "x-one-10", .clients = 1, .chunks = 32, PAPER, EXT, .net.loss = 0.1 },
	{ "x-quick-one-1", .clients = 1, .chunks = 64, QUICK, EXT, .net.loss = 0.01 },
	{ "x-quick-one-10", .clients = 1, .chunks = 64, QUICK, EXT, .net.loss = 0.1 },
	{ "x-crowd", .clients = 80, .chunks = 48, QUICK, EXT,
	    GOALS(0.01, 1.01, 1.02, 1.01, 20) },
	{ "x-crowd-1", .clients = 80, .chunks = 64, QUICK, EXT, .net.loss = 0.01,
	    GOALS(0.01, 1.08, 1.3, 1.15, 40) },
	{ "x-crowd-10", .clients = 80, .chunks = 64, QUICK, EXT, .net.loss = 0.1,
	    GOALS(0.02, 1.25, 1.6, 1.3, 70) },
	{ "x-groups", .clients = 80, .chunks = 64, QUICK, EXT, SKEWED(START_GROUPS, 6),
	    GOALS(0.01, 1.02, 1.03, 2, 20) },
	{ "x-uniform", .clients = 80, .chunks = 64, QUICK, EXT,
	    SKEWED(START_UNIFORM, 6), GOALS(0.01, 1.02, 1.03, 2, 20) },
	{ "x-plain", .clients = 8, .chunks = 32, QUICK, .ext = true, .net.loss = 0.01,
	    SKEWED(START_UNIFORM, 2) },
	{ "x-old", .clients = 12, .chunks = 48, QUICK, EXT, .old_clients = 2,
	    SKEWED(START_UNIFORM, 4), .net.loss = 0.01 },
	{ "x-old-one", .clients = 20, .chunks = 48, PAPER, EXT, .old_clients = 1 },
	{ "x-all-old", .clients = 8, .chunks = 24, PAPER, EXT, .old_clients = 8 },
	{ "x-bursts", .clients = 80, .chunks = 48, QUICK, EXT, .net.loss = 0.05,
	    .net.burst = 10, GOALS(0.02, 1.25, 1.6, 1.3, 100) },
	{ "x-bursts-100", .clients = 24, .chunks = 48, QUICK, EXT, .net.loss = 0.05,
	    .net.burst = 100 },
	{ "x-tiny", .clients = 5, .chunks = 24, LAN, CLIENT(1), DISK, EXT,
	    .rate_bits = 70000000, .net.loss = 0.02 },
	{ "x-buffers", .clients = 8, .chunks = 48, LAN, CLIENT(8), DISK, EXT,
	    .rate_bits = 70000000, .net.loss = 0.01, SKEWED(START_UNIFORM, 4) },
	{ "x-crash", .clients = 12, .chunks = 32, PAPER, EXT, .crashes = 4,
	    .net.loss = 0.01 },
	{ "x-restart", .clients = 8, .chunks = 32, PAPER, EXT, .restart_us = 2000000,
	    .net.loss = 0.01 },
	{ "x-outage", .clients = 8, .chunks = 24, QUICK, EXT, .restart_us = 1000000,
	    .down_us = 3000000, .net.loss = 0.01 },
	{ "x-outage-long", .clients = 8, .chunks = 24, QUICK, EXT,
	    .restart_us = 1000000, .down_us = 9000000, .net.loss = 0.01 },
	{ "x-new-image", .clients = 8, .chunks = 48, PAPER, EXT, .restart_us = 2000000,
	    .new_image_us = 2000000, .net.loss = 0.01 },
	{ "x-stale", .clients = 8, .chunks = 48, PAPER, EXT, .new_image_us = 2000000,
	    .net.loss = 0.01 },
	{ "x-late", .clients = 8, .chunks = 32, PAPER, EXT, LATE(0.05, 1500),
	    .net.twice = 0.02, .net.loss = 0.005 },
	{ "x-very-late", .clients = 4, .chunks = 16, PAPER, EXT, LATE(0.2, 200000),
	    .net.twice = 0.1, .net.loss = 0.05 },
	{ "x-fast", .clients = 1, .chunks = 256, FAST(900, 3000), CLIENT(64), EXT,
	    .chunk_us = 2000, .dynamic = true, GOALS(0.01, 1.02, 1.02, 1.03, 1800) },
	{ "x-fast-shallow", .clients = 1, .chunks = 128, FAST(200, 3000), CLIENT(64),
	    EXT, .chunk_us = 2000, .dynamic = true,
	    GOALS(0.01, 1.02, 1.02, 1.06, 6000) },
	{ "x-fast-eight", .clients = 8, .chunks = 64, FAST(900, 3000), CLIENT(64), EXT,
	    .chunk_us = 8000, .dynamic = true, .net.loss = 0.01 },
	{ "x-fast-old", .clients = 4, .chunks = 48, FAST(900, 3000), CLIENT(64), EXT,
	    .chunk_us = 8000, .dynamic = true, .old_clients = 2 },
	{ "greedy", .clients = 4, .chunks = 24, QUICK, .greedy_old = 3,
	    .net.loss = 0.01, .max_worst_alone = 5 },
	{ "x-greedy-old", .clients = 8, .chunks = 32, QUICK, EXT, .greedy_old = 3,
	    .net.loss = 0.01, .max_worst_alone = 5 },
	{ "x-greedy", .clients = 8, .chunks = 32, QUICK, EXT, .greedy_new = 3,
	    .net.loss = 0.01, .max_worst_alone = 6 },
	{ "x-greedy-both", .clients = 8, .chunks = 32, QUICK, EXT, .greedy_old = 2,
	    .greedy_new = 2, .old_clients = 3, .net.loss = 0.01,
	    .max_worst_alone = 14 },
	{ "damage", .clients = 4, .chunks = 24, QUICK, .damage = 0.2,
	    .net.loss = 0.01 },
	{ "damage-one", .clients = 1, .chunks = 24, QUICK, .damage = 0.3 },
	{ "x-damage", .clients = 8, .chunks = 32, QUICK, EXT, .damage = 0.2,
	    .net.loss = 0.01 },
	{ "x-damage-one", .clients = 1, .chunks = 32, QUICK, EXT, .damage = 0.3 },
	{ "x-damage-plain", .clients = 3, .chunks = 24, QUICK, .ext = true,
	    .damage = 0.2, .old_clients = 1, .net.loss = 0.01 },
	{ "adaptive", .clients = 8, .chunks = 48, QUICK_AT(1000000000), .dynamic = true,
	    LIMITS(0.6, 1.3, 700) },
	{ "adaptive-1", .clients = 8, .chunks = 48, QUICK_AT(200000000),
	    .dynamic = true, .net.loss = 0.01 },
	{ "adaptive-10", .clients = 8, .chunks = 24, QUICK, .dynamic = true,
	    .net.loss = 0.1 },
	{ "x-adaptive", .clients = 8, .chunks = 96, QUICK_AT(1000000000), EXT,
	    .dynamic = true, GOALS(0.01, 1.1, 1.2, 1.2, 80) },
	{ "x-adaptive-1", .clients = 80, .chunks = 64, QUICK, EXT, .dynamic = true,
	    .net.loss = 0.01, GOALS(0.01, 1.15, 1.3, 1.1, 60) },
	{ "x-adaptive-80", .clients = 80, .chunks = 64, QUICK_AT(1000000000), EXT,
	    .dynamic = true, .net.loss = 0.01, GOALS(0.01, 1.25, 1.5, 1.2, 200) },
	{ "x-adaptive-old", .clients = 12, .chunks = 48, QUICK_AT(200000000), EXT,
	    .dynamic = true, .old_clients = 4, .net.loss = 0.01 },
	{ "x-adaptive-slow", .clients = 8, .chunks = 48, PAPER, EXT, .dynamic = true,
	    .slow_clients = 2, .slow_chunk_us = 300000 },
	{ "x-packs", .clients = 8, .chunks = 48, QUICK, PACKS(8), .net.loss = 0.01,
	    .empty = 0.3 },
	{ "x-packs-crowd", .clients = 80, .chunks = 48, QUICK, PACKS(8), .empty = 0.05,
	    SKEWED(START_UNIFORM, 4), .net.loss = 0.01 },
	{ "x-packs-narrow", .clients = 8, .chunks = 48, QUICK, PACKS(8),
	    .narrow_clients = 2, .empty = 0.3, SKEWED(START_UNIFORM, 4),
	    .net.loss = 0.01 },
	{ "x-packs-cut", .clients = 4, .chunks = 64, QUICK, PACKS(8),
	    .narrow_clients = 1, .narrow_us = 3000000, .max_worst_alone = 1.5 },
	{ "x-packs-old", .clients = 8, .chunks = 48, QUICK, PACKS(8), .old_clients = 2,
	    .empty = 0.5, SKEWED(START_UNIFORM, 5), .net.loss = 0.01 },
	{ "x-packs-plain", .clients = 4, .chunks = 32, QUICK, .ext = true,
	    .pack_blocks = 4, .empty = 0.9, .net.loss = 0.05 },
	{ "x-packs-restart", .clients = 6, .chunks = 32, PAPER, PACKS(8), .empty = 0.3,
	    .restart_us = 2000000, .net.loss = 0.02 },
	{ "x-packs-late", .clients = 4, .chunks = 24, PAPER, PACKS(8), .empty = 0.3,
	    LATE(0.1, 20000), .net.twice = 0.05, .net.loss = 0.03 },
	{ "x-packs-fast", .clients = 1, .chunks = 256, FAST(900, 3000), CLIENT(64),
	    PACKS(8), .empty = 0.05, .chunk_us = 2000, .dynamic = true },
	{ "x-packs-damage", .clients = 4, .chunks = 32, QUICK, PACKS(8), .empty = 0.3,
	    .damage = 0.2, .net.loss = 0.01 },
	{ "x-empty", .clients = 8, .chunks = 48, QUICK, EXT, .empty = 1.0,
	    .net.loss = 0.05, SKEWED(START_UNIFORM, 2) },
	{ "x-empty-one", .clients = 1, .chunks = 48, QUICK, EXT, .empty = 0.5 },
	{ "x-few-10", .clients = 2, .chunks = 96, LAN, CLIENT(64), DISK, EXT,
	    .rate_bits = 64100000, .net.loss = 0.1, .max_mean_alone = 1.17 },
	{ "x-slow", .clients = 30, .chunks = 160, LAN, CLIENT(16), EXT,
	    .rate_bits = 83400000, .chunk_us = 88000, .slow_clients = 20,
	    .slow_chunk_us = 144000, SKEWED(START_UNIFORM, 8), .max_worst_alone = 1.85,
	    .max_sent = 2.1 },
	{ "x-disk", .clients = 4, .chunks = 48, PAPER, EXT, .read_latency_us = 2000,
	    .read_bytes_per_s = 30000000, .net.loss = 0.01 },
};
enum { CASES = sizeof suite / sizeof suite[0] };

/* What --set knows. */
struct knob {
	const char *name;
	size_t off;
	enum { U32, U64, REAL, FLAG, PATTERN } kind;
};
static const struct knob knobs[] = {
	{ "clients", offsetof(struct scenario, clients), U32 },
	{ "chunks", offsetof(struct scenario, chunks), U32 },
	{ "odd-bytes", offsetof(struct scenario, odd_bytes), U32 },
	{ "rate", offsetof(struct scenario, rate_bits), U64 },
	{ "burst", offsetof(struct scenario, burst), U32 },
	{ "gap-us", offsetof(struct scenario, gap_us), U64 },
	{ "dynamic", offsetof(struct scenario, dynamic), FLAG },
	{ "start", offsetof(struct scenario, start), PATTERN },
	{ "spread-us", offsetof(struct scenario, spread_us), U64 },
	{ "ext", offsetof(struct scenario, ext), FLAG },
	{ "parity", offsetof(struct scenario, parity), FLAG },
	{ "pack-blocks", offsetof(struct scenario, pack_blocks), U32 },
	{ "narrow-clients", offsetof(struct scenario, narrow_clients), U32 },
	{ "narrow-us", offsetof(struct scenario, narrow_us), U64 },
	{ "empty", offsetof(struct scenario, empty), REAL },
	{ "old-clients", offsetof(struct scenario, old_clients), U32 },
	{ "new-image-us", offsetof(struct scenario, new_image_us), U64 },
	{ "buffers", offsetof(struct scenario, buffers), U32 },
	{ "readahead", offsetof(struct scenario, readahead), U32 },
	{ "in-progress", offsetof(struct scenario, in_progress), U32 },
	{ "sequential", offsetof(struct scenario, sequential), FLAG },
	{ "redo-us", offsetof(struct scenario, redo_us), U64 },
	{ "unheard", offsetof(struct scenario, unheard), FLAG },
	{ "chunk-us", offsetof(struct scenario, chunk_us), U64 },
	{ "chunk-spread", offsetof(struct scenario, chunk_spread), REAL },
	{ "slow-clients", offsetof(struct scenario, slow_clients), U32 },
	{ "slow-chunk-us", offsetof(struct scenario, slow_chunk_us), U64 },
	{ "damage", offsetof(struct scenario, damage), REAL },
	{ "greedy-old", offsetof(struct scenario, greedy_old), U32 },
	{ "greedy-new", offsetof(struct scenario, greedy_new), U32 },
	{ "crashes", offsetof(struct scenario, crashes), U32 },
	{ "restart-us", offsetof(struct scenario, restart_us), U64 },
	{ "down-us", offsetof(struct scenario, down_us), U64 },
	{ "read-latency-us", offsetof(struct scenario, read_latency_us), U64 },
	{ "read-rate", offsetof(struct scenario, read_bytes_per_s), U64 },
	{ "stall-us", offsetof(struct scenario, stall_us), U64 },
	{ "stall-every-us", offsetof(struct scenario, stall_every_us), U64 },
	{ "loss", offsetof(struct scenario, net.loss), REAL },
	{ "loss-burst", offsetof(struct scenario, net.burst), REAL },
	{ "late", offsetof(struct scenario, net.late), REAL },
	{ "late-us", offsetof(struct scenario, net.late_us), U32 },
	{ "twice", offsetof(struct scenario, net.twice), REAL },
	{ "latency-us", offsetof(struct scenario, net.latency_us), U32 },
	{ "port-bits", offsetof(struct scenario, net.port_bits), U64 },
	{ "client-bits", offsetof(struct scenario, net.client_bits), U64 },
	{ "queue-bytes", offsetof(struct scenario, net.queue_bytes), U32 },
	{ "socket-packets", offsetof(struct scenario, net.socket_packets), U32 },
	{ "read-ns", offsetof(struct scenario, net.read_ns), U32 },
	{ NULL, 0, U32 },
};
/* ... and with --share. */
static const struct knob share_knobs[] = {
	{ "rate", offsetof(struct share, rate_bits), U64 },
	{ "link-bits", offsetof(struct share, link_bits), U64 },
	{ "queue-bytes", offsetof(struct share, queue_bytes), U32 },
	{ "latency-us", offsetof(struct share, latency_us), U32 },
	{ "start-us", offsetof(struct share, start_us), U64 },
	{ "measure-us", offsetof(struct share, measure_us), U64 },
	{ "loss", offsetof(struct share, loss), REAL },
	{ "old", offsetof(struct share, old), FLAG },
	{ NULL, 0, U32 },
};

static bool
turn_knob(void *at, const struct knob *k, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	at = (char *)at + k->off;
	switch (k->kind) {
	case U32:
		*(uint32_t *)at = (uint32_t)v;
		break;
	case U64:
		*(uint64_t *)at = (uint64_t)v;
		break;
	case REAL:
		*(double *)at = v;
		break;
	case FLAG:
		*(bool *)at = v != 0;
		break;
	case PATTERN:
		*(enum start_pattern *)at = (enum start_pattern)v;
		break;
	}
	return end != value && *end == '\0';
}

static bool
set_knob(void *at, const struct knob *table, const char *setting)
{
	const char *eq = strchr(setting, '=');
	size_t len = eq != NULL ? (size_t)(eq - setting) : 0;

	for (const struct knob *k = table; eq != NULL && k->name != NULL; k++)
		if (strlen(k->name) == len && strncmp(k->name, setting, len) == 0)
			return turn_knob(at, k, eq + 1);
	return false;
}

/* A changed case is another one: what it may cost is not known. */
static void
drop_limits(struct scenario *sc)
{
	sc->max_duplicates = sc->max_times_alone = sc->max_control = 0;
	sc->max_mean_alone = sc->max_worst_alone = sc->max_sent = 0;
}

static bool
change(struct scenario *sc, const char *setting, char *changes, size_t cap)
{
	size_t len = strlen(changes);

	drop_limits(sc);
	int n = snprintf(changes + len, cap - len, " --set %s", setting);
	return n > 0 && (size_t)n < cap - len && set_knob(sc, knobs, setting);
}

/* One client without anybody else, loss or mishap, with such a disk: what times are
 * compared with.  0: it failed. */
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
	one.net.loss = one.net.late = one.net.twice = 0;
	one.chunk_spread = one.damage = 0;
	world_run(&one, seed, false, &out);
	return out.failed[0] == '\0' ? out.median_us : 0;
}

/* What one alone takes whose disk nobody waits for, and how much longer than its disk
 * one takes that waits for it. */
static void
measure_alone(struct scenario *sc, uint64_t seed)
{
	uint64_t slow_us = 4 * sc->chunk_us + 1000000;

	sc->alone_net_us = alone_us(sc, seed, 1);
	sc->alone_extra_us = alone_us(sc, seed, slow_us) - sc->chunks * slow_us;
}

static void
print_head(void)
{
	printf("%-14s %8s %7s %7s %7s %6s %6s %7s %6s %8s %7s %5s %6s\n", "case",
	    "median s", "mean s", "worst s", "x alone", "x sent", "dup %", "control",
	    "ctl/s", "re-asks", "dropped", "idle", "MB/s");
	printf("%-14s %8s %7s %7s %7s %6s %6s %7s %6s %8s\n", "  with ext", "",
	    "mean x", "worst x", "", "parity", "use% -", "par% -", "ctl/s", "busiest");
}

/* With the extension what counts is what the clients received in vain. */
static double
duplicates(const struct scenario *sc, const struct outcome *out)
{
	if (sc->ext)
		return out->useless;
	return out->blocks_sent == 0
	           ? 0
	           : (double)out->blocks_resent / (double)out->blocks_sent;
}

static double
times_alone(const struct outcome *out, uint64_t alone)
{
	return alone > 0 ? (double)out->median_us / (double)alone : 0;
}

static double
control_rate(const struct scenario *sc, const struct outcome *out)
{
	return (double)(sc->ext ? out->chatter : out->control) * 1e6 /
	       (double)(out->end_us + 1);
}

static double
images_sent(const struct outcome *out)
{
	return (double)(out->blocks_sent + out->parity_sent) /
	       (double)out->image_blocks;
}

static double
ratio(double us, uint64_t alone)
{
	return alone > 0 ? us / (double)alone : 0;
}

static void
print_outcome(const struct scenario *sc, const struct outcome *out, uint64_t alone)
{
	printf("%-14s %8.2f %7.2f %7.2f %7.3f %6.3f %6.2f %7llu %6.1f %8llu %7llu"
	       " %5llu %6.1f\n",
	    sc->name, (double)out->median_us / 1e6, out->mean_us / 1e6,
	    (double)out->worst_us / 1e6, times_alone(out, alone), images_sent(out),
	    100 * duplicates(sc, out), (unsigned long long)out->control,
	    control_rate(sc, out), (unsigned long long)out->rerequests,
	    (unsigned long long)out->dropped, (unsigned long long)out->idle_timeouts,
	    (double)out->image_blocks * WIRE_BLOCK_BYTES /
		(double)(out->median_us + 1));
	if (!sc->ext)
		return;
	printf("%-14s %8s %7.3f %7.3f %7s %6.3f %6.2f %7.2f %6.1f %8llu\n", "", "",
	    ratio(out->mean_us, alone), ratio((double)out->worst_us, alone), "",
	    (double)out->parity_sent / (double)out->image_blocks, 100 * out->useless,
	    100 * out->unneeded, control_rate(sc, out),
	    (unsigned long long)out->busiest);
}

static void
check_limits(const struct scenario *sc, struct outcome *out, uint64_t alone)
{
	const struct {
		const char *what;
		double got, most;
	} limits[] = {
		{ "duplicates", duplicates(sc, out), sc->max_duplicates },
		{ "the time of one alone", times_alone(out, alone),
		    sc->max_times_alone },
		{ "the mean time, of one alone", ratio(out->mean_us, alone),
		    sc->max_mean_alone },
		{ "the slowest, of one alone", ratio((double)out->worst_us, alone),
		    sc->max_worst_alone },
		{ "sent, in images", images_sent(out), sc->max_sent },
		{ "control messages a second", control_rate(sc, out), sc->max_control },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].most > 0 && limits[i].got > limits[i].most)
			snprintf(out->failed, sizeof out->failed,
			    "%s: %.3f, at most %.3f", limits[i].what, limits[i].got,
			    limits[i].most);
}

/* For programs: one run, whatever it may cost. */
static int
tell_case(struct scenario sc, uint64_t seed)
{
	struct outcome out;

	measure_alone(&sc, seed);
	world_run(&sc, seed, false, &out);
	answer_case(&sc, seed, &out, alone_us(&sc, seed, sc.chunk_us));
	return out.failed[0] != '\0';
}

/* `changes` is how the case differs from the suite's, as --set options. */
static bool
run_case(const struct scenario *sc, uint64_t seed, bool traced, const char *changes)
{
	struct outcome out;

	world_run(sc, seed, traced, &out);
	uint64_t alone = alone_us(sc, seed, sc->chunk_us);
	print_outcome(sc, &out, alone);
	if (out.failed[0] == '\0')
		check_limits(sc, &out, alone);
	if (out.failed[0] == '\0')
		return true;
	printf("FAILED: %s\n  replay: sim --seed %llu --case %s%s --trace\n",
	    out.failed, (unsigned long long)seed, sc->name, changes);
	return false;
}

static void
shrink(struct scenario *sc, char *changes, size_t cap)
{
	if (sc->clients <= MOST_CLIENTS && sc->chunks <= MOST_CHUNKS)
		return;
	drop_limits(sc);
	sc->clients = sc->clients < MOST_CLIENTS ? sc->clients : MOST_CLIENTS;
	sc->chunks = sc->chunks < MOST_CHUNKS ? sc->chunks : MOST_CHUNKS;
	sc->old_clients = sc->old_clients < sc->clients ? sc->old_clients : 1;
	sc->crashes = sc->crashes < sc->clients ? sc->crashes : sc->clients - 1;
	snprintf(changes, cap, " --set clients=%u --set chunks=%u --set crashes=%u",
	    sc->clients, sc->chunks, sc->crashes);
}

/* The same seed twice must be the same run. */
static bool
run_twice(const struct scenario *sc)
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

/* --- servers that share a link --- */

static const struct share share_usual = { .link_bits = 100000000,
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

static int
tell_share(const struct share *sh, uint64_t seed)
{
	struct share_outcome out;

	share_run(sh, seed, &out);
	answer_share(sh, seed, &out);
	return 0;
}

/* --- --- */

static int
run_suite(uint64_t first, uint64_t seeds)
{
	unsigned run = 1, failed = !run_twice(&suite[1]);

	print_head();
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		for (size_t i = 0; i < CASES; i++) {
			struct scenario sc = suite[i];
			char changes[64] = "";
			shrink(&sc, changes, sizeof changes);
			failed += !run_case(&sc, seed, false, changes);
			run++;
			fflush(stdout);
		}
	}
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		for (uint32_t n = 2; n <= MOST_SERVERS; n *= 2) {
			struct share sh = share_usual;
			sh.servers = n;
			failed += !run_share(&sh, seed);
			sh.loss = SHARE_LOSS;
			sh.max_loss = SHARE_LOSS_MAX;
			failed += !run_share(&sh, seed);
			run += 2;
		}
	}
	printf("%u cases, %u failed\n", run, failed);
	return failed != 0;
}

static const struct scenario *
find_case(const char *name)
{
	for (size_t i = 0; i < CASES; i++)
		if (strcmp(suite[i].name, name) == 0)
			return &suite[i];
	return NULL;
}

static int
usage(FILE *f, int status)
{
	fprintf(f,
	    "usage: sim [--seed S | --seeds N] [--case NAME [--trace | --json]"
	    " [--set KEY=V]...]\n       sim --share SERVERS [--seed S | --seeds N]"
	    " [--json] [--set KEY=V]...\n       sim [--seed S] --paper\n       sim "
	    "--list\nkeys:");
	for (const struct knob *k = knobs; k->name != NULL; k++)
		fprintf(f, " %s", k->name);
	fprintf(f, "\nkeys with --share:");
	for (const struct knob *k = share_knobs; k->name != NULL; k++)
		fprintf(f, " %s", k->name);
	fprintf(f, "\n");
	return status;
}

static int
list_cases(void)
{
	for (size_t i = 0; i < CASES; i++)
		printf("%s\n", suite[i].name);
	return 0;
}

static int
run_shares(const struct share *sh, uint64_t first, uint64_t seeds)
{
	unsigned failed = 0;

	for (uint64_t s = first; s < first + seeds; s++)
		failed += !run_share(sh, s);
	printf("%llu runs, %u failed\n", (unsigned long long)seeds, failed);
	return failed != 0;
}

static int
run_one_case(const struct scenario *sc, uint64_t first, uint64_t seeds, bool traced,
    const char *changes)
{
	unsigned failed = 0;

	print_head();
	for (uint64_t s = first; s < first + seeds; s++)
		failed += !run_case(sc, s, traced, changes);
	printf("%llu cases, %u failed\n", (unsigned long long)seeds, failed);
	return failed != 0;
}

/* What the command line asks for. */
struct request {
	uint64_t seed, seeds;
	bool traced, have_case, json;
	char changes[512];
	struct scenario sc;
	struct share share;
};

static bool
turn(struct request *rq, const char *setting)
{
	if (rq->share.servers == 0)
		return rq->have_case &&
		       change(&rq->sc, setting, rq->changes, sizeof rq->changes);
	/* What a changed one may cost is not known. */
	rq->share.min_jain = rq->share.min_use = 0;
	rq->share.max_loss = 1;
	return set_knob(&rq->share, share_knobs, setting);
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
	case 'p':
		return paper_tables(rq->seed);
	case 'l':
		return list_cases();
	case 'h':
		return usage(stdout, 0);
	case 'c':
		if ((sc = find_case(arg)) == NULL)
			return usage(stderr, 2);
		rq->sc = *sc;
		rq->have_case = true;
		return -1;
	case 'S':
		rq->share = share_usual;
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
		{ "paper", no_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "set", required_argument, NULL, 'k' },
		{ "trace", no_argument, NULL, 't' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request rq = { .seed = 1, .seeds = 1 };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if ((rc = understand(&rq, opt, optarg)) >= 0)
			return rc;
	if (rq.json)
		return rq.share.servers > 0 ? tell_share(&rq.share, rq.seed)
		       : rq.have_case       ? tell_case(rq.sc, rq.seed)
		                            : usage(stderr, 2);
	if (rq.share.servers > 0)
		return run_shares(&rq.share, rq.seed, rq.seeds);
	if (rq.have_case)
		return run_one_case(&rq.sc, rq.seed, rq.seeds, rq.traced, rq.changes);
	return run_suite(rq.seed, rq.seeds);
}
