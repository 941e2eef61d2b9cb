/* Packets of several blocks and chunks without their empty end: when the server sends
 * them. */
#include <string.h>

#include "frisbeed/server/server.h"
#include "frisbeed/server/server_mtu.h"
#include "tests/t.h"

enum { MIB = 1 << 20, CHUNKS = 4, CONTENT = 1001, SESSION = 9, MS = 1000 };

static struct server *
make_server(uint32_t pack_blocks)
{
	struct server_config cfg = { .image_bytes = CHUNKS * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 8,
		.burst = 16,
		.gap_us = 2000,
		.ext = { .on = true,
		    .port = 5008,
		    .session = SESSION,
		    .pack_blocks = pack_blocks } };

	return server_new(&cfg, 0);
}

static void
join(struct server *s, uint64_t now, uint8_t host, bool offer)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.srcip = { 10, 0, 0, host },
		.u.join.clientid = host };
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = wire_put(&m, pkt, sizeof pkt);

	if (offer)
		n = wirext_put_offer(pkt, n, sizeof pkt, 0);
	server_input(s, now, pkt, n, m.srcip);
}

static void
leave(struct server *s, uint64_t now, uint8_t host)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE,
		.srcip = { 10, 0, 0, host },
		.u.leave.clientid = host };
	uint8_t pkt[WIRE_PACKET_MAX];

	server_input(s, now, pkt, wire_put(&m, pkt, sizeof pkt), m.srcip);
}

static void
say_ext(struct server *s, uint64_t now, struct wirext_msg m, uint8_t host)
{
	uint8_t pkt[WIREXT_PACKET_MAX];

	m.session = SESSION;
	memcpy(m.srcip, (uint8_t[]){ 10, 0, 0, host }, 4);
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), m.srcip);
}

static void
fits(struct server *s, uint64_t now, uint8_t host, uint32_t number, uint32_t blocks)
{
	struct wirext_msg m = { .kind = WIREXT_MTU_ACK,
		.u.mtu_ack = { host, number, blocks } };

	say_ext(s, now, m, host);
}

static void
go(struct server *s, uint64_t now, uint8_t host)
{
	struct wirext_msg m = { .kind = WIREXT_CREDIT };

	m.u.credit.clientid = host;
	m.u.credit.blocks = 60000;
	say_ext(s, now, m, host);
}

/* What went out in a stretch of time. */
struct seen {
	uint32_t plain, packs, packed, longest, tries, asked, number, highest;
	bool wrong;
};

static void
look_at_packet(struct seen *seen, const struct server_out *out)
{
	struct wirext_msg m;
	struct err e;

	if (!wirext_is(out->pkt, out->len) ||
	    wirext_get(&m, out->pkt, out->len, &e) != 0 || m.kind != WIREXT_MTU_PROBE)
		return;
	seen->tries++;
	seen->asked = m.u.mtu_probe.n;
	seen->number = m.u.mtu_probe.number;
	seen->wrong |= out->len != WIREXT_DATA_HEADER_BYTES +
	                               m.u.mtu_probe.blocks * (size_t)WIRE_BLOCK_BYTES;
}

static void
look(struct seen *seen, const struct server_out *out)
{
	if (out->kind == SERVER_OUT_PACKET) {
		look_at_packet(seen, out);
		return;
	}
	uint32_t last = out->block + out->count - 1;
	seen->highest = seen->highest < last ? last : seen->highest;
	if (out->kind == SERVER_OUT_BLOCK) {
		seen->plain++;
		return;
	}
	seen->packs++;
	seen->packed += out->count;
	seen->longest = seen->longest < out->count ? out->count : seen->longest;
	seen->wrong |= out->content != CONTENT || last >= CONTENT;
}

static void
read_runs(struct server *s)
{
	struct server_run run;

	while (server_read_next(s, &run)) {
		server_content(s, run.chunk, CONTENT);
		server_read_done(s, run.buf);
	}
}

static struct seen
run(struct server *s, uint64_t *now, uint64_t us)
{
	struct seen seen = { 0 };
	struct server_out out;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		for (read_runs(s); server_output(s, *now, &out); read_runs(s))
			look(&seen, &out);
	return seen;
}

static void
test_agreeing(void)
{
	struct server *s = make_server(8);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	/* Nothing is known yet: blocks; one round of four lengths. */
	T_CHECK(a.plain > 0);
	T_CHECK(a.packs == 0);
	T_CHECK(a.tries == 4);
	T_CHECK(a.asked == 1);
	fits(s, now, 2, a.number, 8);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.plain == 0);
	T_CHECK(a.packs > 0);
	T_CHECK(a.longest == 8);
	T_CHECK(!a.wrong);
	T_CHECK(a.tries == 0);
	/* Another one comes, and can take less. */
	join(s, now, 3, true);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.packs == 0);
	T_CHECK(a.plain > 0);
	T_CHECK(a.tries == 4);
	T_CHECK(a.asked == 1);
	fits(s, now, 3, a.number, 2);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.plain == 0);
	T_CHECK(a.longest == 2);
	T_CHECK(!a.wrong);
	/* What is said without a MTU_PROBE only makes it less. */
	fits(s, now, 3, 0, 8);
	T_CHECK(run(s, &now, 20 * MS).longest == 2);
	fits(s, now, 3, 0, 1);
	T_CHECK(run(s, &now, 20 * MS).longest == 1);
	leave(s, now, 3);
	T_CHECK(run(s, &now, 20 * MS).longest == 8);
	/* It joins again: perhaps it does not hear the second port. */
	join(s, now, 2, true);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.packs == 0);
	T_CHECK(a.plain > 0);
	T_CHECK(a.tries == 4);
	fits(s, now, 2, a.number + 1, 8); /* nobody was asked that */
	T_CHECK(run(s, &now, 20 * MS).packs == 0);
	fits(s, now, 2, a.number, 8);
	T_CHECK(run(s, &now, 20 * MS).longest == 8);
	server_data_limit(s, 1);
	T_CHECK(run(s, &now, 20 * MS).longest == 1);
	T_CHECK(server_stats(s).bad_packets == 0);
	server_free(s);
}

/* An old client: everything goes out in its packets, the empty end, too. */
static void
test_old(void)
{
	struct server *s = make_server(8);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	fits(s, now, 2, a.number, 8);
	T_CHECK(run(s, &now, 20 * MS).packs > 0);
	join(s, now, 3, false);
	go(s, now, 2);
	a = run(s, &now, 1000 * MS);
	T_CHECK(a.packs == 0);
	T_CHECK(a.plain > 1024);
	T_CHECK(a.highest == 1023);
	leave(s, now, 3);
	server_free(s);
}

/* What is asked for by the base protocol comes by it, and whole: one whose second port
 * is closed may have asked. */
static void
test_requests(void)
{
	struct server *s = make_server(8);
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_REQ,
		.srcip = { 10, 0, 0, 2 },
		.u.req = { 3, 0, 1024 } };
	uint8_t pkt[WIRE_PACKET_MAX];
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	fits(s, now, 2, a.number, 8);
	go(s, now, 2);
	T_CHECK(!run(s, &now, 1000 * MS).wrong);
	T_CHECK(server_stats(s).blocks_left_out >= 2 * (1024 - CONTENT));
	T_CHECK(server_stats(s).blocks_left_out <= 4 * (1024 - CONTENT));
	server_input(s, now, pkt, wire_put(&m, pkt, sizeof pkt), m.srcip);
	a = run(s, &now, 1000 * MS);
	T_CHECK(a.plain == 1024);
	T_CHECK(a.packs == 0);
	T_CHECK(a.highest == 1023);
	server_free(s);
}

/* Who never answers is asked ever more rarely. */
static void
test_silent(void)
{
	struct server *s = make_server(5);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 1000 * MS);
	T_CHECK(a.tries >= 3 * 3);
	T_CHECK(a.tries <= 5 * 3);
	T_CHECK(a.packs == 0);
	a = run(s, &now, 60000 * MS);
	T_CHECK(a.tries >= 5 * 3);
	T_CHECK(a.tries <= 12 * 3);
	server_free(s);
}

static void
on_client(void *arg, const struct server_client *c)
{
	(void)arg;
	(void)c;
}

/* The part alone: the client that gets the least decides, and old clients get none. */
static void
test_part(void)
{
	static const struct server_members_watch nobody = { .comes = on_client,
		.goes = on_client };
	static const uint8_t ip[4] = { 10, 0, 0, 2 };
	struct server_image image = server_image_of(CHUNKS * MIB);
	struct server_members roll;
	struct server_mtu p;
	struct wirext_msg m;

	T_CHECK(server_members_init(&roll, 10, 7, 0, &nobody) == 0);
	T_CHECK(server_mtu_init(&p, &image, 5, 10) == 0);
	T_CHECK(p.max == 4);
	T_CHECK(server_mtu_at(&p) == UINT64_MAX);
	uint32_t a = server_members_index(&roll, server_members_add(&roll, 0, ip, 70, true, 1));
	uint32_t b = server_members_index(&roll, server_members_add(&roll, 0, ip, 71, true, 1));
	server_mtu_add(&p, 0, a, true);
	server_mtu_add(&p, 0, b, true);
	uint64_t at = server_mtu_at(&p);
	T_CHECK(at <= 50 * MS);
	T_CHECK(!server_mtu_say(&p, at - 1, &roll, &m));
	for (uint32_t size = 4; size > 0; size /= 2) {
		T_CHECK(server_mtu_say(&p, at, &roll, &m));
		T_CHECK(m.kind == WIREXT_MTU_PROBE);
		T_CHECK(m.u.mtu_probe.n == 2);
		T_CHECK(m.u.mtu_probe.blocks == size);
	}
	T_CHECK(!server_mtu_say(&p, at, &roll, &m));
	server_mtu_hear(&p, at, a, p.number, 4);
	T_CHECK(p.now == 0);
	server_mtu_hear(&p, at, b, p.number, 2);
	T_CHECK(p.now == 2);
	server_mtu_drop(&p, b);
	T_CHECK(p.now == 4);
	server_mtu_limit(&p, 1);
	T_CHECK(p.now == 1);
	server_mtu_add(&p, at, b, false);
	T_CHECK(p.now == 0);
	T_CHECK(server_mtu_content(&p, 1) == WIRE_CHUNK_BLOCKS);
	server_mtu_learn(&p, 1, 7);
	T_CHECK(server_mtu_content(&p, 1) == 7);
	server_mtu_fini(&p);
	server_members_fini(&roll);
}

int
main(void)
{
	test_part();
	test_agreeing();
	test_old();
	test_requests();
	test_silent();
	return t_done();
}
