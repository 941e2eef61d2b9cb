/* The server's engine: who wants something again and again gets a share, and no more. */
#include "tests/t.h"
#include "tests/unit/urgent_talk.h"

enum { CHUNKS = 64, A_SECOND = 8000, AT_A_TIME = A_SECOND / 2 / 1024, MS = 1000 };

static const uint8_t ip_c[4] = { 10, 0, 0, 3 };

/* 64 chunks, at 16 blocks every 2 ms. */
static struct server *
make_large(bool dynamic)
{
	struct server_config cfg = { .image_bytes = CHUNKS * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2 * MS,
		.dynamic = dynamic,
		.idle_us = -1,
		.ext = { .on = true, .port = 5008, .session = 9 } };

	memcpy(cfg.srcip, server_ip, 4);
	return server_new(&cfg, 0);
}

static void
say(struct server *s, uint64_t now, const uint8_t ip[4], struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	m->session = 9;
	memcpy(m->srcip, ip, 4);
	server_input(s, now, pkt, wirext_put(m, pkt, sizeof pkt), ip);
}

static void
grant(struct server *s, uint64_t now, const uint8_t ip[4])
{
	struct wirext_msg m = { .kind = WIREXT_CREDIT };

	m.u.credit.clientid = ip[3];
	m.u.credit.blocks = UINT32_MAX;
	say(s, now, ip, &m);
}

/* Wants the chunks from first on, and can take them. */
static void
want(struct server *s, uint64_t now, const uint8_t ip[4], uint32_t first, uint32_t n)
{
	uint8_t bits[CHUNKS / 8];
	struct wirext_msg m = { .kind = WIREXT_WANT };

	memset(bits, 0xff, sizeof bits);
	m.u.want.clientid = ip[3];
	m.u.want.map = (struct wirext_map){ first, n, bits };
	say(s, now, ip, &m);
	grant(s, now, ip);
}

/* Everything comes once for each address, by JOIN or by WANT.  What it wants again is what the rate
 * brings in half a second, and more when that has gone. */
static void
test_want(void)
{
	struct server *s = make_large(false);
	uint64_t now = 0;

	join_ext(s, now, ip_a);
	grant(s, now, ip_a);
	T_CHECK(sent_in(s, &now, 9000) == CHUNKS * 1024);
	for (unsigned i = 0; i < 3; i++) {
		want(s, now, ip_a, 0, CHUNKS);
		want(s, now, ip_a, 0, CHUNKS);
		T_CHECK(sent_in(s, &now, 3000) == AT_A_TIME * 1024);
	}
	/* Another one has not had it yet, and waits for half a second of the first one. */
	want(s, now, ip_a, 0, CHUNKS);
	want(s, now, ip_c, 32, 32);
	want(s, now, ip_a, 0, CHUNKS);
	T_CHECK(sent_in(s, &now, 9000) == (32 + AT_A_TIME) * 1024);
	want(s, now, ip_c, 0, 32);
	T_CHECK(sent_in(s, &now, 9000) == 32 * 1024);
	want(s, now, ip_c, 0, CHUNKS);
	T_CHECK(sent_in(s, &now, 9000) == AT_A_TIME * 1024);
	server_free(s);
}

/* The chunks that the next announcement names. */
static uint64_t
announced(struct server *s, uint64_t *now)
{
	struct server_out out;
	struct wirext_msg m;
	uint64_t chunks = 0;
	struct err e;

	for (; *now < 100000 * MS; *now += MS)
		for (read_all(s); server_output(s, *now, &out); read_all(s)) {
			if (out.kind != SERVER_OUT_PACKET ||
			    wirext_get(&m, out.pkt, out.len, &e) != 0 || m.kind != WIREXT_STATE)
				continue;
			for (uint32_t i = 0; i < CHUNKS; i++)
				chunks |= (uint64_t)wirext_map_test(&m.u.state.coming, i) << i;
			return chunks;
		}
	return 0;
}

/* What somebody has requested may have to wait for long: clients that lack some of it report that,
 * and do not wait for it. */
static void
test_requested(void)
{
	struct server *s = make_large(false);
	uint64_t now = 0;

	join_ext(s, now, ip_a);
	grant(s, now, ip_a);
	T_CHECK(sent_in(s, &now, 9000) == CHUNKS * 1024);
	for (uint32_t c = 0; c < CHUNKS; c++)
		request(s, now, c, 0, 1024);
	announced(s, &now);
	now += MS;
	T_CHECK(announced(s, &now) == 0);
	want(s, now, ip_c, 32, 32);
	now += MS;
	uint64_t chunks = announced(s, &now);
	T_CHECK(chunks >> 40 == 0xffffff);
	T_CHECK((uint32_t)chunks == 0);
	server_free(s);
}

/* URGENT_DATA has half of the rate, so the rate is used, and rises. */
static void
test_urgent_uses_the_rate(void)
{
	struct server *s = make_large(true);
	uint64_t now = 0;

	join_ext(s, now, ip_a);
	for (uint32_t i = 0; i < 2000; i++) {
		grant(s, now, ip_a);
		say_urgent_as(s, now, ip_c,
		    (struct wirext_run){ CHUNKS - 1 - i % 32, (uint16_t)(i / 32 * 16), 16 });
		sent_in(s, &now, 1);
	}
	struct server_stats st = server_stats(s);
	T_CHECK(st.urgent_sent > 3000);
	T_CHECK(st.blocks_sent > 3000);
	T_CHECK(st.rate > 0.99 * A_SECOND);
	server_free(s);
}

int
main(void)
{
	test_want();
	test_requested();
	test_urgent_uses_the_rate();
	return t_done();
}
