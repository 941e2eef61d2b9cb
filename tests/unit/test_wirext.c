/* The extension's packets: there and back, every truncation, impossible values. */
#include <string.h>

#include "common/wire/wirext.h"
#include "tests/t.h"
#include "tests/unit/frozen.h"

static const uint8_t bits[1000] = { 0x81, 0xff },
		     data[WIREXT_DATA_BLOCKS * WIRE_BLOCK_BYTES] = { 7 };

static void
state_sample(struct wirext_msg *m)
{
	memset(m->u.state.identity, 0xa5, sizeof m->u.state.identity);
	m->u.state.flags = WIREXT_IDLE;
	m->u.state.clients = 80;
	m->u.state.chunks = 9000;
	m->u.state.coming = (struct wirext_map){ 16, WIREXT_MAP_CHUNKS, bits };
}

static void
want_sample(struct wirext_msg *m)
{
	m->u.want.clientid = 77;
	m->u.want.map = (struct wirext_map){ 3, 13, bits };
}

static void
nack_sample(struct wirext_msg *m)
{
	m->u.nack.clientid = 78;
	m->u.nack.n = WIREXT_NACKS;
	for (uint32_t i = 0; i < WIREXT_NACKS; i++)
		m->u.nack.at[i] = (struct wirext_nack){ i * 5, { 1, 128, (uint8_t)i } };
}

static void
parity_sample(struct wirext_msg *m)
{
	m->u.parity.chunk = 5;
	m->u.parity.group = 7;
	m->u.parity.index = 126;
	m->u.parity.content = 1000;
	m->u.parity.data = data;
}

static void
credit_sample(struct wirext_msg *m)
{
	m->u.credit.clientid = 79;
	m->u.credit.blocks = 3072;
}

static void
time_sample(struct wirext_msg *m)
{
	m->u.time.epoch = 80;
	m->u.time.sent = UINT64_C(1) << 40;
	m->u.time.time_us = UINT64_MAX - 1;
}

static void
congestion_sample(struct wirext_msg *m)
{
	m->u.congestion.clientid = 81;
	m->u.congestion.epoch = 80;
	m->u.congestion.lost = m->u.congestion.of = 200;
	m->u.congestion.queue = true;
}

static void
credit_at_sample(struct wirext_msg *m)
{
	m->u.credit.clientid = 82;
	m->u.credit.blocks = 512;
	m->u.credit.chunk = 70000;
	m->u.credit.block = 1023;
	m->u.credit.since = 65535;
}

static void
data_sample(struct wirext_msg *m)
{
	m->u.data.chunk = 70001;
	m->u.data.first = 1015;
	m->u.data.count = 8;
	m->u.data.content = 1023;
	m->u.data.data = data;
}

static void
mtu_probe_sample(struct wirext_msg *m)
{
	m->u.mtu_probe.number = 7;
	m->u.mtu_probe.blocks = 8;
	m->u.mtu_probe.n = WIREXT_MTU_PROBE_IDS;
	for (uint32_t i = 0; i < WIREXT_MTU_PROBE_IDS; i++)
		m->u.mtu_probe.id[i] = i * 3;
}

static void
mtu_ack_sample(struct wirext_msg *m)
{
	m->u.mtu_ack.clientid = 83;
	m->u.mtu_ack.number = 7;
	m->u.mtu_ack.blocks = 4;
}

static void
hears_sample(struct wirext_msg *m)
{
	m->u.hears.clientid = 85;
	m->u.hears.epoch = 81;
}

static void
urgent_sample(struct wirext_msg *m)
{
	m->u.urgent.clientid = 84;
	m->u.urgent.n = WIREXT_URGENT_RUNS;
	for (uint16_t i = 0; i < WIREXT_URGENT_RUNS; i++)
		m->u.urgent.at[i] = (struct wirext_run){ i * 70001u, i,
			(uint16_t)(WIRE_CHUNK_BLOCKS - i) };
}

static void
urgent_data_sample(struct wirext_msg *m)
{
	m->u.data.chunk = 70002;
	m->u.data.count = 1;
	m->u.data.content = 1;
	m->u.data.data = data;
}

/* Functions that fill in the part of one kind; NULL: there is no such kind. */
static void (*const samples[])(struct wirext_msg *) = {
	[WIREXT_STATE] = state_sample,
	[WIREXT_WANT] = want_sample,
	[WIREXT_NACK] = nack_sample,
	[WIREXT_PARITY] = parity_sample,
	[WIREXT_CREDIT] = credit_sample,
	[WIREXT_TIME] = time_sample,
	[WIREXT_CONGESTION] = congestion_sample,
	[WIREXT_CREDIT_AT] = credit_at_sample,
	[WIREXT_DATA] = data_sample,
	[WIREXT_MTU_PROBE] = mtu_probe_sample,
	[WIREXT_MTU_ACK] = mtu_ack_sample,
	[WIREXT_URGENT] = urgent_sample,
	[WIREXT_URGENT_DATA] = urgent_data_sample,
	[WIREXT_HEARS] = hears_sample,
};
enum { NSAMPLES = sizeof samples / sizeof *samples, KIND_AT = 4 };

static struct wirext_msg
sample(unsigned kind)
{
	struct wirext_msg m = { .kind = (enum wirext_kind)kind,
		.srcip = { 10, 0, 0, 2 },
		.session = 0xdeadbeef };

	samples[kind](&m);
	return m;
}

static void
test_round_trip(void)
{
	struct frozen z = frozen_open("wirext");

	for (unsigned kind = 0; kind < NSAMPLES; kind++) {
		if (samples[kind] == NULL)
			continue;
		struct wirext_msg m = sample(kind), got;
		uint8_t pkt[WIREXT_PACKET_MAX], again[WIREXT_PACKET_MAX];
		struct err e;
		size_t len = wirext_put(&m, pkt, sizeof pkt);
		T_CHECK(len > 0);
		T_CHECK(frozen_next(&z, pkt, len));
		T_CHECK(wirext_is(pkt, len));
		T_CHECK(wirext_get(&got, pkt, len, &e) == 0);
		T_CHECK(wirext_put(&got, again, sizeof again) == len);
		T_CHECK(memcmp(pkt, again, len) == 0);
		T_CHECK(wirext_put(&m, again, len - 1) == 0);
		unsigned accepted = 0;
		for (size_t n = 0; n < len; n++)
			accepted += wirext_get(&got, pkt, n, &e) == 0;
		T_CHECK(accepted == 0);
		/* The base protocol takes none of them. */
		struct wire_msg base;
		T_CHECK(wire_get(&base, pkt, len, &e) != 0);
	}
	T_CHECK(frozen_close(&z));
}

/* Every kind that is known has a sample, so the test of a round trip has all kinds. */
static void
test_kinds(void)
{
	struct wirext_msg m = sample(WIREXT_CREDIT), got;
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;
	size_t len = wirext_put(&m, pkt, sizeof pkt);

	for (unsigned kind = 0; kind <= UINT8_MAX; kind++) {
		pkt[KIND_AT] = (uint8_t)kind;
		bool known = wirext_get(&got, pkt, len, &e) == 0 ||
		             e.kind != ERR_UNSUPPORTED;
		T_CHECK(known == (kind < NSAMPLES && samples[kind] != NULL));
	}
}

static void
test_to_the_byte(void)
{
	static const uint8_t want[] = { 'F', 'B', 'X', '1', 2, 0, 0, 0, 10, 0, 0, 2,
		0xef, 0xbe, 0xad, 0xde, 77, 0, 0, 0, 3, 0, 0, 0, 13, 0, 0, 0, 0x81,
		0xff };
	struct wirext_msg m = sample(WIREXT_WANT);
	uint8_t pkt[WIRE_PACKET_MAX], header[WIREXT_PARITY_HEADER_BYTES];

	T_CHECK(wirext_put(&m, pkt, sizeof pkt) == sizeof want);
	T_CHECK(memcmp(pkt, want, sizeof want) == 0);
	T_CHECK(wirext_map_test(&m.u.want.map, 3));
	T_CHECK(!wirext_map_test(&m.u.want.map, 4));
	T_CHECK(wirext_map_test(&m.u.want.map, 10));
	T_CHECK(!wirext_map_test(&m.u.want.map, 2));
	T_CHECK(wirext_map_test(&m.u.want.map, 15));
	T_CHECK(!wirext_map_test(&m.u.want.map, 16));
	m = sample(WIREXT_PARITY);
	wirext_put_parity_header(header, m.srcip, m.session, 5, 7, 126, 1000);
	T_CHECK(wirext_put(&m, pkt, sizeof pkt) == WIRE_BLOCK_PACKET_BYTES);
	T_CHECK(memcmp(pkt, header, sizeof header) == 0);
}

static void
test_packs_to_the_byte(void)
{
	static const uint8_t pack[] = { 'F', 'B', 'X', '1', 12, 0, 0, 0, 10, 0, 0, 2,
		0xef, 0xbe, 0xad, 0xde, 5, 0, 0, 0, 0x64, 0x08, 0xe8, 0x03 };
	static const uint8_t trial[] = { 'F', 'B', 'X', '1', 13, 0, 0, 0, 10, 0, 0, 2,
		0xef, 0xbe, 0xad, 0xde, 7, 0, 0, 0, 2, 0, 1, 0, 77, 0, 0, 0, 0 };
	struct wirext_msg m = sample(WIREXT_MTU_PROBE);
	uint8_t pkt[WIREXT_PACKET_MAX];

	wirext_put_data_header(pkt, WIREXT_DATA, m.srcip, m.session, 5, 100, 3, 1000);
	T_CHECK(memcmp(pkt, pack, sizeof pack) == 0);
	m.u.mtu_probe.blocks = 2;
	m.u.mtu_probe.n = 1;
	m.u.mtu_probe.id[0] = 77;
	T_CHECK(wirext_put(&m, pkt, sizeof pkt) == 24 + 2048);
	T_CHECK(memcmp(pkt, trial, sizeof trial) == 0);
	static const uint8_t urgent[] = { 'F', 'B', 'X', '1', 18, 0, 0, 0, 10, 0, 0, 2,
		0xef, 0xbe, 0xad, 0xde, 84, 0, 0, 0, 1, 0, 0, 0, 0x71, 0x11, 1, 0, 1, 0, 0xff,
		3 };
	m = sample(WIREXT_URGENT);
	m.u.urgent.n = 1;
	m.u.urgent.at[0] = m.u.urgent.at[1];
	T_CHECK(wirext_put(&m, pkt, sizeof pkt) == sizeof urgent);
	T_CHECK(memcmp(pkt, urgent, sizeof urgent) == 0);
	wirext_put_data_header(pkt, WIREXT_URGENT_DATA, m.srcip, m.session, 5, 100, 3, 1000);
	T_CHECK(pkt[4] == 19 && memcmp(pkt + 5, pack + 5, sizeof pack - 5) == 0);
}

/* The flags of CONGESTION, each by itself. */
static void
test_congestion_flags(void)
{
	struct wirext_msg m = sample(WIREXT_CONGESTION), got;
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;

	for (unsigned flags = 0; flags < 4; flags++) {
		m.u.congestion.queue = (flags & 1) != 0;
		m.u.congestion.step = (flags & 2) != 0;
		size_t len = wirext_put(&m, pkt, sizeof pkt);
		T_CHECK(pkt[32] == flags);
		T_CHECK(wirext_get(&got, pkt, len, &e) == 0);
		T_CHECK(got.u.congestion.queue == m.u.congestion.queue);
		T_CHECK(got.u.congestion.step == m.u.congestion.step);
	}
}

static bool
refused(const struct wirext_msg *m, size_t at, uint8_t value)
{
	uint8_t pkt[WIREXT_PACKET_MAX];
	struct wirext_msg got;
	struct err e;
	size_t len = wirext_put(m, pkt, sizeof pkt);

	pkt[at] = value;
	return wirext_get(&got, pkt, len, &e) != 0;
}

static void
test_impossible(void)
{
	struct wirext_msg m = sample(WIREXT_PARITY);

	T_CHECK(refused(&m, 20, 8));
	T_CHECK(refused(&m, 21, 127));
	T_CHECK(!refused(&m, 21, 0));
	T_CHECK(refused(&m, 0, 'G'));
	T_CHECK(refused(&m, 4, 0));
	T_CHECK(refused(&m, 4, 99));
	m = sample(WIREXT_NACK);
	T_CHECK(refused(&m, 20, 81));
	T_CHECK(refused(&m, 20, 0));
	T_CHECK(refused(&m, 28, 129));
	m = sample(WIREXT_CONGESTION);
	T_CHECK(refused(&m, 24, 201));
	T_CHECK(!refused(&m, 24, 199));
	m = sample(WIREXT_CREDIT_AT);
	T_CHECK(refused(&m, 29, 4));
	T_CHECK(!refused(&m, 29, 3));
	T_CHECK(refused(&m, 4, WIREXT_CREDIT_AT + 1));
	T_CHECK(refused(&m, 4, WIREXT_DATA));
	/* Blocks behind the content, none of it, more than a chunk, nine of them. */
	m = sample(WIREXT_DATA);
	T_CHECK(refused(&m, 22, 0xfe));
	T_CHECK(refused(&m, 23, 0));
	T_CHECK(refused(&m, 23, 8));
	T_CHECK(refused(&m, 21, 0x23));
	T_CHECK(!refused(&m, 21, 0x1f));
	T_CHECK(refused(&m, 4, WIREXT_CREDIT)); /* too long for it */
	m = sample(WIREXT_MTU_PROBE);
	T_CHECK(refused(&m, 20, 0));
	T_CHECK(refused(&m, 20, 9));
	T_CHECK(refused(&m, 22, 201));
	T_CHECK(!refused(&m, 20, 7));
	T_CHECK(!refused(&m, 22, 199));
	m = sample(WIREXT_MTU_ACK);
	T_CHECK(refused(&m, 24, 0));
	T_CHECK(refused(&m, 24, 9));
	T_CHECK(!refused(&m, 24, 8));
	m = sample(WIREXT_PARITY);
	T_CHECK(refused(&m, 23, 8));
	T_CHECK(!refused(&m, 23, 0));
	/* No run, too many of them, blocks that no chunk has, and none. */
	m = sample(WIREXT_URGENT);
	T_CHECK(refused(&m, 20, 0));
	T_CHECK(refused(&m, 20, 81));
	T_CHECK(!refused(&m, 20, 79));
	T_CHECK(refused(&m, 28, 1));
	T_CHECK(refused(&m, 29, 4));
	T_CHECK(refused(&m, 31, 0));
	T_CHECK(refused(&m, 31, 8));
	m = sample(WIREXT_URGENT_DATA);
	T_CHECK(refused(&m, 22, 0));
	T_CHECK(refused(&m, 21, 0x20));
	m = sample(WIREXT_WANT);
	T_CHECK(refused(&m, 27, 0xff));
	T_CHECK(refused(&m, 24, 200));
	m.u.want.map.first = UINT32_MAX - 5;
	T_CHECK(refused(&m, 4, WIREXT_WANT));
}

/* An old peer reads the JOIN and nothing behind it. */
static void
test_offer(void)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.u.join.clientid = 77 },
			got;
	struct wirext_answer a = { .flags = WIREXT_CAN_PARITY,
		.port = 5008,
		.identity = { 1, 2, 3 },
		.session = 9,
		.clients = 80 },
			     b;
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t flags;
	struct err e;

	size_t base = wire_put(&m, pkt, sizeof pkt);
	T_CHECK(!wirext_get_offer(pkt, base, &flags));
	size_t len = wirext_put_offer(pkt, base, sizeof pkt, WIREXT_CAN_PARITY);
	T_CHECK(len == base + WIREXT_OFFER_BYTES);
	T_CHECK(pkt[8] == 4);
	T_CHECK(wire_get(&got, pkt, len, &e) == 0);
	T_CHECK(got.u.join.clientid == 77);
	T_CHECK(wirext_get_offer(pkt, len, &flags));
	T_CHECK(flags == WIREXT_CAN_PARITY);
	for (size_t n = 0; n < len; n++)
		if (wirext_get_offer(pkt, n, &flags))
			T_CHECK(!"a truncated offer was taken");
	T_CHECK(wirext_put_offer(pkt, base, base + 7, 0) == 0);
	len = wirext_put_answer(pkt, base, sizeof pkt, &a);
	T_CHECK(len == base + WIREXT_ANSWER_BYTES);
	T_CHECK(wirext_get_answer(pkt, len, &b));
	T_CHECK(b.flags == a.flags);
	T_CHECK(b.port == a.port);
	T_CHECK(b.session == a.session);
	T_CHECK(b.clients == 80);
	T_CHECK(memcmp(a.identity, b.identity, sizeof a.identity) == 0);
	for (size_t n = 0; n < len; n++)
		if (wirext_get_answer(pkt, n, &b))
			T_CHECK(!"a truncated answer was taken");
	pkt[8] = pkt[9] = pkt[10] = pkt[11] = 0xff; /* a body longer than the packet */
	T_CHECK(!wirext_get_answer(pkt, len, &b));
}

/* How far the client is travels behind four kinds; what is cut is not there, no damage. */
static void
test_told(void)
{
	static const enum wirext_kind kinds[] = { WIREXT_WANT, WIREXT_NACK, WIREXT_CREDIT,
		WIREXT_CREDIT_AT };
	uint8_t pkt[WIREXT_PACKET_MAX];
	struct wirext_msg m, got;
	struct err e;
	bool whole = false;

	for (unsigned k = 0; k < 4; k++) {
		m = sample(kinds[k]);
		size_t bare = wirext_put(&m, pkt, sizeof pkt);
		T_CHECK(wirext_get(&got, pkt, bare, &e) == 0);
		T_CHECK(!got.told.is);
		m.told = (struct wirext_told){ true, WIREXT_DOING_FLUSHING, 4711 };
		size_t n = wirext_put(&m, pkt, sizeof pkt);
		T_CHECK(n == bare + 8);
		T_CHECK(n <= WIRE_PACKET_MAX);
		T_CHECK(wirext_get(&got, pkt, n, &e) == 0);
		T_CHECK(got.told.is);
		T_CHECK(got.told.chunks == 4711);
		T_CHECK(got.told.doing == WIREXT_DOING_FLUSHING);
		for (size_t len = bare; len < n; len++) {
			T_CHECK(wirext_get(&got, pkt, len, &e) == 0);
			T_CHECK(!got.told.is);
		}
	}
	m = sample(WIREXT_CONGESTION);
	m.told.is = true;
	size_t n = wirext_put(&m, pkt, sizeof pkt);
	T_CHECK(wirext_get(&got, pkt, n, &e) == 0);
	T_CHECK(!got.told.is);

	struct wire_msg leave = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };
	size_t base = wire_put(&leave, pkt, sizeof pkt);
	T_CHECK(!wirext_get_outcome(pkt, base, &whole));
	n = wirext_put_outcome(pkt, base, sizeof pkt, true);
	for (size_t len = 0; len < n; len++)
		T_CHECK(!wirext_get_outcome(pkt, len, &whole));
	T_CHECK(wirext_get_outcome(pkt, n, &whole));
	T_CHECK(whole);
}

int
main(void)
{
	test_told();
	test_round_trip();
	test_kinds();
	test_to_the_byte();
	test_packs_to_the_byte();
	test_congestion_flags();
	test_impossible();
	test_offer();
	return t_done();
}
