/* The server's engine: who joins it and who leaves, in earnest or not. */
#include "tests/t.h"
#include "tests/unit/server_talk.h"

static bool
reply_is(const struct server_out *out, enum wire_subtype subtype, struct wire_msg *m)
{
	struct err e;

	return out->kind == SERVER_OUT_PACKET &&
	       wire_get(m, out->pkt, out->len, &e) == 0 && m->type == WIRE_REPLY &&
	       m->subtype == subtype && memcmp(m->srcip, server_ip, 4) == 0;
}

static void
test_join(void)
{
	struct server *s = make(3 * MIB, true, 16, 2000);
	struct server_out out;
	struct wire_msg m;

	T_CHECK(server_chunks(s) == 3);
	T_CHECK(!server_output(s, 0, &out));
	T_CHECK(server_deadline(s, 0) == SERVER_NEVER);
	request(s, 0, 0, 0, 1024);
	read_all(s);
	join(s, 5, 77);
	join(s, 6, 77);
	join(s, 7, 78);
	T_CHECK(server_deadline(s, 7) == 7);
	/* One reply for all, before the blocks. */
	T_CHECK(server_output(s, 7, &out));
	T_CHECK(reply_is(&out, WIRE_JOIN, &m));
	T_CHECK(m.u.join.blocks == 3072);
	T_CHECK(server_output(s, 7, &out));
	T_CHECK(out.kind == SERVER_OUT_BLOCK);
	T_CHECK(server_stats(s).clients == 2);
	T_CHECK(server_stats(s).joins == 3);
	struct wire_msg leave = from_a(WIRE_LEAVE2);
	leave.u.leave2.clientid = 77;
	input(s, 9, &leave, ip_a);
	input(s, 9, &leave, ip_a);
	T_CHECK(server_stats(s).clients == 1);
	T_CHECK(server_stats(s).clients_max == 2);
	server_free(s);
}

/* A file that is not whole chunks is offered by JOIN2 only.  Who joins for an image hears
 * the other kind of answer, which original clients do not heed, and is no client. */
static void
test_join2(void)
{
	struct server *s = make(307200 + 1, false, 16, 2000);
	struct server_out out;
	struct wire_msg m, ask = from_a(WIRE_JOIN2);

	join(s, 0, 77);
	T_CHECK(server_output(s, 0, &out));
	T_CHECK(reply_is(&out, WIRE_JOIN2, &m));
	T_CHECK(m.u.join2.clientid == 77);
	T_CHECK(m.u.join2.image_bytes == 307201);
	T_CHECK(!server_output(s, 0, &out));
	T_CHECK(server_stats(s).clients == 0);
	for (uint32_t id = 1; id <= 3; id++) {
		ask.u.join2.clientid = id % 3;
		input(s, 0, &ask, ip_a);
	}
	for (uint32_t id = 1; id <= 3; id++) {
		uint64_t now = server_deadline(s, 0);
		T_CHECK(now == 0);
		T_CHECK(server_output(s, now, &out));
		T_CHECK(reply_is(&out, WIRE_JOIN2, &m));
		T_CHECK(m.u.join2.clientid == id % 3);
		T_CHECK(m.u.join2.blocks == 301);
		T_CHECK(m.u.join2.image_bytes == 307201);
		T_CHECK(m.u.join2.chunk_blocks == 1024);
		T_CHECK(m.u.join2.block_bytes == 1024);
	}
	T_CHECK(!server_output(s, 0, &out));
	/* Requests beyond the end are cut, not ignored. */
	uint32_t blocks[1024];
	request(s, 0, 0, 290, 734);
	T_CHECK(drain(s, 0, blocks, 1024) == 11);
	T_CHECK(blocks[0] == 290);
	T_CHECK(blocks[10] == 300);
	request(s, 0, 0, 301, 5);
	T_CHECK(drain(s, 0, blocks, 1024) == 0);
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
			uint32_t before = server_stats(s).joins;
			join_from(s, now, 0x0c000000 + i, 5, true);
			counted += server_stats(s).joins == before + 1;
		}
		for (read_all(s); server_output(s, now, &out); read_all(s))
			replies += out.kind == SERVER_OUT_PACKET &&
			           !wirext_is(out.pkt, out.len);
	}
	T_CHECK(counted == 50);
	T_CHECK(replies > 1000);
	T_CHECK(replies < 1300);
	T_CHECK(server_stats(s).clients == SERVER_CLIENTS_MAX);
	/* He asked, so he is still there to leave. */
	struct wire_msg leave = from_a(WIRE_LEAVE);
	leave.u.leave.clientid = 77;
	input(s, now, &leave, ip_a);
	T_CHECK(server_stats(s).clients == SERVER_CLIENTS_MAX - 1);
	/* One address is not thousands of clients. */
	struct server *t = make_ext(0);
	for (uint32_t i = 0; i < 20000; i++)
		join(t, now, i);
	T_CHECK(server_stats(t).clients == 64);
	server_free(t);
	server_free(s);
}

static void
go_from(struct server *s, uint64_t now, uint32_t ip, uint32_t id, uint32_t blocks)
{
	struct wirext_msg m = { .kind = WIREXT_CREDIT, .session = 9 };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, &ip, 4);
	m.u.credit.clientid = id;
	m.u.credit.blocks = blocks;
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), m.srcip);
}

static void
go(struct server *s, uint64_t now, uint32_t id, uint32_t blocks)
{
	uint32_t ip;

	memcpy(&ip, ip_a, 4);
	go_from(s, now, ip, id, blocks);
}

/* A client is said to have left by somebody else: it is known again when it speaks. */
static void
test_forged_leave(void)
{
	struct server *s = make_ext(0);
	struct wire_msg leave = from_a(WIRE_LEAVE);

	join(s, 5, 77);
	leave.u.leave.clientid = 77;
	input(s, 6, &leave, ip_a);
	T_CHECK(server_stats(s).clients == 0);
	go(s, 7, 77, 1024);
	T_CHECK(server_stats(s).clients == 0);
	T_CHECK(server_stats(s).credits == 0);
	go(s, 1500000, 77, 1024);
	T_CHECK(server_stats(s).clients == 1);
	T_CHECK(server_stats(s).credits == 1);
	server_free(s);
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
	T_CHECK(server_stats(s).clients == 1); /* of an earlier run */
	leave.u.leave.clientid = 5;
	input(s, 0, &leave, ip_a);
	server_input(s, 0, pkt, n, ip_a);
	T_CHECK(server_stats(s).clients == 0);
	want.u.want.clientid = 6;
	server_input(s, 0, pkt, wirext_put(&want, pkt, sizeof pkt), ip_a);
	T_CHECK(server_stats(s).clients == 1);
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
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			if (out.kind == SERVER_OUT_PACKET &&
			    wirext_get(&m, out.pkt, out.len, &e) == 0 &&
			    m.kind == WIREXT_STATE)
				return (m.u.state.flags & WIREXT_IDLE) != 0;
	return false;
}

/* Chunks are wanted, but who wanted them has left without saying CREDIT. */
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
	T_CHECK(sent > 0);
	T_CHECK(sent < 3 * 1024); /* the rest waits for a CREDIT */
	T_CHECK(drain(s, now, blocks, 4096) == 0);
	now += 2000000;
	T_CHECK(says_idle(s, &now)); /* who waits for more is to speak */
	input(s, now, &leave, ip_a);
	/* It never said more than that it is there. */
	T_CHECK(!server_done(s, now + 3000000));
	leave.subtype = WIRE_LEAVE2;
	leave.u.leave2.clientid = 5;
	leave.u.leave2.stats.bytes_covered = 512;
	server_input(s, now, pkt, n, ip_a);
	sent_in(s, &now, 400);
	input(s, now, &leave, ip_a);
	T_CHECK(!server_done(s, now));
	T_CHECK(server_done(s, now + 3000000));
	server_free(s);
}

/* -T -1: who comes and leaves without a request was not the last client. */
static void
test_stranger_is_not_the_last_client(void)
{
	struct server *s = make_ext(-1);
	struct wire_msg leave = from_a(WIRE_LEAVE);
	uint64_t now = 1000000;

	join(s, now, 5);
	leave.u.leave.clientid = 5;
	input(s, now, &leave, ip_a);
	T_CHECK(server_stats(s).clients == 0);
	T_CHECK(!server_done(s, now + UINT64_C(10000000000)));
	join(s, now, 6);
	request(s, now, 0, 0, 1024);
	T_CHECK(sent_in(s, &now, 400) == 1024);
	leave.u.leave.clientid = 6;
	input(s, now, &leave, ip_a);
	T_CHECK(server_done(s, now + 3000000));
	server_free(s);
}

static uint32_t others;

static void
note_other(void *arg, const uint8_t ip[4])
{
	others += memcmp(ip, arg, 4) == 0;
}

/* Another server's announcement, and its answers: said once; it is no client. */
static void
test_another_server(void)
{
	static const uint8_t other_ip[4] = { 10, 0, 0, 3 };
	struct server *s = make_ext(0);
	struct server_log log = { .other = note_other, .arg = (void *)(uintptr_t)other_ip };
	struct wirext_msg state = { .kind = WIREXT_STATE, .session = 10 };
	struct wire_msg reply = { .type = WIRE_REPLY, .subtype = WIRE_JOIN };
	uint8_t pkt[WIRE_PACKET_MAX];
	struct server_out out;

	server_set_log(s, &log);
	memcpy(state.srcip, server_ip, 4);
	state.session = 9; /* our own, through the loop */
	server_input(s, 0, pkt, wirext_put(&state, pkt, sizeof pkt), server_ip);
	input(s, 0, &reply, server_ip);
	T_CHECK(others == 0);
	memcpy(state.srcip, other_ip, 4);
	state.session = 10;
	for (uint64_t now = 0; now < 2000000; now += 100000) {
		server_input(s, now, pkt, wirext_put(&state, pkt, sizeof pkt), other_ip);
		memcpy(reply.srcip, other_ip, 4);
		server_input(s, now, pkt, wire_put(&reply, pkt, sizeof pkt), other_ip);
		T_CHECK(!server_output(s, now, &out));
	}
	T_CHECK(others == 1);
	T_CHECK(server_stats(s).clients == 0);
	server_free(s);
}

/* That nothing more comes is said at the end of whatever was sent, soon: who lacks some
 * of it waits for that. */
static void
test_idle_again(void)
{
	struct server *s = make_ext(-1);
	uint64_t now = 0;

	join_from(s, now, 0x0b000001, 1, true);
	go(s, now, 77, 3 * 1024);
	T_CHECK(sent_in(s, &now, 600) == 3 * 1024);
	T_CHECK(says_idle(s, &now));
	request(s, now, 0, 0, 10);
	uint64_t asked = now;
	T_CHECK(says_idle(s, &now));
	T_CHECK(now < asked + 10000);
	T_CHECK(server_stats(s).blocks_resent == 10);
	server_free(s);
}

/* Who comes 15 ms after the first one, at 8 blocks a millisecond, misses nothing: what
 * it wants comes once, for both.  Then a chunk's beginning would have to come again. */
static void
test_crowd_begins_together(void)
{
	struct server *s = make_ext(-1);
	uint64_t now = 0;

	join_from(s, now, 0x0b000001, 1, true);
	T_CHECK(sent_in(s, &now, 15) == 0);
	join_from(s, now, 0x0b000002, 2, true);
	T_CHECK(sent_in(s, &now, 10) > 0);
	T_CHECK(sent_in(s, &now, 400) > 0);
	T_CHECK(server_stats(s).blocks_resent == 0);
	T_CHECK(says_idle(s, &now));
	server_free(s);
}

static void
test_late_comer_waits_for_nobody(void)
{
	struct server *s = make_ext(-1);
	uint64_t now = 0;

	join_from(s, now, 0x0b000001, 1, true);
	T_CHECK(sent_in(s, &now, 25) > 0);
	join_from(s, now, 0x0b000002, 2, true);
	T_CHECK(sent_in(s, &now, 4) > 0);
	server_free(s);
}

/* While something is still to be sent, who joins again and again, under whatever name,
 * makes the server begin anew once; when everything was sent, it begins again, unless others
 * are there. */
static void
test_begins_once(void)
{
	struct server *s = make_ext(0);
	const uint32_t a = 0x0b000001, b = 0x0b000002;
	uint64_t now = 0;

	join_from(s, now, a, 1, true);
	uint32_t sent = sent_in(s, &now, 400);
	T_CHECK(sent > 0);
	T_CHECK(sent < 3 * 1024); /* the rest waits for a CREDIT */
	join_from(s, now, a, 1, true);
	join_from(s, now, a, 2, true);
	sent += sent_in(s, &now, 50);
	join_from(s, now, a, 3, true);
	sent += sent_in(s, &now, 400);
	T_CHECK(sent == 3 * 1024);
	join_from(s, now, a, 1, true);
	T_CHECK(sent_in(s, &now, 400) > 0);
	go_from(s, now, a, 1, 6 * 1024);
	sent_in(s, &now, 800);
	T_CHECK(says_idle(s, &now));
	T_CHECK(server_stats(s).blocks_sent == 2 * 3 * 1024);
	join_from(s, now, b, 4, true);
	T_CHECK(sent_in(s, &now, 400) > 0);
	go_from(s, now, b, 4, 6 * 1024);
	sent_in(s, &now, 800);
	T_CHECK(says_idle(s, &now));
	T_CHECK(server_stats(s).blocks_sent == 3 * 3 * 1024);
	join_from(s, now, a, 1, true);
	T_CHECK(sent_in(s, &now, 400) == 0);
	server_free(s);
}

int
main(void)
{
	test_begins_once();
	test_crowd_begins_together();
	test_late_comer_waits_for_nobody();
	test_idle_again();
	test_join();
	test_join2();
	test_join_flood();
	test_forged_leave();
	test_want_after_leave();
	test_end_while_held();
	test_stranger_is_not_the_last_client();
	test_another_server();
	return t_done();
}
