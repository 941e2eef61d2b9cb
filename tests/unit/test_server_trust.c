/* The server's engine among clients of which one asks for more than it may lack, or
 * complains alone: the others are served as if it were not there. */
#include <string.h>

#include "common/wire/wirext.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

enum { CHUNKS = 12, SESSION = 9, CLIENTS = 6, LIAR = 100, MS = 1000 };

static struct server *
make_room(bool dynamic)
{
	struct server_config cfg = { .image_bytes = (uint64_t)CHUNKS * MIB,
		.whole_chunks = true,
		.srcip = { 10, 0, 0, 1 },
		.run_blocks = 32,
		.ahead = 8,
		.burst = 16,
		.gap_us = 2000,
		.dynamic = dynamic,
		.idle_us = -1,
		.ext = {
		    .on = true, .parity = true, .port = 5008, .session = SESSION } };

	return server_new(&cfg, 0);
}

static void
say(struct server *s, uint64_t now, uint8_t who, struct wirext_msg m)
{
	const uint8_t ip[4] = { 10, 0, 0, who };
	uint8_t pkt[WIRE_PACKET_MAX];

	m.session = SESSION;
	memcpy(m.srcip, ip, 4);
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), ip);
}

static void
joins(struct server *s, uint64_t now, uint8_t who, uint32_t id, uint32_t flags)
{
	const uint8_t ip[4] = { 10, 0, 0, who };
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, ip, 4);
	m.u.join.clientid = id;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	server_input(s, now, pkt, wirext_put_offer(pkt, n, sizeof pkt, flags), ip);
}

static void
leaves(struct server *s, uint64_t now, uint8_t who, uint32_t id)
{
	const uint8_t ip[4] = { 10, 0, 0, who };
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE };

	memcpy(m.srcip, ip, 4);
	m.u.leave.clientid = id;
	input(s, now, &m, ip);
}

static void
room_joins(struct server *s)
{
	for (uint8_t i = 0; i < CLIENTS; i++)
		joins(s, 0, (uint8_t)(10 + i), i, 1);
}

static void
goes_on(struct server *s, uint64_t now, uint32_t blocks)
{
	struct wirext_msg m = { .kind = WIREXT_CREDIT, .u.credit = { .blocks = blocks } };

	say(s, now, 10, m);
}

/* Of some chunks, so many blocks of each group are lacking. */
static void
reports(struct server *s, uint64_t now, uint8_t who, uint32_t id, uint32_t chunk,
    uint32_t n, uint8_t lack)
{
	struct wirext_msg m = { .kind = WIREXT_NACK,
		.u.nack = { .clientid = id, .n = n } };

	for (uint32_t i = 0; i < n; i++) {
		m.u.nack.at[i].chunk = chunk + i;
		memset(m.u.nack.at[i].lack, lack, WIREXT_GROUPS);
	}
	say(s, now, who, m);
}

/* So long, and no more goes on than somebody asks for meanwhile. */
static void
run(struct server *s, uint64_t *now, uint64_t us)
{
	struct server_out out;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			;
}

static uint64_t
sent(struct server *s)
{
	return server_stats(s).blocks_sent;
}

static uint64_t
parity(struct server *s)
{
	return server_stats(s).parity_sent;
}

/* A chunk that went out before it came, one that still comes to it, more than anybody
 * reports. */
static void
test_reports_of_what_was_never_sent(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	run(s, &now, 2000 * MS); /* two chunks, on the word of those who joined */
	T_CHECK(sent(s) == WIREXT_JOIN_CREDIT);
	joins(s, now, LIAR, LIAR, 1);
	reports(s, now, LIAR, LIAR, 0, CHUNKS, 20);
	run(s, &now, 500 * MS);
	T_CHECK(parity(s) == 0);
	reports(s, now, 10, 0, 0, 1, 121);
	run(s, &now, 500 * MS);
	T_CHECK(parity(s) == 0);
	reports(s, now, 10, 0, 1, 1, 3);
	run(s, &now, 500 * MS);
	T_CHECK(parity(s) == 3 * WIREXT_GROUPS);
	server_free(s);
}

/* One that was here before, with another run of the server, has parts of chunks: of
 * those a little comes. */
static void
test_reports_of_another_run(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	joins(s, now, 50, 50, 1 | WIREXT_AGAIN);
	reports(s, now, 50, 50, 3, 1, 5);
	run(s, &now, 500 * MS);
	T_CHECK(parity(s) == 5 * WIREXT_GROUPS);
	server_free(s);
}

/* Blocks are held back, since nobody can take them, and one reports all the time. */
static void
test_parity_while_held(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0, before;

	room_joins(s);
	run(s, &now, 1000 * MS);
	before = sent(s);
	for (int i = 0; i < 200; i++) {
		reports(s, now, 10, 0, 0, 2, 120);
		run(s, &now, 20 * MS);
	}
	T_CHECK(before == WIREXT_JOIN_CREDIT);
	T_CHECK(sent(s) == before);
	T_CHECK(parity(s) > 0);
	T_CHECK(parity(s) <= 300);
	/* What the others take is not used up by parity for one. */
	for (int i = 0; i < 10; i++) {
		goes_on(s, now, WIRE_CHUNK_BLOCKS);
		reports(s, now, 10, 0, 0, 2, 120);
		run(s, &now, 150 * MS);
	}
	T_CHECK(sent(s) - before > 8 * WIRE_CHUNK_BLOCKS);
	server_free(s);
}

/* What one lacks comes when the others have all that they want. */
static void
test_lone_straggler_is_last(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	run(s, &now, 1000 * MS);
	goes_on(s, now, 4 * WIRE_CHUNK_BLOCKS);
	run(s, &now, 1000 * MS);
	for (uint32_t c = 0; c < 6; c++)
		reports(s, now, 10, 0, c, 1, 50);
	uint64_t blocks = sent(s);
	goes_on(s, now, 64 * WIRE_CHUNK_BLOCKS);
	run(s, &now, 1500 * MS); /* the rest takes 0.77 s */
	T_CHECK(sent(s) == (uint64_t)CHUNKS * WIRE_CHUNK_BLOCKS);
	run(s, &now, 1500 * MS);
	T_CHECK(blocks < sent(s));
	T_CHECK(parity(s) >= 6 * 50 * WIREXT_GROUPS);
	server_free(s);
}

/* ... and until then, not more than its share of what is sent. */
static void
test_lone_straggler_share(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	for (int i = 0; i < 10; i++) {
		goes_on(s, now, WIRE_CHUNK_BLOCKS);
		run(s, &now, 130 * MS);
		reports(s, now, 10, 0, 0, (uint32_t)(i + 1), 50);
	}
	T_CHECK(sent(s) > 9 * WIRE_CHUNK_BLOCKS);
	T_CHECK(sent(s) < CHUNKS * WIRE_CHUNK_BLOCKS);
	T_CHECK(parity(s) > 200);
	T_CHECK(parity(s) < 256 + sent(s) / 10 + 10 * 8);
	server_free(s);
}

/* What a few that are all that is there report is believed. */
static void
test_few_are_believed(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	joins(s, 0, 10, 0, 1);
	joins(s, 0, 11, 1, 1);
	run(s, &now, 1000 * MS);
	reports(s, now, 10, 0, 0, 2, 60);
	run(s, &now, 1000 * MS);
	T_CHECK(parity(s) == 2 * 60 * WIREXT_GROUPS);
	server_free(s);
}

/* When all chunks have gone out, a part of an answer that somebody loses costs a round, and
 * a block more costs nothing.  One client alone asks again at once. */
static void
test_spare_at_the_end(void)
{
	for (uint32_t clients = 1; clients <= 2; clients++) {
		struct server *s = make_room(false);
		uint64_t now = 0;
		for (uint32_t i = 0; i < clients; i++)
			joins(s, 0, (uint8_t)(10 + i), i, 1);
		goes_on(s, now, 64 * WIRE_CHUNK_BLOCKS);
		run(s, &now, 4000 * MS);
		T_CHECK(sent(s) == (uint64_t)CHUNKS * WIRE_CHUNK_BLOCKS);
		uint64_t before = parity(s);
		reports(s, now, 10, 0, 0, 2, 3);
		run(s, &now, 500 * MS);
		T_CHECK(parity(s) - before ==
			2 * (clients == 1 ? 3 : 4) * WIREXT_GROUPS);
		server_free(s);
	}
}

/* When all chunks have gone out, each report is answered soon, also while another one waits
 * for its answer. */
static void
test_soon_at_the_end(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	joins(s, 0, 10, 0, 1);
	joins(s, 0, 11, 1, 1);
	goes_on(s, now, 64 * WIRE_CHUNK_BLOCKS);
	run(s, &now, 4000 * MS);
	T_CHECK(sent(s) == (uint64_t)CHUNKS * WIRE_CHUNK_BLOCKS);
	uint64_t before = parity(s);
	reports(s, now, 10, 0, 0, 1, 3);
	run(s, &now, 10 * MS);
	reports(s, now, 11, 1, 1, 1, 3);
	run(s, &now, 40 * MS);
	T_CHECK(parity(s) - before == 2 * 4 * WIREXT_GROUPS);
	server_free(s);
}

/* Do chunks take turns, as the server announces at the end of so long? */
static bool
in_turns(struct server *s, uint64_t *now, uint64_t us)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;
	bool turns = false;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			if (out.kind == SERVER_OUT_PACKET &&
			    wirext_get(&m, out.pkt, out.len, &e) == 0 &&
			    m.kind == WIREXT_STATE)
				turns = (m.u.state.flags & WIREXT_INTERLEAVED) != 0;
	return turns;
}

/* Bursts of losses at one port are not the room's. */
static void
test_bursts_of_one(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	run(s, &now, 1000 * MS);
	for (int i = 0; i < 30; i++)
		reports(s, now, 10, 0, 0, 1, 8);
	T_CHECK(!in_turns(s, &now, 1500 * MS));
	for (uint8_t i = 0; i < 30; i++)
		reports(s, now, 10 + i % CLIENTS, i % CLIENTS, 0, 1, 8);
	T_CHECK(in_turns(s, &now, 1500 * MS));
	server_free(s);
}

/* --- complaints --- */

struct named {
	unsigned times;
	uint8_t ip[4];
	double share_received;
};

static void
on_complaint(void *arg, const uint8_t ip[4], double share_received, bool half)
{
	struct named *n = arg;

	(void)half;
	n->times++;
	memcpy(n->ip, ip, 4);
	n->share_received = share_received;
}

static void
complains(struct server *s, uint64_t now, uint8_t who, uint32_t id, uint32_t epoch)
{
	struct wirext_msg m = { .kind = WIREXT_CONGESTION,
		.u.congestion = { .clientid = id,
		    .epoch = epoch,
		    .lost = 50,
		    .of = 100,
		    .queue = true } };

	say(s, now, who, m);
}

/* The epoch of the last time signal within so long. */
static uint32_t
run_dynamic(struct server *s, uint64_t *now, uint64_t us, uint32_t epoch)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;

	goes_on(s, *now, 64 * WIRE_CHUNK_BLOCKS);
	for (uint64_t end = *now + us; *now < end; *now += MS)
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			if (out.kind == SERVER_OUT_PACKET &&
			    wirext_get(&m, out.pkt, out.len, &e) == 0 &&
			    m.kind == WIREXT_TIME)
				epoch = m.u.time.epoch;
	return epoch;
}

static bool
is_aside(const struct server *s, uint8_t who, double *share_received)
{
	const uint8_t ip[4] = { 10, 0, 0, who };

	return server_is_aside(s, ip, share_received);
}

static void
test_one_complains(void)
{
	double share_received = 0;
	struct server *s = make_room(true);
	struct named named = { 0 };
	struct server_log log = { .complains = on_complaint, .arg = &named };
	uint64_t now = 0;
	uint32_t epoch = 0;

	server_set_log(s, &log);
	room_joins(s);
	for (int i = 0; i < 30; i++) {
		epoch = run_dynamic(s, &now, 30 * MS, epoch);
		/* As many clients as it likes to be. */
		for (uint32_t id = 0; id < 5; id++)
			complains(s, now, LIAR, LIAR + id, epoch);
	}
	T_CHECK(server_stats(s).congestions == 150);
	T_CHECK(server_stats(s).rate_reductions == 0);
	T_CHECK(named.times == 1);
	T_CHECK(named.ip[3] == LIAR);
	T_CHECK(named.share_received > 0.5);
	T_CHECK(named.share_received < 0.9);
	T_CHECK(is_aside(s, LIAR, &share_received));
	T_CHECK(share_received > 0.45);
	T_CHECK(share_received <= named.share_received);
	for (uint8_t i = 0; i < CLIENTS; i++)
		T_CHECK(!is_aside(s, (uint8_t)(10 + i), &share_received));
	/* Who has left is nobody's client. */
	for (uint32_t id = 0; id < 5; id++)
		leaves(s, now, LIAR, LIAR + id);
	T_CHECK(!is_aside(s, LIAR, &share_received));
	server_free(s);
}

static void
test_several_complain(void)
{
	struct server *s = make_room(true);
	struct named named = { 0 };
	struct server_log log = { .complains = on_complaint, .arg = &named };
	uint64_t now = 0;

	server_set_log(s, &log);
	room_joins(s);
	uint32_t epoch = run_dynamic(s, &now, 500 * MS, 0);
	complains(s, now, 10, 0, epoch);
	run_dynamic(s, &now, 5 * MS, epoch);
	T_CHECK(server_stats(s).rate_reductions == 0);
	complains(s, now, 11, 1, epoch);
	run_dynamic(s, &now, 5 * MS, epoch);
	T_CHECK(server_stats(s).rate_reductions == 1);
	T_CHECK(named.times == 0);
	server_free(s);
}

/* Fewer than four: each counts. */
static void
test_few_complain(void)
{
	struct server *s = make_room(true);
	uint64_t now = 0;

	for (uint8_t i = 0; i < 3; i++)
		joins(s, 0, (uint8_t)(10 + i), i, 1);
	uint32_t epoch = run_dynamic(s, &now, 500 * MS, 0);
	complains(s, now, 12, 2, epoch);
	run_dynamic(s, &now, 5 * MS, epoch);
	T_CHECK(server_stats(s).rate_reductions == 1);
	server_free(s);
}

/* --- requests of the base protocol --- */

/* What comes anyway is not sent before, and again. */
static void
test_requests_of_what_comes(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	for (int i = 0; i < 30; i++) {
		for (uint32_t c = 6; c < CHUNKS; c++)
			request(s, now, c, 0, WIRE_CHUNK_BLOCKS);
		goes_on(s, now, 8 * WIRE_CHUNK_BLOCKS);
		run(s, &now, 20 * MS);
	}
	T_CHECK(sent(s) > 4 * WIRE_CHUNK_BLOCKS);
	T_CHECK(server_stats(s).blocks_resent == 0);
	server_free(s);
}

/* One that asks for everything, again and again, has one share of several. */
static void
test_requests_have_a_share(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	room_joins(s);
	for (int i = 0; i < 100; i++) {
		request(s, now, 0, 0, WIRE_CHUNK_BLOCKS);
		request(s, now, 1, 0, WIRE_CHUNK_BLOCKS);
		goes_on(s, now, 8 * WIRE_CHUNK_BLOCKS);
		run(s, &now, 10 * MS);
	}
	uint64_t again = server_stats(s).blocks_resent;
	T_CHECK(sent(s) > 7 * WIRE_CHUNK_BLOCKS);
	T_CHECK(again <= sent(s) / 4);
	server_free(s);
}

/* Chunks that were asked for before anybody came are not the last ones of those who
 * want all: each comes when its number does. */
static void
test_requests_do_not_delay(void)
{
	struct server *s = make_room(false);
	uint64_t now = 0;

	for (uint32_t c = 4; c < CHUNKS; c++)
		request(s, now, c, 0, WIRE_CHUNK_BLOCKS);
	room_joins(s);
	for (int i = 0; i < 40; i++) {
		goes_on(s, now, 8 * WIRE_CHUNK_BLOCKS);
		/* Somebody wants all again, all the time. */
		joins(s, now, LIAR, LIAR, 1);
		run(s, &now, 50 * MS);
	}
	uint64_t first = sent(s) - server_stats(s).blocks_resent;
	T_CHECK(sent(s) > CHUNKS * WIRE_CHUNK_BLOCKS);
	T_CHECK(first == CHUNKS * WIRE_CHUNK_BLOCKS);
	server_free(s);
}

int
main(void)
{
	test_reports_of_what_was_never_sent();
	test_reports_of_another_run();
	test_parity_while_held();
	test_lone_straggler_is_last();
	test_lone_straggler_share();
	test_few_are_believed();
	test_spare_at_the_end();
	test_soon_at_the_end();
	test_bursts_of_one();
	test_one_complains();
	test_several_complain();
	test_few_complain();
	test_requests_of_what_comes();
	test_requests_have_a_share();
	test_requests_do_not_delay();
	return t_done();
}
