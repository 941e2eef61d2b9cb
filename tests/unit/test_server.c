/* The server's engine in a straight line: requests merged, read and sent, until the
 * end. */
#include "common/wire/blockmap.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

static const uint8_t ip_b[4] = { 10, 0, 0, 3 };

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
	T_CHECK(server_stats(s).blocks_already_pending == 1024 + 3);
	T_CHECK(drain(s, 0, blocks, 4096) == 1024 + 12);
	T_CHECK(blocks[0] == 1024);
	T_CHECK(blocks[1023] == 2047);
	T_CHECK(blocks[1024] == 2048 + 10);

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
	T_CHECK(blocks[0] == 40);
	T_CHECK(blocks[983] == 1023);
	/* What was sent already waits behind the others' requests. */
	T_CHECK(blocks[984] == 2048 + 7);
	T_CHECK(blocks[985] == 30);
	T_CHECK(blocks[994] == 39);
	T_CHECK(server_stats(s).blocks_resent == 10);
	T_CHECK(server_stats(s).blocks_lost == 5 + 10 + 20 + 1);
	T_CHECK(!server_output(s, 0, &out));
	T_CHECK(server_deadline(s, 0) == SERVER_NEVER);
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
	T_CHECK(server_stats(s).bad_packets == 3);
	T_CHECK(server_stats(s).clients == 0);
	m.type = WIRE_REPLY;
	input(s, 0, &m, ip_a);
	m = from_a(WIRE_BLOCK);
	m.u.block.data = pkt;
	input(s, 0, &m, ip_a);
	T_CHECK(server_stats(s).bad_packets == 3);
	T_CHECK(!server_read_next(s, &run));
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
	for (int i = 0; i < 4; i++) {
		T_CHECK(server_read_next(s, &run[i]));
		T_CHECK(run[i].first == 32u * (unsigned)i);
		T_CHECK(run[i].count == 32);
	}
	T_CHECK(!server_read_next(s, &run[4]));
	server_read_done(s, run[1].buf);
	T_CHECK(!server_output(s, 0, &out));
	server_read_done(s, run[0].buf);
	for (uint32_t b = 0; b < 64; b++) {
		T_CHECK(server_output(s, 0, &out));
		T_CHECK(out.block == b);
		T_CHECK(out.at == b % 32);
		T_CHECK(out.buf == run[b / 32].buf);
		T_CHECK(out.run_ends == (b % 32 == 31));
	}
	T_CHECK(!server_output(s, 0, &out));
	T_CHECK(server_read_next(s, &run[4]));
	T_CHECK(run[4].buf == run[0].buf);
	server_free(s);
}

static void
test_end_signature(void)
{
	struct server_config cfg = { .image_bytes = MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.idle_us = 5000000 };
	struct server *s = server_new(&cfg, 1000);

	T_CHECK(!server_done(s, 5000999));
	T_CHECK(server_done(s, 5001000));
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
	request(s, 10, 0, 0, 16);
	send_now(s, 10);
	T_CHECK(!server_done(s, 60000000));
	struct wire_msg m = from_a(WIRE_LEAVE);
	m.u.leave.clientid = 1;
	input(s, 60000000, &m, ip_a);
	T_CHECK(!server_done(s, 61999999));
	T_CHECK(server_done(s, 62000000));
	/* Somebody is there whose join did not arrive. */
	request(s, 61500000, 0, 0, 16);
	T_CHECK(send_now(s, 61500000) == 16);
	T_CHECK(server_stats(s).clients == 1);
	T_CHECK(!server_done(s, 63500000));
	m.u.leave.clientid = 7;
	input(s, 64000000, &m, ip_a);
	T_CHECK(server_stats(s).clients == 0);
	T_CHECK(!server_done(s, 65999999));
	T_CHECK(server_done(s, 66000000));
	/* What it said before it left may come late. */
	request(s, 64100000, 0, 0, 16);
	T_CHECK(server_stats(s).clients == 0);
	/* By its name it is not counted twice. */
	request(s, 67000000, 0, 0, 16);
	join(s, 67000001, 8);
	T_CHECK(server_stats(s).clients == 1);
	server_free(s);
}

/* How many clients were called gone, and which one last. */
struct obituary {
	unsigned n;
	uint32_t id;
	uint64_t silent_us;
};

static void
on_gone(void *arg, const uint8_t ip[4], uint32_t id, uint64_t silent_us)
{
	struct obituary *o = arg;

	(void)ip;
	*o = (struct obituary){ o->n + 1, id, silent_us };
}

/* A client that died without a word is forgotten, and -T -1 does not wait for it. */
static void
test_dead_are_forgotten(void)
{
	enum { S = 1000000 };
	struct server_config cfg = { .image_bytes = MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.idle_us = -1 };
	struct obituary dead = { 0 };
	struct server_log log = { .gone = on_gone, .arg = &dead };
	struct server *s = server_new(&cfg, 0);
	struct wire_msg m = from_a(WIRE_JOIN);

	server_set_log(s, &log);
	join(s, 1, 1);
	m.u.join.clientid = 2;
	memcpy(m.srcip, ip_b, 4);
	input(s, 1, &m, ip_b);
	for (uint64_t t = 0; t < 59; t++) {
		request(s, t * S, 0, 0, 16); /* client 1 goes on */
		send_now(s, t * S);
	}
	T_CHECK(dead.n == 0);
	T_CHECK(server_stats(s).clients == 2);
	for (uint64_t t = 59; t < 130; t++) {
		request(s, t * S, 0, 0, 16);
		send_now(s, t * S);
	}
	/* A client of the base protocol may live on what others ask for. */
	T_CHECK(dead.n == 0);
	T_CHECK(server_stats(s).clients == 2);
	for (uint64_t t = 130; t < 195; t++) {
		join(s, t * S, 1); /* heard, but nothing is sent any more */
		send_now(s, t * S);
	}
	T_CHECK(dead.n == 1);
	T_CHECK(dead.id == 2);
	T_CHECK(dead.silent_us >= UINT64_C(60) * S);
	T_CHECK(server_stats(s).clients == 1);
	T_CHECK(server_stats(s).gone == 1);
	/* All are silent: perhaps it is the network. */
	send_now(s, UINT64_C(400) * S);
	T_CHECK(dead.n == 1);
	T_CHECK(!server_done(s, UINT64_C(400) * S));
	send_now(s, UINT64_C(500) * S);
	T_CHECK(dead.n == 2);
	T_CHECK(dead.id == 1);
	T_CHECK(server_stats(s).clients == 0);
	T_CHECK(server_done(s, UINT64_C(503) * S));
	server_free(s);
}

int
main(void)
{
	test_dead_are_forgotten();
	test_merging();
	test_refused();
	test_reading();
	test_end_signature();
	return t_done();
}
