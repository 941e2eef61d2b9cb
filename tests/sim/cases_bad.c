/* cases_bad.c: the suite's cases in which one client is worse than the others, or strangers
 * do harm.  Each is compared with the same seed without them: the others may take so much
 * longer.  They are small, and run with many seeds. */
#include "tests/sim/cases.h"
#include "tests/sim/foe.h"
#include "tests/sim/machines.h"

/* Seven machines of which one is bad: of a fixed rate, and of one that is looked for. */
#define SEVEN .clients = 7, QUICK_AT(60000000), EXT
#define FIXED SEVEN, .bad_clients = 1, .chunks = 24, .max_clean = 1.1, .clean_extra_us = 50000
/* Where all lose something, none of them is clean: what they need of parity goes among
 * that of the bad one, and one may lose what repairs its last chunk, too, and says so
 * after 1.5 s. */
#define LONGER SEVEN, .bad_clients = 1, .chunks = 48, .max_clean = 1.25, \
	.clean_extra_us = 300000, .clean_tail_us = 1500000
#define FOUND SEVEN, .bad_clients = 1, .chunks = 40, .dynamic = true, .max_clean = 1.1, \
	.clean_extra_us = 50000
/* One stranger for every four. */
#define ATTACK .clients = 8, .foes = 2, QUICK_AT(60000000), EXT, .chunks = 16, \
	.max_clean = 1.5, .clean_extra_us = 2000000
/* One stranger beside one or two clients: twice the time, and two seconds.  The link
 * carries what the server sends twice.  The load of one is longer, so that what chance
 * does at its end does not count more than with two. */
#define BESIDE_A_FOE(n, size) .clients = (n), .foes = 1, CLIENT(64), EXT, .chunk_us = 1000, \
	.chunks = (size), .max_clean = 2, .clean_extra_us = 2000000
#define ONE_FOE(n) BESIDE_A_FOE(n, 24 * (3 - (n))), LAN
#define REPEATED .rate_bits = 30000000, .foe_does = FOE_REPEAT, \
	SKEWED(START_UNIFORM, 1)

/* How long a load takes is not promised beside who repeats the server's packets; that nobody is
 * silent is.  Several clients hold back what they ask for, until something is repeated. */
#define ECHOED(n) \
	.clients = (n), .foes = 1, .foe_does = FOE_ECHO, QUICK_AT(30000000), EXT, .chunks = 6, \
	.net.loss = 0.02, .max_clean = 20

/* A server of 10 Gbit/s, and clients of 1. */
#define FAST_NET \
	.net.port_bits = 10000000000, .net.client_bits = 1000000000, \
	.net.queue_bytes = 1 << 19, .net.latency_us = 60, .net.socket_packets = 4000, \
	.net.read_ns = 1000, .rate_bits = 10000000000, .dynamic = true
#define FOUND_RATE .rate_bits = 1000000000, .dynamic = true

/* A second server begins when half of the image is there.  Who comes later still may
 * choose the one or the other: then the link carries two images, each at half the rate.
 * FOR_EVER: one that dies does not come back. */
#define RIVAL(times, us) \
	.clients = 8, QUICK_AT(60000000), EXT, .dynamic = true, .chunks = 24, \
	.net.loss = 0.01, .rival_us = 2000000, .max_clean = (times), \
	.clean_extra_us = (us)
#define FOR_EVER UINT64_C(1000000000000)

const struct scenario bad_cases[] = {
	{ "bad-port", FIXED, .bad.bits = 30000000 },
	{ "bad-port-found", FOUND, .bad.bits = 30000000 },
	{ "bad-loss", FIXED, .bad.loss = 0.05 },
	{ "bad-loss-20", FIXED, .bad.loss = 0.2 },
	{ "bad-loss-found", FOUND, .bad.loss = 0.05 },
	{ "bad-bursts", FIXED, .bad.loss = 0.1, .bad.burst_us = 30000 },
	{ "bad-bursts-found", FOUND, .bad.loss = 0.1, .bad.burst_us = 30000 },
	{ "bad-up", FIXED, .bad.loss_up = 0.5 },
	{ "bad-death", SEVEN, .crashes = 1, .chunks = 24,
	    .net.loss = 0.01, .max_clean = 1.1, .clean_extra_us = 50000 },
	{ "bad-any", FIXED, .bad_drawn = true },
	{ "bad-any-found", FOUND, .bad_drawn = true },
	{ "bad-any-loss", LONGER, .bad_drawn = true, .net.loss = 0.01 },
	{ "foes-complain", ATTACK, .dynamic = true, .foe_does = FOE_COMPLAIN },
	{ "foes-lie", ATTACK, .foe_does = FOE_LIE },
	{ "foes-flood", ATTACK, .foe_does = FOE_FLOOD },
	{ "foes-replay", ATTACK, .dynamic = true, .foe_does = FOE_REPLAY },
	{ "foes-hush", ATTACK, .foe_does = FOE_HUSH },
	{ "foe-repeat-one", ONE_FOE(1), REPEATED },
	{ "foe-repeat-two", ONE_FOE(2), REPEATED },
	{ "foe-repeat-old", ONE_FOE(2), REPEATED, .old_clients = 1 },
	{ "foe-repeat-loss", ONE_FOE(2), REPEATED, .net.loss = 0.01 },
	{ "foe-echo", ECHOED(8) },
	{ "foe-echo-old", ECHOED(2), .old_clients = 2, .bad_clients = 1, .bad_old = true,
	    .bad.loss_up = 0.5 },
	/* Half of what is sent is its share beside one client, and a third beside two; and
	 * requests have a chunk's worth before the carousel has its turn. */
	{ "foe-ask-one", ONE_FOE(1), FOUND_RATE, .foe_does = FOE_ASK, .clean_sent = 2.5 },
	{ "foe-ask-two", ONE_FOE(2), FOUND_RATE, .foe_does = FOE_ASK, .clean_sent = 2.5 },
	/* What the rate brings in half a second is a large part of a small image. */
	{ "foe-want-one", ONE_FOE(1), FOUND_RATE, .foe_does = FOE_WANT },
	{ "foe-want-two", ONE_FOE(2), FOUND_RATE, .foe_does = FOE_WANT, .clean_sent = 2.5 },
	/* They lack a twelfth, and come when everything was sent once. */
	{ "foe-want-late", BESIDE_A_FOE(2, 48), LAN, .rate_bits = 90000000,
	    .foe_does = FOE_WANT, .lacks_every = 12, SKEWED(START_LATE, 6), .clean_sent = 24 },
	{ "foe-urge-one", BESIDE_A_FOE(1, 96), FAST_NET, .foe_does = FOE_URGE },
	{ "foe-urge-two", BESIDE_A_FOE(2, 48), FAST_NET, .foe_does = FOE_URGE },
	{ "foe-join-one", ONE_FOE(1), FOUND_RATE, .foe_does = FOE_JOIN },
	{ "foe-join-two", ONE_FOE(2), FOUND_RATE, .foe_does = FOE_JOIN },
	{ "foe-blame-one", ONE_FOE(1), FOUND_RATE, .foe_does = FOE_BLAME },
	{ "foe-blame-two", ONE_FOE(2), FOUND_RATE, .foe_does = FOE_BLAME },
	/* Half of the time the rate is that of the server's own link, ten times what
	 * passes. */
	{ "foe-object-one", ONE_FOE(1), FOUND_RATE, .foe_does = FOE_OBJECT,
	    .clean_sent = 8 },
	{ "foe-object-two", ONE_FOE(2), FOUND_RATE, .foe_does = FOE_OBJECT },
	{ "rival", RIVAL(1.5, 2000000) },
	{ "rival-old", RIVAL(1.5, 2000000), .old_clients = 2 },
	{ "rival-late", RIVAL(2, 2000000), SKEWED(START_UNIFORM, 4) },
	{ "rival-same", RIVAL(1.5, 2000000), .rival_same = true },
	{ "rival-same-late", RIVAL(2, 2000000), .rival_same = true,
	    SKEWED(START_UNIFORM, 4) },
	/* It waits, and the first one dies: after 2 s they go on with it. */
	{ "rival-standby", RIVAL(1.1, 3000000), .rival_same = true,
	    .restart_us = 3000000, .down_us = FOR_EVER },
};
const size_t bad_cases_count = sizeof bad_cases / sizeof bad_cases[0];
