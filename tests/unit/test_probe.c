/* Probes: there and back, every truncation; what the server answers, and how much. */
#include <string.h>

#include "common/wire/wire.h"
#include "common/wire/wirext.h"
#include "frisbeed/server/server.h"
#include "frisbeed/server/server_probe.h"
#include "tests/t.h"

static const uint8_t me[4] = { 10, 0, 0, 9 }, srv[4] = { 10, 0, 0, 1 },
		     group[4] = { 239, 1, 2, 3 };

static struct probe
sample(uint16_t flags)
{
	struct probe p = {
		.session = 7, .id = 0x01020304, .number = 5, .flags = flags
	};

	memcpy(p.srcip, me, 4);
	return p;
}

static void
test_round_trip(void)
{
	static const uint8_t begins[] = { 'F', 'B', 'X', '1', 17, 0, 0, 0, 10, 0, 0, 9,
		7, 0, 0, 0, 4, 3, 2, 1, 5, 0, 6, 0, 100, 0, 0, 0, 50, 0, 0, 0, 25, 0, 0,
		0, 0x8f, 0x13, 0, 0, 239, 1, 2, 3, 9, 8, 0, 0 };
	struct probe p = sample(6), q;
	uint8_t pkt[PROBE_BYTES_MAX], again[PROBE_BYTES_MAX];
	struct wirext_msg m;
	struct wire_msg base;
	struct err e;
	unsigned taken = 0;

	p.echo = true;
	p.heard = 100;
	p.by_group = 50;
	p.direct = 25;
	p.port = 5007;
	p.blocks = 0x0809;
	memcpy(p.group, group, 4);
	for (size_t len = PROBE_BYTES_MIN; len <= PROBE_BYTES_MAX; len += 252) {
		T_CHECK(probe_put(&p, pkt, len));
		T_CHECK(probe_is(pkt, len));
		T_CHECK(memcmp(pkt, begins, sizeof begins) == 0);
		T_CHECK(probe_get(&q, pkt, len, &e) == 0);
		T_CHECK(probe_put(&q, again, len));
		T_CHECK(memcmp(pkt, again, len) == 0);
	}
	for (size_t n = 0; n < PROBE_BYTES_MIN; n++)
		taken += probe_get(&q, pkt, n, &e) == 0 || probe_put(&p, again, n);
	T_CHECK(taken == 0);
	T_CHECK(!probe_put(&p, again, PROBE_BYTES_MAX + 1));
	/* Sessions take no notice. */
	T_CHECK(wirext_get(&m, pkt, 60, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(wire_get(&base, pkt, 60, &e) != 0);
	pkt[4] = 2;
	T_CHECK(!probe_is(pkt, 60));
	T_CHECK(probe_get(&q, pkt, 60, &e) != 0);
}

static unsigned
ask(struct server_probe *s, uint64_t now, const struct probe *p, size_t len,
    const uint8_t from[4], struct server_probe_answer out[2])
{
	uint8_t pkt[PROBE_BYTES_MAX];

	probe_put(p, pkt, len);
	return server_probe_input(s, now, pkt, len, from, true, out);
}

static void
test_answers(void)
{
	struct server_probe s;
	struct server_probe_answer out[2];
	struct probe p = sample(PROBE_GROUP | PROBE_DIRECT), q;
	struct err e;

	server_probe_init(&s, srv, group, 5007, 7, 0);
	T_CHECK(ask(&s, 0, &p, 1056, me, out) == 2);
	T_CHECK(out[0].to_group);
	T_CHECK(!out[1].to_group);
	T_CHECK(out[0].len == 1056);
	T_CHECK(out[1].len == 1056);
	T_CHECK(probe_get(&q, out[1].pkt, out[1].len, &e) == 0);
	T_CHECK(q.echo);
	T_CHECK(q.id == p.id);
	T_CHECK(q.number == 5);
	T_CHECK(q.heard == 1);
	T_CHECK(q.by_group == 1);
	T_CHECK(q.direct == 1);
	T_CHECK(q.flags == (PROBE_DIRECT | PROBE_CAME_BY_GROUP));
	T_CHECK(q.port == 5007);
	T_CHECK(memcmp(q.group, group, 4) == 0);
	T_CHECK(memcmp(q.srcip, srv, 4) == 0);
	/* Another's address, another session, an answer, one that asks for nothing. */
	T_CHECK(ask(&s, 0, &p, 48, srv, out) == 0);
	p.session = 8;
	T_CHECK(ask(&s, 0, &p, 48, me, out) == 0);
	p.session = 0;
	T_CHECK(ask(&s, 0, &p, 48, me, out) == 2);
	p.echo = true;
	T_CHECK(ask(&s, 0, &p, 48, me, out) == 0);
	p = sample(0);
	T_CHECK(ask(&s, 0, &p, 48, me, out) == 0);
}

/* Whatever is asked of it, no more than the bound goes out. */
static void
test_bound(void)
{
	struct server_probe s;
	struct server_probe_answer out[2];
	struct probe p = sample(PROBE_GROUP | PROBE_DIRECT), q;
	uint64_t bytes = 0, answers = 0;
	struct err e;

	server_probe_init(&s, srv, group, 5007, 7, 0);
	for (uint64_t now = 0; now < 10000000; now += 50) {
		p.id = (uint32_t)(now / 50 % 40);
		unsigned n = ask(&s, now, &p, now % 100 ? 48 : 1056, me, out);
		for (unsigned i = 0; i < n; i++)
			bytes += out[i].len;
		answers += n;
	}
	const uint64_t most = 10 * SERVER_PROBE_BYTES_S + SERVER_PROBE_BURST_BYTES;
	T_CHECK(bytes > 0);
	T_CHECK(bytes <= most);
	T_CHECK(answers <= most / (SERVER_PROBE_COST_BYTES + 48));
	/* Later it answers again; it still knows how many it heard. */
	p = sample(PROBE_DIRECT);
	T_CHECK(ask(&s, 20000000, &p, 48, me, out) == 1);
	T_CHECK(probe_get(&q, out[0].pkt, 48, &e) == 0);
	T_CHECK(q.heard == 1);
	T_CHECK(ask(&s, 20000001, &p, 48, me, out) == 1);
	T_CHECK(probe_get(&q, out[0].pkt, 48, &e) == 0);
	T_CHECK(q.heard == 2);
}

/* A burst of 100 probes as long as blocks, behind as many short ones, is answered in full;
 * the next one after the time that it takes to be paid. */
static void
test_burst(void)
{
	struct server_probe s;
	struct server_probe_answer out[2];
	struct probe p = sample(PROBE_GROUP), q;
	unsigned answers[3] = { 0 };
	struct err e;

	server_probe_init(&s, srv, group, 5007, 7, 0);
	for (unsigned at = 0; at < 3; at++)
		for (unsigned i = 0; i < 200; i++)
			answers[at] += ask(&s, at * 2500000, &p,
			    i < 100 ? PROBE_BYTES_MIN : PROBE_BYTES_MAX, me, out);
	T_CHECK(answers[0] == 200);
	T_CHECK(answers[1] > 100);
	T_CHECK(answers[1] < 200);
	/* What left, and what did not. */
	server_probe_mute(&s, true);
	server_probe_sent(&s, 77);
	T_CHECK(ask(&s, 9000000, &p, 48, me, out) == 1);
	T_CHECK(probe_get(&q, out[0].pkt, 48, &e) == 0);
	T_CHECK((q.flags & PROBE_MUTE));
	T_CHECK(q.blocks == 77);
}

/* Who only asks gets the answer, and nothing else changes: no client, no blocks, no
 * announcements. */
static void
test_asking_only(void)
{
	struct server_config cfg = { .image_bytes = 4 << 20,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.idle_us = -1,
		.ext = { .on = true, .port = 5008, .session = 7 } };
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };
	struct server *s = server_new(&cfg, 0);
	struct wirext_answer a;
	struct server_run run;
	struct server_out out;
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, me, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, WIREXT_AGAIN | WIREXT_PROBES);
	server_input(s, 1, pkt, len, me);
	T_CHECK(server_output(s, 1, &out));
	T_CHECK(out.kind == SERVER_OUT_PACKET);
	T_CHECK(wirext_get_answer(out.pkt, out.len, &a));
	T_CHECK(a.port == 5008);
	T_CHECK(a.session == 7);
	T_CHECK(a.clients == 0);
	T_CHECK((a.flags & WIREXT_PROBES));
	T_CHECK(!server_read_next(s, &run));
	T_CHECK(!server_output(s, 5000000, &out));
	T_CHECK(server_stats(s).joins == 0);
	T_CHECK(server_stats(s).clients == 0);
	T_CHECK(!server_done(s, 60000000));
	server_free(s);
}

int
main(void)
{
	test_asking_only();
	test_round_trip();
	test_answers();
	test_bound();
	test_burst();
	return t_done();
}
