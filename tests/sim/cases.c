/* cases.c: the cases of the suite (cases.h).  The simulator reads them, in its only thread. */
#include "tests/sim/cases.h"

#include <string.h>

#include "tests/sim/machines.h"

/* A relay and the clients behind it, on two networks of the same rate.  The run may take this
 * share of the time of two loads in sequence. */
#define RELAY(n, share) \
	.clients = (n), .chunks = 32, QUICK, .relay = true, .max_overlap = (share)

/* Clients on ports of this rate; the server has a card of 10 Gbit/s, and is told no rate. */
#define FOUND_ON(bits) \
	.net.port_bits = 10000000000, .net.client_bits = (bits), .net.queue_bytes = 1 << 19, \
	.net.latency_us = 60, .net.socket_packets = 4000, .net.read_ns = 1000, CLIENT(64), \
	.rate_bits = 10000000000, .dynamic = true

/* Clients on ports of this rate that hold so many KiB, and the server's card. */
#define PORTS_OF(n, card, bits, kib) \
	.clients = (n), .net.port_bits = (card), .net.client_bits = (bits), \
	.net.queue_bytes = (kib) << 10, .net.latency_us = 60, .net.socket_packets = 4000, \
	.net.read_ns = 1000, CLIENT(64), .chunk_us = 1000, EXT
#define PORTS(kib) PORTS_OF(8, 10000000000, 1000000000, kib)
/* A stream of TCP beside the load of a lone client: it gets at least half of its share. */
#define BESIDE_TCP(kib) \
	PORTS_OF(1, 10000000000, 1000000000, kib), .chunks = 400, .rate_bits = 10000000000, \
	.dynamic = true, .tcp_us = 500000, .min_tcp = 0.5, .max_tcp = 1.5
/* The server sends at this rate, so many images; or it finds its rate: at 900 Mbit/s a load takes
 * 1.11 times the ideal. */
#define SENT_AT(rate, most) .chunks = 200, .rate_bits = (rate), .max_sent = (most)
#define FOUND_BESIDE_900M(times) \
	.chunks = 400, .rate_bits = 10000000000, .dynamic = true, .best_bits = 900000000, \
	.max_of_best = (times)
/* The server wakes late. */
#define AWAKE_LATE .late_us = 200

/* Clients that read in one recorded order, with a pause of 50 ms behind each read. */
#define READERS(n, each, blocks) \
	.readers = (n), .reads = (each), .read_blocks = (blocks), .think_us = 50000

/* Clients that start from the disk that they load: `each` reads of 32 KiB in one order that they
 * know, with a pause of 30 ms behind each read.  94 of them are 4.6 % of 64 chunks, as much as
 * machines read of their disks while they start. */
#define BOOTS(n, each) STARTS(n, each), .ahead = 8
/* The same clients, which do not know the order; the server knows it. */
#define ORDERED(n, each) STARTS(n, each), .ordered = true
#define STARTS(n, each) \
	.readers = (n), .reads = (each), .read_blocks = 32, .think_us = 30000

const struct scenario cases[] = {
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
	    .loss_burst = 20 },
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
	{ "x-first", .clients = 24, .chunks = 48, QUICK, EXT, .first = true,
	    .net.loss = 0.01, SKEWED(START_UNIFORM, 4) },
	{ "x-first-few", .clients = 8, .chunks = 48, LAN, CLIENT(8), DISK, EXT,
	    .first = true, .rate_bits = 70000000, SKEWED(START_UNIFORM, 4) },
	{ "x-first-pair", .clients = 2, .chunks = 14, LAN, CLIENT(32), DISK, EXT,
	    .first = true, .server_known = true, .rate_bits = 60000000,
	    .start = START_UNIFORM, .spread_us = 150000, LIMITS(0.05, 1.2, 40) },
	{ "first", .clients = 6, .chunks = 24, PAPER, .first = true, .net.loss = 0.01,
	    SKEWED(START_UNIFORM, 2) },
	{ "x-plain", .clients = 8, .chunks = 32, QUICK, .ext = true, .net.loss = 0.01,
	    SKEWED(START_UNIFORM, 2) },
	{ "x-old", .clients = 12, .chunks = 48, QUICK, EXT, .old_clients = 2,
	    SKEWED(START_UNIFORM, 4), .net.loss = 0.01 },
	{ "x-old-one", .clients = 20, .chunks = 48, PAPER, EXT, .old_clients = 1 },
	{ "x-all-old", .clients = 8, .chunks = 24, PAPER, EXT, .old_clients = 8 },
	/* If one client's first three JOINs are lost, 1.5 chunks of the 48 go out twice. */
	{ "x-bursts", .clients = 80, .chunks = 48, QUICK, EXT, .net.loss = 0.05,
	    .loss_burst = 10, GOALS(0.04, 1.25, 1.6, 1.3, 100) },
	{ "x-bursts-100", .clients = 24, .chunks = 48, QUICK, EXT, .net.loss = 0.05,
	    .loss_burst = 100 },
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
	{ "x-arriving", .clients = 8, .chunks = 48, QUICK, EXT, .arrival_us = 100000,
	    .net.loss = 0.01, SKEWED(START_UNIFORM, 2) },
	{ "x-arriving-fast", .clients = 8, .chunks = 48, QUICK, EXT, .arrival_us = 5000,
	    .net.loss = 0.01 },
	{ "x-arriving-restart", .clients = 4, .chunks = 24, QUICK, EXT,
	    .arrival_us = 100000, .restart_us = 1000000, .down_us = 500000,
	    .net.loss = 0.01 },
	{ "arriving", .clients = 4, .chunks = 24, QUICK, .arrival_us = 100000,
	    .net.loss = 0.01 },
	{ "x-readers", .clients = 80, .chunks = 64, QUICK, EXT, .net.loss = 0.01,
	    READERS(80, 40, 40), .max_read_median_us = 30000, .max_read_99_us = 250000,
	    .max_urgent = 3 },
	{ "x-readers-few", .clients = 8, .chunks = 64, QUICK, EXT, READERS(2, 60, 30),
	    .max_read_median_us = 20000, .max_read_99_us = 60000, .max_urgent = 1.1 },
	{ "x-readers-packs", .clients = 16, .chunks = 64, QUICK, PACKS(8), .empty = 0.3,
	    .net.loss = 0.01, READERS(16, 40, 64), .max_read_median_us = 30000,
	    .max_read_99_us = 250000, .max_urgent = 3 },
	{ "x-boots", .clients = 80, .chunks = 64, QUICK, EXT, BOOTS(80, 94),
	    .max_boot = 1.5, .max_whole = 1.05 },
	{ "x-boots-loss", .clients = 16, .chunks = 64, QUICK, EXT, BOOTS(16, 94),
	    .net.loss = 0.01, .max_boot = 1.5, .max_whole = 1.1 },
	{ "x-boots-late", .clients = 16, .chunks = 64, QUICK, EXT, BOOTS(16, 94),
	    SKEWED(START_UNIFORM, 2), .max_boot = 1.5, .max_whole = 1.2 },
	{ "x-boots-ordered", .clients = 16, .chunks = 64, QUICK, EXT, ORDERED(16, 94),
	    .min_there = 0.9, .max_boot = 1.5, .max_whole = 1.2 },
	{ "x-boots-known", .clients = 16, .chunks = 64, QUICK, EXT, BOOTS(16, 94), .ordered = true,
	    .max_boot = 1.5, .max_whole = 1.06 },
	{ "x-relay", RELAY(8, 0.6), EXT },
	{ "x-relay-loss", RELAY(8, 0.7), EXT, .net.loss = 0.01 },
	{ "x-relay-bursts", RELAY(8, 0.9), EXT, .net.loss = 0.05, .loss_burst = 10 },
	{ "x-relay-late", RELAY(8, 0.9), EXT, SKEWED(START_UNIFORM, 2),
	    .net.loss = 0.01 },
	{ "x-relay-old", RELAY(8, 0.8), EXT, .old_clients = 3, .net.loss = 0.01 },
	{ "x-relay-outage", RELAY(8, 0.8), EXT, .restart_us = 2000000,
	    .down_us = 2000000, .net.loss = 0.01 },
	{ "x-relay-packs", RELAY(8, 0.7), PACKS(8), .empty = 0.3, .net.loss = 0.01 },
	{ "x-relay-arriving", RELAY(8, 0.75), EXT, .arrival_us = 100000,
	    .net.loss = 0.01 },
	/* The server is gone for ever when half of the clients come: no sooner than behind
	 * a relay that waits. */
	{ "x-relay-alone", RELAY(8, 1.05), EXT, SKEWED(START_GROUPS, 9),
	    .restart_us = 5600000, .down_us = UINT64_C(1000000000000),
	    .net.loss = 0.01 },
	/* A chunk that the one client behind the relay asks for comes next but two, at 0.13 s a
	 * chunk. */
	{ "relay-asked", RELAY(2, 0.85), .max_wait_us = 650000 },
	{ "relay", RELAY(8, 0.9), .net.loss = 0.01 },
	{ "relay-outage", RELAY(4, 0.9), .restart_us = 2000000, .down_us = 2000000,
	    .net.loss = 0.01 },
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
	{ "x-damage-one-loss", .clients = 1, .chunks = 32, QUICK, EXT, .damage = 0.3,
	    .net.loss = 0.05 },
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
	{ "x-found-link", .clients = 4, .chunks = 400, FOUND_ON(1000000000), EXT,
	    .chunk_us = 1000, .max_of_best = 1.1, .best_bits = 960000000, .max_sent = 1.1 },
	{ "x-found-disk", .clients = 4, .chunks = 400, FOUND_ON(10000000000), EXT,
	    .chunk_us = 10000, .max_of_best = 1.1, .best_bits = 2000000000, .max_sent = 1.1 },
	{ "x-ports-64", PORTS(64), FOUND_BESIDE_900M(1.4) },
	{ "x-ports-32", PORTS(32), FOUND_BESIDE_900M(1.65) },
	{ "x-ports-16-900", PORTS(16), SENT_AT(900000000, 1.02) },
	{ "x-ports-32-late", PORTS(32), SENT_AT(900000000, 1.02), AWAKE_LATE,
	    .max_mean_alone = 1.05 },
	{ "x-ports-64-late", PORTS(64), FOUND_BESIDE_900M(1.4), AWAKE_LATE },
	{ "x-ports-shared", PORTS(1024), FOUND_BESIDE_900M(1.4),
	    .net.shared_bytes = 512 << 10 },
	{ "x-ports-mixed", PORTS(128), FOUND_BESIDE_900M(1.4), .bad_clients = 4,
	    .bad.bits = 2500000000 },
	{ "x-ports-cross", PORTS(128), SENT_AT(800000000, 1.1), .net.cross = 0.05 },
	{ "x-ports-tcp", BESIDE_TCP(128) },
	{ "x-ports-tcp-32", BESIDE_TCP(32) },
	{ "x-ports-tcp-512", BESIDE_TCP(512) },
	{ "x-ports-10g", PORTS_OF(8, 25000000000, 10000000000, 256),
	    SENT_AT(9000000000, 1.05) },
	/* Three of four have left after 1.5 s; the other one knows only the base protocol. */
	{ "x-ports-left", PORTS_OF(4, 1000000000, 1000000000, 128), .bad_clients = 1,
	    .bad.bits = 50000000, .bad.queue_bytes = 60000, .bad_old = true, .chunks = 96,
	    .rate_bits = 1000000000, .dynamic = true, .max_sent = 6 },
	{ "x-packs", .clients = 8, .chunks = 48, QUICK, PACKS(8), .net.loss = 0.01,
	    .empty = 0.3 },
	{ "x-packs-crowd", .clients = 80, .chunks = 48, QUICK, PACKS(8), .empty = 0.05,
	    SKEWED(START_UNIFORM, 4), .net.loss = 0.01 },
	{ "x-packs-bursts", .clients = 24, .chunks = 48, QUICK, PACKS(8),
	    .net.loss = 0.05, .loss_burst = 10, GOALS(0.05, 1.25, 1.6, 1.3, 100) },
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
const size_t cases_count = sizeof cases / sizeof cases[0];

const struct scenario *
cases_find(const char *name)
{
	for (size_t i = 0; i < cases_count; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	for (size_t i = 0; i < bad_cases_count; i++)
		if (strcmp(bad_cases[i].name, name) == 0)
			return &bad_cases[i];
	return NULL;
}
