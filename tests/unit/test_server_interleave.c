/* Chunks that take turns, while blocks of all of them are asked for again in the old
 * way, as a client does that does not hear the second port any more. */
#include <string.h>

#include "common/base/rd.h"
#include "common/wire/wirext.h"
#include "frisbeed/server/server_interleave.h"
#include "frisbeed/server/server_interleave.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

enum { CHUNKS = 4, SESSION = 9, CLIENT = 5, REPORTS = 40 };

static const uint8_t ip_b[4] = { 10, 0, 0, 3 };

static struct server *
make_with_parity(void)
{
	struct server_config cfg = { .image_bytes = CHUNKS * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.idle_us = -1,
		.ext = {
		    .on = true, .parity = true, .port = 5008, .session = SESSION } };

	return server_new(&cfg, 0);
}

static void
say(struct server *s, uint64_t now, struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	m->session = SESSION;
	memcpy(m->srcip, ip_a, sizeof m->srcip);
	server_input(s, now, pkt, wirext_put(m, pkt, sizeof pkt), ip_a);
}

static void
want_all(struct server *s, uint64_t now)
{
	uint8_t bits[1] = { (1 << CHUNKS) - 1 };
	struct wirext_msg m = { .kind = WIREXT_WANT };

	m.u.want.clientid = CLIENT;
	m.u.want.map = (struct wirext_map){ 0, CHUNKS, bits };
	say(s, now, &m);
}

static void
take(struct server *s, uint64_t now)
{
	struct wirext_msg m = { .kind = WIREXT_CREDIT };

	m.u.credit.clientid = CLIENT;
	m.u.credit.blocks = CHUNKS * WIRE_CHUNK_BLOCKS;
	say(s, now, &m);
}

/* Single losses, evenly: then chunks take turns. */
static void
lose_singly(struct server *s, uint64_t now)
{
	struct wirext_msg m = { .kind = WIREXT_NACK };

	m.u.nack.clientid = CLIENT;
	m.u.nack.n = 1;
	m.u.nack.at[0].chunk = CHUNKS - 1;
	memset(m.u.nack.at[0].lack, 6, sizeof m.u.nack.at[0].lack);
	for (int i = 0; i < REPORTS; i++)
		say(s, now, &m);
}

/* Counts what goes out beyond a chunk's end, and how often another chunk follows. */
struct tally {
	unsigned blocks, beyond, turns;
	uint32_t before;
};

static void
send_counted(struct server *s, uint64_t *now, unsigned ms, struct tally *t)
{
	struct server_out out;

	for (unsigned i = 0; i < ms; i++, *now += 1000)
		for (read_all(s); server_output(s, *now, &out); read_all(s)) {
			if (out.kind != SERVER_OUT_BLOCK && out.kind != SERVER_OUT_DATA)
				continue;
			t->blocks += out.count;
			t->beyond += out.block + out.count > WIRE_CHUNK_BLOCKS;
			t->turns += out.chunk != t->before;
			t->before = out.chunk;
		}
}

/* They went out already, if the chunk was begun. */
static void
ask_beginnings(struct server *s, uint64_t now)
{
	for (uint32_t i = 0; i < CHUNKS; i++)
		prequest(s, now, i, blockmap_range(0, 8), 0);
}

static void
test_asked_again(void)
{
	struct server *s = make_with_parity();
	struct tally t = { .before = CHUNKS };
	uint64_t now = 0;

	T_CHECK(s != NULL);
	want_all(s, now);
	lose_singly(s, now);
	take(s, now);
	/* 8 blocks a millisecond: asked again all the way through. */
	for (int i = 0; i < CHUNKS * WIRE_CHUNK_BLOCKS / 8; i++) {
		ask_beginnings(s, now);
		send_counted(s, &now, 1, &t);
	}
	T_CHECK(t.turns > CHUNKS * 8);
	send_counted(s, &now, 2000, &t);
	T_CHECK(t.blocks > CHUNKS * WIRE_CHUNK_BLOCKS);
	T_CHECK(t.beyond == 0);
	T_CHECK(
	    server_stats(s).blocks_resent == t.blocks - CHUNKS * WIRE_CHUNK_BLOCKS);
	server_free(s);
}

/* How often it is said in so many milliseconds that chunks take turns. */
static unsigned
told(struct server *s, uint64_t *now, unsigned ms)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;
	unsigned n = 0;

	for (unsigned i = 0; i < ms; i++, *now += 1000)
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			n += out.kind == SERVER_OUT_PACKET &&
			     wirext_get(&m, out.pkt, out.len, &e) == 0 &&
			     m.kind == WIREXT_STATE &&
			     (m.u.state.flags & WIREXT_INTERLEAVED) != 0;
	return n;
}

/* Who does not hear it asks again for all that comes in turns, so it is said several
 * times; and to who joins. */
static void
test_told(void)
{
	struct server *s = make_with_parity();
	struct wire_msg join = from_a(WIRE_JOIN);
	uint8_t pkt[WIRE_PACKET_MAX];
	uint64_t now = 0;

	want_all(s, now);
	take(s, now);
	T_CHECK(told(s, &now, 600) == 0);
	lose_singly(s, now);
	want_all(s, now);
	take(s, now);
	T_CHECK(told(s, &now, 4) == 1);
	T_CHECK(told(s, &now, 200) == 4);
	T_CHECK(told(s, &now, 100) == 0);
	for (uint32_t id = 10; id < 15; id++) {
		join.u.join.clientid = id;
		size_t n = wire_put(&join, pkt, sizeof pkt);
		n = wirext_put_offer(pkt, n, sizeof pkt, 0);
		server_input(s, now, pkt, n, ip_a);
		T_CHECK(told(s, &now, 1) == 1);
	}
	server_free(s);
}

static void
test_part(void)
{
	static const uint8_t burst[] = { 12, 12, 13, 13, 12, 12, 12, 13 },
			     single[] = { 12, 19, 8, 14, 7, 13, 17, 10 },
			     few[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct server_interleave t = { 0 };
	unsigned turned = 0;

	for (int i = 0; i < 100; i++)
		turned += server_interleave_hear(&t, ip_a, false, few) +
		          server_interleave_hear(&t, ip_a, false, single);
	T_CHECK(turned == 0);
	T_CHECK(!t.on);
	for (int i = 0; i < 20; i++)
		turned += server_interleave_hear(&t, ip_a, false, burst);
	T_CHECK(turned == 1);
	T_CHECK(t.on);
	for (int i = 0; i < 100; i++)
		turned += server_interleave_hear(&t, ip_a, false, few);
	T_CHECK(turned == 1);
	T_CHECK(t.on); /* nothing is known of them */
	for (int i = 0; i < 50; i++)
		turned += server_interleave_hear(&t, ip_a, false, single);
	T_CHECK(turned == 2);
	T_CHECK(!t.on);
	/* Of several, one alone is not heard; two of them are. */
	for (int i = 0; i < 100; i++)
		turned += server_interleave_hear(&t, ip_a, true, burst);
	T_CHECK(turned == 2);
	/* NACKs of others that say nothing of bursts do not change that. */
	for (int i = 0; i < 100; i++)
		turned += server_interleave_hear(&t, ip_a, true, burst) +
		          server_interleave_hear(&t, ip_b, true, few);
	T_CHECK(turned == 2);
	T_CHECK(!t.on);
	for (int i = 0; i < 20; i++)
		turned += server_interleave_hear(&t, i % 2 ? ip_a : ip_b, true, burst);
	T_CHECK(turned == 3);
	T_CHECK(t.on);
}

int
main(void)
{
	test_part();
	test_asked_again();
	test_told();
	return t_done();
}
