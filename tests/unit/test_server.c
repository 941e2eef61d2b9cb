/* The server's engine in a straight line: time is a number that we set. */
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/net/blockmap.h"
#include "frisbeed/server.h"
#include "tests/t.h"
#include "tests/unit/drain.h"

enum { MIB = 1 << 20 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 }, ip_a[4] = { 10, 0, 0, 2 },
		     ip_b[4] = { 10, 0, 0, 3 };

static struct server *
make(uint64_t bytes, bool whole, uint32_t burst, uint64_t gap_us)
{
	struct server_config cfg = { .image_bytes = bytes,
		.whole_chunks = whole,
		.run_blocks = 32,
		.ahead = 4,
		.burst = burst,
		.gap_us = gap_us };

	memcpy(cfg.srcip, server_ip, 4);
	return server_new(&cfg, 0);
}

static void
input(struct server *s, uint64_t now, const struct wire_msg *m, const uint8_t from[4])
{
	uint8_t pkt[WIRE_PACKET_MAX];

	server_input(s, now, pkt, wire_put(m, pkt, sizeof pkt), from);
}

static struct wire_msg
from_a(enum wire_subtype subtype)
{
	return (struct wire_msg){
		.type = WIRE_REQUEST, .subtype = subtype, .srcip = { 10, 0, 0, 2 }
	};
}

static void
join(struct server *s, uint64_t now, uint32_t id)
{
	struct wire_msg m = from_a(WIRE_JOIN);

	m.u.join.clientid = id;
	input(s, now, &m, ip_a);
}

static void
request(struct server *s, uint64_t now, uint32_t chunk, uint32_t first, uint32_t count)
{
	struct wire_msg m = from_a(WIRE_REQ);

	m.u.req.chunk = chunk;
	m.u.req.first = first;
	m.u.req.count = count;
	input(s, now, &m, ip_a);
}

static void
prequest(
    struct server *s, uint64_t now, uint32_t chunk, struct blockmap map, int retries)
{
	struct wire_msg m = from_a(WIRE_PREQ);

	m.u.preq.chunk = chunk;
	m.u.preq.retries = retries;
	blockmap_put(&map, m.u.preq.map);
	input(s, now, &m, ip_a);
}

static bool
reply_is(const struct server_out *out, enum wire_subtype subtype, struct wire_msg *m)
{
	struct err e;

	return out->kind == SERVER_OUT_PACKET &&
	       wire_get(m, out->pkt, out->len, &e) == 0 && m->type == WIRE_REPLY &&
	       m->subtype == subtype && memcmp(m->srcip, server_ip, 4) == 0;
}

/* Blocks that go out in so many milliseconds, asked for every one of them. */
static uint32_t
sent_in(struct server *s, uint64_t *now, unsigned ms)
{
	uint32_t blocks[4096], n = 0;

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		n += drain(s, *now, blocks, 4096);
	}
	return n;
}

static void
test_set_rate(void)
{
	struct server *s = make(8 * MIB, true, 16, 2000);
	uint64_t now = 1000000;

	for (uint32_t c = 0; c < 8; c++)
		request(s, now, c, 0, 1024);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 1000);
	uint32_t n = sent_in(s, &now, 1000);
	T_CHECK(n >= 980 && n <= 1001);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 100);
	n = sent_in(s, &now, 1000);
	T_CHECK(n >= 97 && n <= 102);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 4000);
	n = sent_in(s, &now, 1000);
	T_CHECK(n >= 3900 && n <= 4050);
	server_free(s);
}

static struct server *
make_ext(int64_t idle_us)
{
	struct server_config cfg = { .image_bytes = 3 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.idle_us = idle_us,
		.ext = { .on = true, .port = 5008, .session = 9 } };

	return server_new(&cfg, 0);
}

/* What was said on the second port before a LEAVE, but heard after it. */
static void
test_want_after_leave(void)
{
	struct server *s = make_ext(-1);
	uint8_t bits[1] = { 1 }, pkt[WIRE_PACKET_MAX];
	struct wirext_msg want = { .kind = WIREXT_WANT, .srcip = { 10, 0, 0, 2 } };
	struct wire_msg leave = from_a(WIRE_LEAVE);

	want.session = 9;
	want.u.want.clientid = 5;
	want.u.want.map = (struct wirext_map){ 0, 3, bits };
	size_t n = wirext_put(&want, pkt, sizeof pkt);
	server_input(s, 0, pkt, n, ip_a);
	T_CHECK(server_stats(s)->clients == 1); /* of an earlier run */
	leave.u.leave.clientid = 5;
	input(s, 0, &leave, ip_a);
	server_input(s, 0, pkt, n, ip_a);
	T_CHECK(server_stats(s)->clients == 0);
	want.u.want.clientid = 6;
	server_input(s, 0, pkt, wirext_put(&want, pkt, sizeof pkt), ip_a);
	T_CHECK(server_stats(s)->clients == 1);
	server_free(s);
}

/* What the next announcement says. */
static bool
says_idle(struct server *s, uint64_t *now)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;

	for (int ms = 0; ms < 2000; ms++, *now += 1000)
		while (server_output(s, *now, &out))
			if (out.kind == SERVER_OUT_PACKET &&
			    wirext_get(&m, out.pkt, out.len, &e) == 0 &&
			    m.kind == WIREXT_STATE)
				return (m.u.state.flags & WIREXT_IDLE) != 0;
	return false;
}

/* Chunks are wanted, but who wanted them has left without saying GO. */
static void
test_end_while_held(void)
{
	struct server *s = make_ext(-1);
	struct wire_msg join = from_a(WIRE_JOIN), leave = from_a(WIRE_LEAVE);
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t blocks[4096];

	join.u.join.clientid = leave.u.leave.clientid = 5;
	size_t n = wire_put(&join, pkt, sizeof pkt);
	n = wirext_put_offer(pkt, n, sizeof pkt, 0);
	server_input(s, 0, pkt, n, ip_a);
	uint64_t now = 0;
	uint32_t sent = sent_in(s, &now, 400);
	T_CHECK(sent > 0 && sent < 3 * 1024); /* the rest waits for a GO */
	T_CHECK(drain(s, now, blocks, 4096) == 0);
	now += 2000000;
	T_CHECK(says_idle(s, &now)); /* who waits for more is to speak */
	input(s, now, &leave, ip_a);
	T_CHECK(!server_done(s, now));
	T_CHECK(server_done(s, now + 3000000));
	server_free(s);
}

static void
test_join(void)
{
	struct server *s = make(3 * MIB, true, 16, 2000);
	struct server_out out;
	struct wire_msg m;

	T_CHECK(server_chunks(s) == 3 && !server_output(s, 0, &out));
	T_CHECK(server_deadline(s, 0) == SERVER_NEVER);
	request(s, 0, 0, 0, 1024);
	read_all(s);
	join(s, 5, 77);
	join(s, 6, 77);
	join(s, 7, 78);
	T_CHECK(server_deadline(s, 7) == 7);
	/* One reply for all, before the blocks. */
	T_CHECK(server_output(s, 7, &out) && reply_is(&out, WIRE_JOIN, &m));
	T_CHECK(m.u.join.blocks == 3072);
	T_CHECK(server_output(s, 7, &out) && out.kind == SERVER_OUT_BLOCK);
	T_CHECK(server_stats(s)->clients == 2 && server_stats(s)->joins == 3);
	struct wire_msg leave = from_a(WIRE_LEAVE2);
	leave.u.leave2.clientid = 77;
	input(s, 9, &leave, ip_a);
	input(s, 9, &leave, ip_a);
	T_CHECK(server_stats(s)->clients == 1 && server_stats(s)->clients_max == 2);
	server_free(s);
}

static void
join_from(struct server *s, uint64_t now, uint32_t ip, uint32_t id, bool offer)
{
	struct wire_msg m = from_a(WIRE_JOIN);
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.join.clientid = id;
	memcpy(m.srcip, &ip, 4);
	size_t n = wire_put(&m, pkt, sizeof pkt);
	if (offer)
		n = wirext_put_offer(pkt, n, sizeof pkt, 0);
	server_input(s, now, pkt, n, m.srcip);
}

/* Strangers join from ever other addresses, ten thousand times a second: those who are
 * loading are still known, who comes is counted, and few replies go out. */
static void
test_join_flood(void)
{
	struct server *s = make_ext(0);
	struct server_out out;
	uint64_t now = 1000000;
	uint32_t replies = 0, counted = 0;

	join(s, now, 77);
	request(s, now, 0, 0, 1024);
	for (uint32_t i = 0; i < 50000; i++) {
		now += 100;
		join_from(s, now, 0x0b000000 + i, i, i % 2);
		if (i % 1000 == 0) {
			uint32_t before = server_stats(s)->joins;
			join_from(s, now, 0x0c000000 + i, 5, true);
			counted += server_stats(s)->joins == before + 1;
		}
		for (read_all(s); server_output(s, now, &out); read_all(s))
			replies += out.kind == SERVER_OUT_PACKET &&
			           !wirext_is(out.pkt, out.len);
	}
	T_CHECK(counted == 50);
	T_CHECK(replies > 1000 && replies < 1300);
	T_CHECK(server_stats(s)->clients == SERVER_CLIENTS_MAX);
	/* He asked, so he is still there to leave. */
	struct wire_msg leave = from_a(WIRE_LEAVE);
	leave.u.leave.clientid = 77;
	input(s, now, &leave, ip_a);
	T_CHECK(server_stats(s)->clients == SERVER_CLIENTS_MAX - 1);
	/* One address is not thousands of clients. */
	struct server *t = make_ext(0);
	for (uint32_t i = 0; i < 20000; i++)
		join(t, now, i);
	T_CHECK(server_stats(t)->clients == 64);
	server_free(t);
	server_free(s);
}

/* A client is said to have left by somebody else: it is known again when it speaks. */
static void
test_forged_leave(void)
{
	struct server *s = make_ext(0);
	struct wire_msg leave = from_a(WIRE_LEAVE);
	struct wirext_msg go = { .kind = WIREXT_GO, .srcip = { 10, 0, 0, 2 } };
	uint8_t pkt[WIRE_PACKET_MAX];

	join(s, 5, 77);
	leave.u.leave.clientid = go.u.go.clientid = 77;
	go.session = 9;
	go.u.go.blocks = 1024;
	size_t n = wirext_put(&go, pkt, sizeof pkt);
	input(s, 6, &leave, ip_a);
	T_CHECK(server_stats(s)->clients == 0);
	server_input(s, 7, pkt, n, ip_a);
	T_CHECK(server_stats(s)->clients == 0 && server_stats(s)->gos == 0);
	server_input(s, 1500000, pkt, n, ip_a);
	T_CHECK(server_stats(s)->clients == 1 && server_stats(s)->gos == 1);
	server_free(s);
}

/* A file that is not whole chunks is offered by JOIN2 only. */
static void
test_join2(void)
{
	struct server *s = make(307200 + 1, false, 16, 2000);
	struct server_out out;
	struct wire_msg m, ask = from_a(WIRE_JOIN2);

	join(s, 0, 77);
	T_CHECK(!server_output(s, 0, &out) && server_stats(s)->clients == 0);
	for (uint32_t id = 1; id <= 3; id++) {
		ask.u.join2.clientid = id % 3;
		input(s, 0, &ask, ip_a);
	}
	for (uint32_t id = 1; id <= 3; id++) {
		uint64_t now = server_deadline(s, 0);
		T_CHECK(now == 0);
		T_CHECK(server_output(s, now, &out) && reply_is(&out, WIRE_JOIN2, &m));
		T_CHECK(m.u.join2.clientid == id % 3 && m.u.join2.blocks == 301 &&
			m.u.join2.image_bytes == 307201 &&
			m.u.join2.chunk_blocks == 1024 &&
			m.u.join2.block_bytes == 1024);
	}
	T_CHECK(!server_output(s, 0, &out));
	/* Requests beyond the end are cut, not ignored. */
	uint32_t blocks[1024];
	request(s, 0, 0, 290, 734);
	T_CHECK(
	    drain(s, 0, blocks, 1024) == 11 && blocks[0] == 290 && blocks[10] == 300);
	request(s, 0, 0, 301, 5);
	T_CHECK(drain(s, 0, blocks, 1024) == 0);
	server_free(s);
}

static void
test_merging(void)
{
	struct server *s = make(3 * MIB, true, 1, 0);
	static uint32_t blocks[4096];
	struct server_out out;

	request(s, 0, 1, 0, 1024);
	request(s, 0, 2, 10, 5);
	request(s, 0, 1, 0, 1024);
	prequest(s, 0, 2, blockmap_range(12, 10), 1);
	prequest(s, 0, 0, blockmap_range(0, 0), 1);
	T_CHECK(server_stats(s)->blocks_merged == 1024 + 3);
	T_CHECK(drain(s, 0, blocks, 4096) == 1024 + 12);
	T_CHECK(blocks[0] == 1024 && blocks[1023] == 2047 && blocks[1024] == 2048 + 10);

	/* Being read, and read but not sent: merged, too. */
	request(s, 0, 0, 0, 1024);
	read_all(s);
	request(s, 0, 0, 0, 1024);
	for (int i = 0; i < 40; i++)
		server_output(s, 0, &out);
	/* Blocks 0 to 39 are gone, all others are coming. */
	request(s, 0, 0, 30, 20);
	request(s, 0, 2, 7, 1);
	uint32_t n = drain(s, 0, blocks, 4096);
	T_CHECK(n == 1024 - 40 + 10 + 1);
	T_CHECK(blocks[0] == 40 && blocks[983] == 1023);
	/* What was sent already waits behind the others' requests. */
	T_CHECK(blocks[984] == 2048 + 7 && blocks[985] == 30 && blocks[994] == 39);
	T_CHECK(server_stats(s)->blocks_resent == 10);
	T_CHECK(server_stats(s)->lost_blocks == 5 + 10 + 20 + 1);
	T_CHECK(!server_output(s, 0, &out) && server_deadline(s, 0) == SERVER_NEVER);
	server_free(s);
}

static void
test_refused(void)
{
	struct server *s = make(MIB, true, 1, 0);
	uint8_t pkt[WIRE_PACKET_MAX] = { 9 };
	struct server_run run;

	request(s, 0, 1, 0, 1);
	server_input(s, 0, pkt, 40, ip_a);
	struct wire_msg m = from_a(WIRE_JOIN);
	input(s, 0, &m, ip_b); /* claims to be somebody else */
	T_CHECK(server_stats(s)->bad_packets == 3 && server_stats(s)->clients == 0);
	m.type = WIRE_REPLY;
	input(s, 0, &m, ip_a);
	m = from_a(WIRE_BLOCK);
	m.u.block.data = pkt;
	input(s, 0, &m, ip_a);
	T_CHECK(server_stats(s)->bad_packets == 3 && !server_read_next(s, &run));
	server_free(s);
}

/* Never more than `ahead` runs out, sent in order though read in any. */
static void
test_reading(void)
{
	struct server *s = make(MIB, true, 1, 0);
	struct server_run run[5];
	struct server_out out;

	request(s, 0, 0, 0, 1024);
	for (int i = 0; i < 4; i++)
		T_CHECK(server_read_next(s, &run[i]) &&
			run[i].first == 32u * (unsigned)i && run[i].count == 32);
	T_CHECK(!server_read_next(s, &run[4]));
	server_read_done(s, run[1].buf);
	T_CHECK(!server_output(s, 0, &out));
	server_read_done(s, run[0].buf);
	for (uint32_t b = 0; b < 64; b++)
		T_CHECK(server_output(s, 0, &out) && out.block == b &&
			out.at == b % 32 && out.buf == run[b / 32].buf &&
			out.run_ends == (b % 32 == 31));
	T_CHECK(!server_output(s, 0, &out));
	T_CHECK(server_read_next(s, &run[4]) && run[4].buf == run[0].buf);
	server_free(s);
}

static uint32_t
send_now(struct server *s, uint64_t now)
{
	struct server_out out;
	uint32_t n = 0;

	for (read_all(s); server_output(s, now, &out); read_all(s))
		n++;
	return n;
}

static void
test_pacing(void)
{
	struct server *s = make(16 * MIB, true, 16, 2000);

	for (uint32_t c = 0; c < 16; c++)
		request(s, 0, c, 0, 1024);
	T_CHECK(send_now(s, 1000) == 16 && server_deadline(s, 1500) == 3000);
	T_CHECK(send_now(s, 2999) == 0);
	T_CHECK(send_now(s, 3100) == 16 &&
		server_deadline(s, 3100) == 5000); /* on the grid */
	T_CHECK(send_now(s, 8000) == 16 &&
		server_deadline(s, 8000) == 10000); /* a new one */
	uint64_t sent = 0, now = 10000;
	for (; now < 1010000; now = server_deadline(s, now) + 70)
		sent += send_now(s, now);
	/* 70 us late each time, yet no slower than the grid. */
	T_CHECK(sent == 8000);
	server_free(s);
}

/* The mean rate of each -W: never above, at most 1 % below. */
static void
test_rates(void)
{
	static const uint64_t rates[] = { 1000, 1000000, 1500000, 5000000, 10000000,
		60000000, 70000000, 100000000, 333333333, 1000000000, 2500000000,
		10000000000 };

	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		uint32_t burst;
		uint64_t gap;
		server_rate_to_burst(rates[i], &burst, &gap);
		double got = (double)burst * WIRE_BLOCK_COST_BITS * 1e6 / (double)gap;
		printf("# %llu bit/s: %u blocks every %llu us\n",
		    (unsigned long long)rates[i], burst, (unsigned long long)gap);
		T_CHECK(gap % 1000 == 0 && got <= (double)rates[i] &&
			got >= 0.99 * (double)rates[i]);
	}
	uint32_t burst;
	uint64_t gap;
	server_rate_to_burst(60000000, &burst, &gap);
	T_CHECK(burst == 20 && gap == 3000);
}

/* Requests for all of an image of 64 chunks, at 16 blocks every 2 ms. */
static struct server *
make_dynamic(bool ext)
{
	struct server_config cfg = { .image_bytes = 64 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.dynamic = true,
		.ext = { .on = ext, .port = 5008, .session = 9 } };
	struct server *s = server_new(&cfg, 0);

	for (uint32_t c = 0; c < 64; c++)
		request(s, 0, c, 0, 1024);
	return s;
}

/* Blocks sent until then; after each deadline. */
static uint32_t
send_until(struct server *s, uint64_t *now, uint64_t then)
{
	uint32_t n = 0;

	for (; *now < then; *now = server_deadline(s, *now) + 1)
		n += send_now(s, *now);
	return n;
}

/* -D with old clients: a rate at which much is asked for again is too high. */
static void
test_dynamic_old(void)
{
	struct server *s = make_dynamic(false);
	struct blockmap half = blockmap_range(0, 1024);
	uint64_t now = 0;

	for (uint32_t b = 0; b < 1024; b += 2)
		blockmap_clear(&half, b);
	uint32_t whole = send_until(s, &now, 1000000);
	T_CHECK(whole >= 7900 && whole <= 8100);
	for (uint32_t c = 0; c < 4; c++)
		prequest(s, now, c, half, 1);
	send_until(s, &now, 1600000);
	uint32_t less = send_until(s, &now, 1700000);
	T_CHECK(less > 300 && less < 500 && server_stats(s)->slowed == 1);
	/* Who came too late for the first blocks has lost nothing. */
	for (uint32_t c = 4; c < 8; c++)
		prequest(s, now, c, blockmap_range(0, 512), 0);
	send_until(s, &now, 2600000);
	T_CHECK(server_stats(s)->slowed == 1);
	T_CHECK(send_until(s, &now, 2700000) > less);
	server_free(s);
}

static void
complain(struct server *s, uint64_t now, uint32_t epoch, uint32_t lost, bool queue)
{
	struct wirext_msg m = {
		.kind = WIREXT_LOAD, .srcip = { 10, 0, 0, 2 }, .session = 9
	};
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.load.clientid = 7;
	m.u.load.epoch = epoch;
	m.u.load.lost = lost;
	m.u.load.of = 100;
	m.u.load.queue = queue;
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), ip_a);
}

/* The last time signal among what is sent now, and how many there were. */
static uint32_t
signals(struct server *s, uint64_t now, struct wirext_msg *last)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;
	uint32_t n = 0;

	for (read_all(s); server_output(s, now, &out); read_all(s)) {
		if (out.kind != SERVER_OUT_PACKET || !wirext_is(out.pkt, out.len) ||
		    wirext_get(&m, out.pkt, out.len, &e) != 0 || m.kind != WIREXT_TIME)
			continue;
		*last = m;
		n++;
	}
	return n;
}

/* -D with the extension: time signals go out; a complaint slows down once. */
static void
test_dynamic_ext(void)
{
	struct server *s = make_dynamic(true);
	struct wirext_msg m = { 0 };
	uint64_t now = 0;
	uint32_t n = 0;

	send_until(s, &now, 1000000);
	complain(s, now, 0, 0, true); /* now it knows that we are there */
	for (uint64_t end = now + 1000000; now < end; now = server_deadline(s, now) + 1)
		n += signals(s, now, &m);
	T_CHECK(n >= 35 && n <= 41 && m.session == 9);
	T_CHECK(now - m.u.time.time_us <= 30000);
	T_CHECK(m.u.time.sent <= server_stats(s)->blocks_sent &&
		m.u.time.sent + 400 >= server_stats(s)->blocks_sent);
	uint32_t slowed = server_stats(s)->slowed;
	complain(s, now, m.u.time.epoch, 5, true);
	complain(s, now, m.u.time.epoch, 5, true); /* it is known */
	send_now(s, now + 1000);
	T_CHECK(server_stats(s)->slowed == slowed + 1);
	T_CHECK(server_stats(s)->rate < 0.86 * 8000);
	T_CHECK(server_stats(s)->loads == 3);
	/* Few losses without a queue are nothing; of the future, neither. */
	complain(s, now, m.u.time.epoch + 1, 2, false);
	complain(s, now, m.u.time.epoch + 99, 50, true);
	send_until(s, &now, now + 900000);
	T_CHECK(server_stats(s)->slowed == slowed + 1);
	server_free(s);
}

static void
test_ending(void)
{
	struct server_config cfg = { .image_bytes = MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.idle_us = 5000000 };
	struct server *s = server_new(&cfg, 1000);

	T_CHECK(!server_done(s, 5000999) && server_done(s, 5001000));
	T_CHECK(server_deadline(s, 1000) == 5001000);
	request(s, 3000000, 0, 0, 1024);
	T_CHECK(!server_done(s, 9000000)); /* busy */
	send_now(s, 9000000);
	T_CHECK(server_done(s, 9000000));
	server_free(s);

	cfg.idle_us = -1;
	s = server_new(&cfg, 0);
	T_CHECK(!server_done(s, UINT64_C(1) << 50));
	join(s, 10, 1);
	send_now(s, 10);
	T_CHECK(!server_done(s, 60000000));
	struct wire_msg m = from_a(WIRE_LEAVE);
	m.u.leave.clientid = 1;
	input(s, 60000000, &m, ip_a);
	T_CHECK(!server_done(s, 61999999) && server_done(s, 62000000));
	/* Somebody is there whose join did not arrive. */
	request(s, 61500000, 0, 0, 16);
	T_CHECK(send_now(s, 61500000) == 16);
	T_CHECK(server_stats(s)->clients == 1 && !server_done(s, 63500000));
	m.u.leave.clientid = 7;
	input(s, 64000000, &m, ip_a);
	T_CHECK(server_stats(s)->clients == 0);
	T_CHECK(!server_done(s, 65999999) && server_done(s, 66000000));
	/* What it said before it left may come late. */
	request(s, 64100000, 0, 0, 16);
	T_CHECK(server_stats(s)->clients == 0);
	/* By its name it is not counted twice. */
	request(s, 67000000, 0, 0, 16);
	join(s, 67000001, 8);
	T_CHECK(server_stats(s)->clients == 1);
	server_free(s);
}

int
main(void)
{
	test_set_rate();
	test_want_after_leave();
	test_end_while_held();
	test_join();
	test_join2();
	test_join_flood();
	test_forged_leave();
	test_merging();
	test_refused();
	test_reading();
	test_pacing();
	test_rates();
	test_dynamic_old();
	test_dynamic_ext();
	test_ending();
	return t_done();
}
