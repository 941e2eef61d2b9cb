/* When a client repeats that it lacks something. */
#include <string.h>

#include "common/wire/blockmap.h"
#include "frisbee/client/client_requests.h"
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

static void
state(struct client *c, uint64_t now, uint32_t flags)
{
	struct wirext_msg m = { .kind = WIREXT_STATE };
	struct client_store st;

	m.u.state.flags = flags;
	m.u.state.clients = 1;
	m.u.state.chunks = CHUNKS;
	hears(c, now, m, &st);
}

static bool
block(struct client *c, uint64_t now, uint32_t chunk, uint32_t block)
{
	struct wirext_msg m = { .kind = WIREXT_DATA,
		.u.data = { chunk, block, 1, WIRE_CHUNK_BLOCKS, data } };
	struct client_store st;

	return hears(c, now, m, &st);
}

/* A client that has of chunk 1 all but the first blocks, and hears that no more comes. */
static struct client *
lacking(uint32_t first, uint64_t now)
{
	struct client *c = make_client(true);
	uint32_t n = 0;

	for (uint32_t b = first; b < WIRE_CHUNK_BLOCKS; b++)
		n += block(c, now, 1, b);
	T_CHECK(n == WIRE_CHUNK_BLOCKS - first);
	state(c, now, WIREXT_IDLE);
	return c;
}

/* ... and has said so. */
static struct client *
lacking_one(uint64_t *now)
{
	struct client *c = lacking(1, *now);
	struct wirext_msg said;

	T_CHECK(says(c, now, 30 * MS, WIREXT_NACK, &said));
	T_CHECK(said.u.nack.n == 1);
	T_CHECK(said.u.nack.at[0].chunk == 1);
	T_CHECK(said.u.nack.at[0].lack[0] == 1);
	return c;
}

/* Nothing comes: the report or its answer was lost. */
static void
test_silence(void)
{
	uint64_t now = 10 * MS, asked;
	struct client *c = lacking_one(&now);
	struct wirext_msg said;

	asked = now;
	T_CHECK(says(c, &now, 200 * MS, WIREXT_NACK, &said));
	T_CHECK(now >= asked + 50 * MS);
	T_CHECK(now < asked + 90 * MS);
	client_free(c);
}

/* The server had more to send after all: the answer comes behind that, and would come
 * twice. */
static void
test_not_idle_any_more(void)
{
	uint64_t now = 10 * MS;
	struct client *c = lacking_one(&now);
	struct wirext_msg said;
	uint32_t n = 0, repeated = 0;

	for (uint32_t b = 0; b < 30; b++) {
		n += block(c, now, 2, b);
		repeated += says(c, &now, 5 * MS, WIREXT_NACK, &said);
	}
	T_CHECK(n == 30);
	T_CHECK(repeated == 0);
	state(c, now, WIREXT_IDLE);
	T_CHECK(says(c, &now, 5 * MS, WIREXT_NACK, &said));
	client_free(c);
}

/* What another asked for does not come late, however often: the network is as quick as
 * it was, and what is lacking after that is said at once. */
static void
test_answers_to_another(void)
{
	uint64_t now = 10 * MS, late_us = 2500;
	struct client *c = lacking(16, now);
	struct wirext_msg nak = { .kind = WIREXT_NACK }, said;
	struct client_store st;
	uint64_t over = now;

	nak.u.nack.n = 1;
	nak.u.nack.at[0] = (struct wirext_nack){ .chunk = 1, .lack = { 1 } };
	for (uint32_t b = 0; b < 6; b++, late_us = late_us * 9 / 5) {
		hears(c, over + late_us / 2, nak, &st);
		T_CHECK(block(c, over + late_us, 1, b * 2));
	}
	now = over + late_us;
	state(c, now, WIREXT_IDLE);
	T_CHECK(says(c, &now, 30 * MS, WIREXT_NACK, &said));
	client_free(c);
}

/* Another lacks so many of each group of chunk 1. */
static void
another_reports(struct client *c, uint64_t now, uint8_t lack)
{
	struct wirext_msg nak = { .kind = WIREXT_NACK, .u.nack.n = 1 };
	struct client_store st;

	nak.u.nack.at[0].chunk = 1;
	memset(nak.u.nack.at[0].lack, lack, WIREXT_GROUPS);
	hears(c, now, nak, &st);
}

/* The server says to so many clients which chunks come. */
static void
state_comes(struct client *c, uint64_t now, uint8_t flags, uint32_t clients, const uint8_t *coming)
{
	struct wirext_msg m = { .kind = WIREXT_STATE };
	struct client_store st;

	m.u.state.flags = flags;
	m.u.state.clients = clients;
	m.u.state.chunks = CHUNKS;
	m.u.state.coming = (struct wirext_map){ 0, CHUNKS, coming };
	hears(c, now, m, &st);
}

static void
among_others(struct client *c, uint64_t now, const uint8_t *coming)
{
	state_comes(c, now, WIREXT_IDLE, 6, coming);
}

/* Blocks came ever later, so the client waits long for more of them.  But a server that says
 * twice that it has nothing to send has sent nothing in between. */
static void
test_idle_twice(void)
{
	static const uint8_t none[1];
	uint64_t now = 10 * MS, late_us = 2500;
	struct client *c = lacking(16, now);
	struct wirext_msg said;
	uint64_t over = now;

	for (uint32_t b = 0; b < 9; b++, late_us = late_us * 9 / 5)
		T_CHECK(block(c, over + late_us, 1, b));
	now = over + late_us * 5 / 9;
	among_others(c, now, none);
	T_CHECK(!says(c, &now, 100 * MS, WIREXT_NACK, &said));
	among_others(c, now, none);
	T_CHECK(says(c, &now, 60 * MS, WIREXT_NACK, &said));
	client_free(c);
}

/* As if all six were here: two blocks of each group are lacking. */
static struct client *
lacking_two(uint64_t now, const uint8_t *coming)
{
	struct client *c = lacking(16, now);

	among_others(c, now, coming);
	return c;
}

/* Who lacks a little more speaks for us; not who lacks half of everything. */
static void
test_spoken_for(void)
{
	static const uint8_t none[1];
	uint64_t now = 10 * MS;
	struct wirext_msg said;
	struct client *c = lacking_two(now, none);

	another_reports(c, now, 5);
	T_CHECK(!says(c, &now, 300 * MS, WIREXT_NACK, &said));
	client_free(c);
	now = 10 * MS;
	c = lacking_two(now, none);
	another_reports(c, now, 60);
	T_CHECK(says(c, &now, 300 * MS, WIREXT_NACK, &said));
	client_free(c);
}

/* The report, or all of its answer, was lost: the server says that it has nothing to send. */
static void
test_idle_without_an_answer(void)
{
	static const uint8_t none[1];
	uint64_t now = 10 * MS;
	struct wirext_msg said;
	struct client *c = lacking_two(now, none);

	T_CHECK(says(c, &now, 60 * MS, WIREXT_NACK, &said));
	among_others(c, now + 30 * MS, none);
	T_CHECK(!says(c, &now, 70 * MS, WIREXT_NACK, &said));
	among_others(c, now + 30 * MS, none);
	now += 30 * MS;
	T_CHECK(says(c, &now, 50 * MS, WIREXT_NACK, &said));
	client_free(c);
}

/* Who says the same all the time does not silence us for ever. */
static void
test_not_silenced(void)
{
	static const uint8_t none[1];
	uint64_t now = 10 * MS;
	struct wirext_msg said;
	struct client *c = lacking_two(now, none);
	unsigned n = 0;

	for (int i = 0; i < 200; i++) {
		another_reports(c, now, 5);
		n += says(c, &now, 10 * MS, WIREXT_NACK, &said);
	}
	T_CHECK(n >= 1);
	T_CHECK(n <= 8);
	client_free(c);
}

/* A chunk comes again, some time: a little is asked for meanwhile. */
static void
test_little_of_what_comes(void)
{
	static const uint8_t all[1] = { 0xff };
	uint64_t now = 10 * MS;
	struct wirext_msg said;
	struct client *c = lacking_two(now, all);

	T_CHECK(!says(c, &now, 300 * MS, WIREXT_NACK, &said));
	T_CHECK(says(c, &now, 400 * MS, WIREXT_NACK, &said));
	client_free(c);
}

static bool
parity(struct client *c, uint64_t now, uint8_t index)
{
	struct wirext_msg m = { .kind = WIREXT_PARITY };
	struct client_store st;

	m.u.parity.chunk = 1;
	m.u.parity.index = index;
	m.u.parity.data = data;
	return hears(c, now, m, &st);
}

/* The next message that asks for something: how many blocks it names one by one. */
static uint32_t
names_blocks(struct client *c, uint64_t *now, struct blockmap *named)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg m;
	struct err e;
	size_t n;

	for (uint64_t end = *now + 500 * MS; *now < end; *now += MS)
		while ((n = client_output(c, *now, pkt)) > 0) {
			if (wirext_is(pkt, n) || wire_get(&m, pkt, n, &e) != 0 ||
			    m.subtype != WIRE_PREQ || m.u.preq.chunk != 1)
				continue;
			*named = blockmap_get(m.u.preq.map);
			return blockmap_count(named);
		}
	return 0;
}

/* When all parity of a group has been sent, and what is here comes again, the blocks
 * themselves are asked for; not because a packet was doubled. */
static void
test_parity_is_spent(void)
{
	uint64_t now = 10 * MS;
	struct wirext_msg said;
	struct blockmap named;
	struct client *c = lacking(32, now); /* 4 of each group */

	T_CHECK(parity(c, now, 0));
	T_CHECK(parity(c, now, 60));
	T_CHECK(!parity(c, now, 60));
	state(c, now, WIREXT_IDLE);
	T_CHECK(says(c, &now, 100 * MS, WIREXT_NACK, &said));
	T_CHECK(said.u.nack.at[0].lack[0] == 2);
	T_CHECK(parity(c, now, 120));
	T_CHECK(!parity(c, now, 0));
	state(c, now, WIREXT_IDLE);
	T_CHECK(names_blocks(c, &now, &named) == 1 + 7 * 4);
	T_CHECK(blockmap_test(&named, 24));
	T_CHECK(!blockmap_test(&named, 0));
	T_CHECK(!blockmap_test(&named, 8));
	T_CHECK(!blockmap_test(&named, 16));
	/* Lost: once more. */
	T_CHECK(names_blocks(c, &now, &named) == 1 + 7 * 4);
	client_free(c);
}

/* A client with so many buffers that lacks three of five blocks of chunk 1: what does
 * it say of that? */
static bool
says_of_three_fifths(uint32_t buffers, enum wirext_kind kind)
{
	struct client_config cfg = client_config();
	struct wirext_msg said;
	uint64_t now = 10 * MS;

	cfg.ext = cfg.parity = true;
	cfg.buffers = buffers;
	struct client *c = join(&cfg, WIREXT_CAN_PARITY);
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
		if (b % 5 < 2)
			block(c, now, 1, b);
	state(c, now, WIREXT_IDLE);
	bool is = says(c, &now, 100 * MS, kind, &said);
	if (!is) {
		state(c, now, WIREXT_IDLE);
		is = says(c, &now, 100 * MS, kind, &said);
	}
	client_free(c);
	return is && (kind == WIREXT_WANT || said.u.nack.at[0].chunk == 1);
}

/* Any parity is of use to who has lost that much, and of blocks that come again only
 * three of five are; but with few buffers the chunk cannot wait for so much. */
static void
test_more_than_half(void)
{
	T_CHECK(says_of_three_fifths(64, WIREXT_NACK));
	T_CHECK(!says_of_three_fifths(8, WIREXT_NACK));
	T_CHECK(says_of_three_fifths(8, WIREXT_WANT));
}

/* Blocks of the chunk that are here come again and again, as if a pass of it went on: they
 * do not put its NACK off for ever. */
static void
test_repeated(void)
{
	uint64_t now = 10 * MS, begun = now;
	struct client *c = lacking(1, now);
	struct wirext_msg said;
	bool says_so = false;

	block(c, now, 1, 500);
	while (!says_so && now < begun + 10000 * MS) {
		says_so = says(c, &now, 5 * MS, WIREXT_NACK, &said);
		block(c, now, 1, 500);
	}
	T_CHECK(says_so);
	T_CHECK(now >= begun + 1000 * MS);
	T_CHECK(now < begun + CLIENT_PATIENCE_US + 100 * MS);
	client_free(c);
}

/* A chunk of which much is lacking, the same.  When it comes again because of the WANT, from
 * its beginning, which is here, no other WANT disturbs that. */
static void
test_much_is_repeated(void)
{
	static const uint8_t all_but_1[1] = { 0x0d };
	uint64_t now = 10 * MS, begun = now;
	struct client *c = make_client(true);
	struct wirext_msg said;
	bool wants = false;

	for (uint32_t b = 0; b < 40; b++)
		block(c, now, 1, b);
	while (!wants && now < begun + 10000 * MS) {
		block(c, now, 1, 5);
		state_comes(c, now, 0, 1, all_but_1);
		wants = says(c, &now, 5 * MS, WIREXT_WANT, &said);
	}
	T_CHECK(wants);
	T_CHECK(now >= begun + 1000 * MS);
	T_CHECK(now < begun + CLIENT_PATIENCE_US + 100 * MS);
	block(c, now, 0, 0);
	wants = false;
	for (uint32_t b = 0; b < 40; b++) {
		block(c, now, 1, b);
		wants |= says(c, &now, 2 * MS, WIREXT_WANT, &said);
	}
	T_CHECK(!wants);
	client_free(c);
}

int
main(void)
{
	test_repeated();
	test_much_is_repeated();
	test_spoken_for();
	test_idle_without_an_answer();
	test_not_silenced();
	test_little_of_what_comes();
	test_silence();
	test_not_idle_any_more();
	test_answers_to_another();
	test_idle_twice();
	test_parity_is_spent();
	test_more_than_half();
	return t_done();
}
