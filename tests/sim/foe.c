/* foe.c: makes the packets of hostile strangers in the group (foe.h).  The simulated
 * world asks each stranger for its next packet when the stranger may send again, in the
 * program's only thread. */
#include "tests/sim/foe.h"

#include <math.h>
#include <string.h>

#include "common/wire/wire.h"
#include "tests/sim/net.h"

enum {
	PACKETS_A_SECOND = 1000,
	LINK_SHARE = 20, /* a stranger may use 1 / LINK_SHARE of the link */
	HURRY = 10,      /* or so many times as much while it repeats what the server sends */
	ENVELOPE_BYTES = 8 + 20 + 18 + 20, /* UDP, IP, Ethernet, preamble and gap */
	NONSENSE_BYTES = 200,
	ECHO_NS = 2500000,  /* between two packets of the server that it repeats */
	ANSWER_NS = 250000, /* between two answers to nobody, or twice as long */
};

void
foe_init(struct foe *f, enum foe_does does, uint64_t seed, uint64_t link_bits)
{
	uint8_t ip[4];

	memcpy(ip, f->ip, sizeof ip);
	uint32_t nchunks = f->nchunks;
	memset(f, 0, sizeof *f);
	memcpy(f->ip, ip, sizeof ip);
	f->nchunks = nchunks;
	f->rng = seed;
	f->id = (uint32_t)random_next(&f->rng) >> 1;
	f->does = does != FOE_DRAWN
	              ? does
	              : (enum foe_does)(1 + random_next(&f->rng) % (FOE_KINDS - 1));
	/* A low rate may do as much harm as a high one, so the rate is drawn from all
	 * orders of magnitude between 1 and PACKETS_A_SECOND. */
	double per_s = pow(PACKETS_A_SECOND, random_fraction(&f->rng));
	f->gap_ns = (uint64_t)(1e9 / per_s);
	f->wire_ns = LINK_SHARE * UINT64_C(8000000000) / link_bits;
	if (f->does == FOE_ECHO)
		f->gap_ns = ECHO_NS;
	/* Whoever answers before it is asked answers often. */
	if (f->does == FOE_REPEAT) {
		f->gap_ns = ANSWER_NS + random_next(&f->rng) % ANSWER_NS;
		foe_repeat_begin(&f->repeat, f->ip, &f->rng);
	}
}

uint64_t
foe_rests_ns(const struct foe *f, size_t len)
{
	uint64_t wire = (len + ENVELOPE_BYTES) * f->wire_ns;

	if (foe_repeat_hurries(&f->repeat))
		return wire / HURRY;
	return wire > f->gap_ns ? wire : f->gap_ns;
}

/* Is this a packet that only a server sends? */
static bool
is_servers(const void *pkt, size_t len)
{
	struct wirext_msg m;
	struct wire_msg b;
	struct err e;

	if (wirext_is(pkt, len))
		return wirext_get(&m, pkt, len, &e) == 0 &&
		       (m.kind == WIREXT_STATE || m.kind == WIREXT_TIME ||
			   m.kind == WIREXT_PARITY || m.kind == WIREXT_DATA ||
			   m.kind == WIREXT_MTU_PROBE);
	return wire_get(&b, pkt, len, &e) != 0 || b.type == WIRE_REPLY ||
	       b.subtype == WIRE_BLOCK;
}

static void
hear_position(struct foe *f, const void *pkt, size_t len)
{
	struct wire_msg b;
	struct err e;

	if (wirext_is(pkt, len) || wire_get(&b, pkt, len, &e) != 0 ||
	    b.type != WIRE_REQUEST || b.subtype != WIRE_BLOCK ||
	    b.u.block.chunk == f->chunk)
		return;
	f->chunk_before = f->chunk;
	f->chunk = b.u.block.chunk;
}

void
foe_hears(struct foe *f, const void *pkt, size_t len)
{
	struct wirext_msg m;
	struct err e;

	if (wirext_is(pkt, len) && wirext_get(&m, pkt, len, &e) == 0 &&
	    (m.kind == WIREXT_STATE || m.kind == WIREXT_TIME)) {
		/* Keep the first session that was heard: later ones may be forged by
		 * another stranger. */
		if (f->session == 0)
			f->session = m.session;
		if (m.kind == WIREXT_TIME && m.session == f->session)
			f->epoch = m.u.time.epoch;
	}
	hear_position(f, pkt, len);
	if (f->does == FOE_REPEAT)
		foe_repeat_hears(&f->repeat, pkt, len);
	bool repeats_server = f->does == FOE_FORGE || f->does == FOE_ECHO;
	if ((f->does != FOE_REPLAY && !repeats_server) ||
	    is_servers(pkt, len) != repeats_server ||
	    random_next(&f->rng) % 4 != 0)
		return;
	uint32_t i = f->kept < FOE_KEPT ? f->kept++
	                                : (uint32_t)(random_next(&f->rng) % FOE_KEPT);
	f->heard[i].len = len;
	memcpy(f->heard[i].bytes, pkt, len);
}

static struct wirext_msg
message(const struct foe *f, enum wirext_kind kind)
{
	struct wirext_msg m = { .kind = kind, .session = f->session };

	memcpy(m.srcip, f->ip, 4);
	return m;
}

static size_t
joins(struct foe *f, void *pkt, uint32_t id)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };

	memcpy(m.srcip, f->ip, 4);
	m.u.join.clientid = id;
	return wirext_put_offer(
	    pkt, wire_put(&m, pkt, WIRE_PACKET_MAX), WIRE_PACKET_MAX, 1);
}

static size_t
complains(struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_CONGESTION);

	m.u.congestion.clientid = f->id;
	m.u.congestion.epoch = f->epoch;
	m.u.congestion.of = 100;
	m.u.congestion.lost = 1 + (uint32_t)(random_next(&f->rng) % 99);
	m.u.congestion.queue = random_next(&f->rng) % 8 != 0;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
objects(const struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_HEARS);

	m.u.hears.clientid = f->id;
	m.u.hears.epoch = f->epoch;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* A NACK that says that much is lacking of many chunks: whole groups of 128 blocks, or
 * 120 and fewer, which is the most that a server believes. */
static size_t
lies(struct foe *f, void *pkt)
{
	static const uint8_t much[] = { 128, 120, 64, 60, 12 };
	struct wirext_msg m = message(f, WIREXT_NACK);
	uint8_t lack = much[random_next(&f->rng) % sizeof much];

	m.u.nack.clientid = f->id;
	m.u.nack.n = f->nchunks < WIREXT_NACKS ? f->nchunks : WIREXT_NACKS;
	for (uint32_t i = 0; i < m.u.nack.n; i++) {
		m.u.nack.at[i].chunk = (uint32_t)((f->said + i) % f->nchunks);
		memset(m.u.nack.at[i].lack, lack, sizeof m.u.nack.at[i].lack);
	}
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
wants(struct foe *f, void *pkt)
{
	static uint8_t bits[WIREXT_MAP_CHUNKS / 8];
	struct wirext_msg m = message(f, WIREXT_WANT);

	memset(bits, 0xff, sizeof bits);
	m.u.want.clientid = f->id;
	m.u.want.map = (struct wirext_map){ 0, f->nchunks, bits };
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
goes_on(struct foe *f, void *pkt, uint32_t blocks)
{
	struct wirext_msg m = message(f, WIREXT_CREDIT);

	m.u.credit.clientid = f->id;
	m.u.credit.blocks = blocks;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
requests(struct foe *f, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_REQ };

	memcpy(m.srcip, f->ip, 4);
	m.u.req.chunk = (uint32_t)(random_next(&f->rng) % f->nchunks);
	m.u.req.count = random_next(&f->rng) % 2 ? WIRE_CHUNK_BLOCKS : 1;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
asks_again(const struct foe *f, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_REQ };

	memcpy(m.srcip, f->ip, 4);
	m.u.req.chunk = f->chunk_before;
	m.u.req.count = WIRE_CHUNK_BLOCKS;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

/* Half of its messages grant the credit without which nothing comes. */
static size_t
wants_again(struct foe *f, void *pkt)
{
	return f->said % 2 == 0 ? goes_on(f, pkt, UINT32_MAX) : wants(f, pkt);
}

static size_t
urges(const struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_URGENT);

	m.u.urgent.clientid = f->id;
	m.u.urgent.n = 1;
	m.u.urgent.at[0] = (struct wirext_run){ f->chunk_before, 0, WIRE_CHUNK_BLOCKS };
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
nonsense(struct foe *f, void *pkt)
{
	uint8_t *b = pkt;

	for (unsigned i = 0; i < NONSENSE_BYTES; i++)
		b[i] = (uint8_t)random_next(&f->rng);
	return NONSENSE_BYTES;
}

static size_t
leaves(struct foe *f, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE };

	memcpy(m.srcip, f->ip, 4);
	m.u.leave.clientid = f->id;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

/* Credit from a position that the server passed long ago is worth nothing. */
static size_t
goes_on_from_long_ago(struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_CREDIT_AT);

	m.u.credit.clientid = f->id;
	m.u.credit.blocks = 1;
	m.u.credit.chunk = f->chunk_before;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* What others are silent for.  The server ignores a client that has just left, but other
 * clients do not know that. */
static size_t
hushes(struct foe *f, void *pkt)
{
	switch (f->said % 8) {
	case 2:
		f->id++;
		return goes_on(f, pkt, 0); /* joins */
	case 3:
		return leaves(f, pkt);
	case 4:
	case 7:
		return goes_on(f, pkt, UINT32_MAX);
	case 5:
	case 0:
		return wants(f, pkt);
	case 6:
		return lies(f, pkt);
	default:
		return goes_on_from_long_ago(f, pkt);
	}
}

static size_t
floods(struct foe *f, void *pkt)
{
	switch (random_next(&f->rng) % 6) {
	case 0:
		return joins(f, pkt, f->id + (uint32_t)f->said % 1000);
	case 1:
	case 2:
		return requests(f, pkt);
	case 3:
		return wants(f, pkt);
	case 4:
		return goes_on(f, pkt, UINT32_MAX);
	default:
		return nonsense(f, pkt);
	}
}

/* A packet that was heard, again: unchanged, or as if the stranger had sent it. */
static size_t
replays(struct foe *f, void *pkt)
{
	if (f->kept == 0)
		return 0;
	uint32_t i = (uint32_t)(random_next(&f->rng) % f->kept);
	size_t len = f->heard[i].len;
	struct wire_msg m;
	struct err e;

	memcpy(pkt, f->heard[i].bytes, len);
	if (random_next(&f->rng) % 4 == 0)
		return len;
	if (wirext_is(pkt, len)) {
		memcpy((uint8_t *)pkt + 8, f->ip, 4);
	} else if (wire_get(&m, f->heard[i].bytes, len, &e) == 0 &&
		   m.subtype != WIRE_BLOCK) {
		memcpy(m.srcip, f->ip, 4);
		len = wire_put(&m, pkt, WIRE_PACKET_MAX);
	}
	return len;
}

/* A packet of the server, again and unchanged. */
static size_t
echoes(struct foe *f, void *pkt)
{
	if (f->kept == 0)
		return 0;
	uint32_t i = (uint32_t)(random_next(&f->rng) % f->kept);

	memcpy(pkt, f->heard[i].bytes, f->heard[i].len);
	return f->heard[i].len;
}

const uint8_t *
foe_sends_as(const struct foe *f, const uint8_t *pkt, size_t len)
{
	return f->does == FOE_ECHO ? pkt + (wirext_is(pkt, len) ? 8 : 12) : f->ip;
}

static size_t
forged_state(struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_STATE);
	static const uint8_t bits[WIREXT_MAP_CHUNKS / 8];

	m.session += (uint32_t)(random_next(&f->rng) % 2);
	m.u.state.identity[0] = (uint8_t)(1 + random_next(&f->rng) % 2);
	m.u.state.flags = (uint32_t)(random_next(&f->rng) % 8);
	m.u.state.clients = (uint32_t)random_next(&f->rng) % 100;
	m.u.state.chunks = f->nchunks;
	m.u.state.coming = (struct wirext_map){ 0, f->nchunks, bits };
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
forged_time(struct foe *f, void *pkt)
{
	struct wirext_msg m = message(f, WIREXT_TIME);

	m.u.time.epoch = f->epoch + (uint32_t)(random_next(&f->rng) % 3);
	m.u.time.sent = random_next(&f->rng) % 1000000;
	m.u.time.time_us = random_next(&f->rng) % 100000000;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
forged_block(struct foe *f, void *pkt)
{
	memset(pkt, 0xee, WIRE_BLOCK_PACKET_BYTES);
	wire_put_block_header(pkt, f->ip,
	    (uint32_t)(random_next(&f->rng) % f->nchunks),
	    (uint32_t)(random_next(&f->rng) % WIRE_CHUNK_BLOCKS));
	return WIRE_BLOCK_PACKET_BYTES;
}

static size_t
forges(struct foe *f, void *pkt)
{
	switch (random_next(&f->rng) % 4) {
	case 0:
		return forged_state(f, pkt);
	case 1:
		return forged_time(f, pkt);
	case 2:
		return replays(f, pkt);
	default:
		return forged_block(f, pkt);
	}
}

size_t
foe_speaks(struct foe *f, uint64_t now_ns, void *pkt)
{
	/* A host that joins learns the session, and is counted as a client. */
	bool only = f->does == FOE_BLAME || f->does == FOE_OBJECT || f->does == FOE_ASK ||
	            f->does == FOE_WANT || f->does == FOE_URGE;

	if (f->session == 0 || (f->said++ % 1000 == 0 && !only))
		return joins(f, pkt, f->id);
	switch (f->does) {
	case FOE_REPEAT:
		return foe_repeat_speaks(&f->repeat, now_ns, pkt);
	case FOE_COMPLAIN:
	case FOE_BLAME:
		return complains(f, pkt);
	case FOE_ASK:
		return asks_again(f, pkt);
	case FOE_OBJECT:
		return objects(f, pkt);
	case FOE_JOIN:
		return joins(f, pkt, f->id + (uint32_t)f->said % 2 * (uint32_t)f->said);
	case FOE_WANT:
		return wants_again(f, pkt);
	case FOE_URGE:
		return urges(f, pkt);
	case FOE_LIE:
		return lies(f, pkt);
	case FOE_FLOOD:
		return floods(f, pkt);
	case FOE_REPLAY:
		return replays(f, pkt);
	case FOE_HUSH:
		return hushes(f, pkt);
	case FOE_ECHO:
		return echoes(f, pkt);
	default:
		return forges(f, pkt);
	}
}
