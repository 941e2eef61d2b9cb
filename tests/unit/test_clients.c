/* The table of clients: rows by address, never more than there is room for. */
#include "frisbeed/serve/clients.h"

#include <string.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "tests/t.h"

enum { ROWS = 16 };

static struct client_row rows[ROWS];
static uint32_t total;

static void
hear(struct clients *c, uint64_t now, struct wire_msg *m, uint8_t last, uint16_t port)
{
	uint8_t pkt[WIRE_PACKET_MAX], ip[4] = { 10, 0, 0, last };

	m->type = WIRE_REQUEST;
	memcpy(m->srcip, ip, 4);
	clients_heard(c, now, pkt, wire_put(m, pkt, sizeof pkt), ip, port, 100);
}

static void
join(struct clients *c, uint64_t now, uint8_t last, uint16_t port)
{
	struct wire_msg m = { .subtype = WIRE_JOIN, .u.join.clientid = last };

	hear(c, now, &m, last, port);
}

static void
test_rows(void)
{
	struct clients *c = clients_new(ROWS);
	struct blockmap map = blockmap_range(10, 7);
	struct wire_msg preq = { .subtype = WIRE_PREQ, .u.preq.chunk = 3 };
	struct wire_msg leave = { .subtype = WIRE_LEAVE2,
		.u.leave2 = { .elapsed_s = 9,
		    .stats = { .bytes_written = 1 << 20,
			.idle_timeouts = 4,
			.dropped_no_buffer = 2 } } };

	blockmap_put(&map, preq.u.preq.map);
	join(c, 5, 1, 0);
	join(c, 6, 2, 0);
	join(c, 7, 2, 7000); /* the same host, at a port of its own */
	hear(c, 8, &preq, 1, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 3);
	T_CHECK(total == 3);
	T_CHECK(rows[0].ip[3] == 1);
	T_CHECK(rows[0].heard_us == 8);
	T_CHECK(rows[0].first_us == 5);
	T_CHECK(rows[0].blocks_lost == 7);
	T_CHECK(rows[0].messages == 2);
	T_CHECK(rows[1].port == 7000);
	T_CHECK(rows[2].port == 0);
	T_CHECK(rows[2].ip[3] == 2);
	T_CHECK(client_row_loss(&rows[0], 100) == 0);
	T_CHECK(client_row_loss(&rows[0], 114) == 0.5);
	T_CHECK(client_row_loss(&rows[0], 101) == 1);
	hear(c, 9, &leave, 2, 7000);
	T_CHECK(clients_copy(c, rows, 1, &total) == 1);
	T_CHECK(total == 3);
	T_CHECK(rows[0].left);
	T_CHECK(rows[0].told);
	T_CHECK(rows[0].seconds == 9);
	T_CHECK(rows[0].stalls == 4);
	T_CHECK(rows[0].dropped == 2);
	join(c, 10, 2, 7000);
	clients_progress(c, rows[0].ip, 7000, 50, 40);
	clients_copy(c, rows, 1, &total);
	T_CHECK(!rows[0].left);
	T_CHECK(rows[0].blocks == 40);
	T_CHECK(rows[0].of == 40);
	clients_free(c);
}

static void
test_extension(void)
{
	struct clients *c = clients_new(ROWS);
	uint8_t pkt[WIRE_PACKET_MAX], ip[4] = { 10, 0, 0, 1 },
				      other[4] = { 10, 0, 0, 2 };
	struct wirext_msg m = { .kind = WIREXT_NACK, .srcip = { 10, 0, 0, 1 } };

	m.session = 1;
	m.u.nack.n = 1;
	m.u.nack.at[0].lack[0] = 3;
	m.u.nack.at[0].lack[7] = 2;
	size_t n = wirext_put(&m, pkt, sizeof pkt);
	clients_heard(c, 1, pkt, n, other, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 0);
	clients_heard(c, 1, pkt, n, ip, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 1);
	T_CHECK(rows[0].extension);
	T_CHECK(rows[0].blocks_lost == 5);
	/* The server's own are none of a client's. */
	m = (struct wirext_msg){ .kind = WIREXT_STATE, .srcip = { 10, 0, 0, 2 } };
	clients_heard(c, 1, pkt, wirext_put(&m, pkt, sizeof pkt), other, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 1);
	clients_free(c);
}

static void
nack(struct clients *c, uint32_t chunk, uint8_t first, uint8_t last)
{
	uint8_t pkt[WIRE_PACKET_MAX], ip[4] = { 10, 0, 0, 1 };
	struct wirext_msg m = { .kind = WIREXT_NACK, .session = 1, .srcip = { 10, 0, 0, 1 } };

	m.u.nack.n = 1;
	m.u.nack.at[0].chunk = chunk;
	m.u.nack.at[0].lack[0] = first;
	m.u.nack.at[0].lack[7] = last;
	clients_heard(c, 2, pkt, wirext_put(&m, pkt, sizeof pkt), ip, 0, 100);
}

static uint64_t
blocks_lost(struct clients *c)
{
	clients_copy(c, rows, ROWS, &total);
	return rows[0].blocks_lost;
}

/* What a client names again, because no answer has come yet, is lost once. */
static void
test_named_again(void)
{
	struct clients *c = clients_new(ROWS);
	struct blockmap map = blockmap_range(10, 7), more = blockmap_range(10, 9);
	struct wire_msg preq = { .subtype = WIRE_PREQ, .u.preq.chunk = 3 };
	struct wire_msg leave = { .subtype = WIRE_LEAVE };

	join(c, 1, 1, 0);
	nack(c, 0, 3, 2);
	nack(c, 0, 3, 2);
	T_CHECK(blocks_lost(c) == 5);
	nack(c, 0, 1, 0); /* a part has come */
	nack(c, 0, 1, 0);
	T_CHECK(blocks_lost(c) == 5);
	nack(c, 0, 4, 2); /* and something more is lost */
	T_CHECK(blocks_lost(c) == 6);
	nack(c, 1, 4, 4);
	nack(c, 0, 4, 2);
	T_CHECK(blocks_lost(c) == 14);
	blockmap_put(&map, preq.u.preq.map);
	hear(c, 3, &preq, 1, 0);
	hear(c, 4, &preq, 1, 0);
	T_CHECK(blocks_lost(c) == 21);
	blockmap_put(&more, preq.u.preq.map);
	hear(c, 5, &preq, 1, 0);
	T_CHECK(blocks_lost(c) == 23);
	hear(c, 6, &leave, 1, 0);
	join(c, 7, 1, 0);
	nack(c, 0, 3, 2); /* of another load */
	T_CHECK(blocks_lost(c) == 28);
	clients_free(c);
}

/* How far a client is, what it does, and how it ended. */
static void
test_doing(void)
{
	struct clients *c = clients_new(ROWS);
	uint8_t pkt[WIRE_PACKET_MAX], ip[4] = { 10, 0, 0, 1 };
	struct wirext_msg m = { .kind = WIREXT_CREDIT,
		.srcip = { 10, 0, 0, 1 },
		.session = 1,
		.told = { true, WIREXT_DOING_DISK, 25 } };
	struct wire_msg leave = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE2,
		.srcip = { 10, 0, 0, 1 } };
	uint32_t known, done;

	clients_image(c, 100);
	clients_heard(c, 1000000, pkt, wirext_put(&m, pkt, sizeof pkt), ip, 0, 0);
	m.told.chunks = 50;
	clients_heard(c, 11000000, pkt, wirext_put(&m, pkt, sizeof pkt), ip, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 1);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_SLOW_DISK);
	T_CHECK(rows[0].blocks == 50 * WIRE_CHUNK_BLOCKS);
	T_CHECK(client_row_rate(&rows[0]) == 5 * WIRE_CHUNK_BLOCKS);
	T_CHECK(client_row_seconds_left(&rows[0]) == 10);
	m.told.doing = WIREXT_DOING_LOADING;
	m.told.chunks = 101; /* of 100: not believed */
	clients_heard(c, 12000000, pkt, wirext_put(&m, pkt, sizeof pkt), ip, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 1);
	T_CHECK(rows[0].blocks == 50 * WIRE_CHUNK_BLOCKS);
	m.told.chunks = 60;
	clients_heard(c, 13000000, pkt, wirext_put(&m, pkt, sizeof pkt), ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_LOADING);
	rows[0].blocks_lost = 300;
	T_CHECK(client_row_doing(&rows[0], 1000) == CLIENT_DOING_SLOW_LINK);
	clients_gone(c, ip);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_GONE);
	size_t n = wire_put(&leave, pkt, sizeof pkt);
	clients_heard(c, 14000000, pkt, n, ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_LEFT);
	clients_heard(c, 14000000, pkt,
	    wirext_put_outcome(pkt, n, sizeof pkt, false), ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_FAILED);
	for (int i = 0; i < 2; i++)
		clients_heard(c, 15000000, pkt,
		    wirext_put_outcome(pkt, n, sizeof pkt, true), ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[0], 0) == CLIENT_DOING_DONE);
	clients_count(c, &known, &done);
	T_CHECK(known == 1);
	T_CHECK(done == 1);
	/* It counts once, however often it loads, and not while its last load has failed. */
	for (int whole = 0; whole < 2; whole++) {
		clients_heard(c, 16000000, pkt,
		    wirext_put_outcome(pkt, n, sizeof pkt, whole), ip, 0, 0);
		clients_count(c, &known, &done);
		T_CHECK(done == (uint32_t)whole);
	}
	clients_free(c);
}

/* More clients are done than the table has rows: never more than are known. */
static void
test_many(void)
{
	struct clients *c = clients_new(ROWS);
	struct wire_msg join = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN },
			leave = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t known, done;

	for (uint8_t i = 1; i <= 2 * ROWS; i++) {
		const uint8_t ip[4] = { 10, 0, 0, i };
		memcpy(join.srcip, ip, 4);
		memcpy(leave.srcip, ip, 4);
		clients_heard(c, i, pkt, wire_put(&join, pkt, sizeof pkt), ip, 0, 0);
		size_t n = wire_put(&leave, pkt, sizeof pkt);
		clients_heard(
		    c, i, pkt, wirext_put_outcome(pkt, n, sizeof pkt, true), ip, 0, 0);
	}
	clients_count(c, &known, &done);
	T_CHECK(known == 2 * ROWS);
	T_CHECK(done == 2 * ROWS);
	clients_free(c);
}

/* A stranger who only says that it is done is not counted, and a session does not end while
 * another client is loading. */
static void
test_until(void)
{
	struct clients *c = clients_new(ROWS);
	const uint8_t ip[4] = { 10, 0, 0, 1 }, liar[4] = { 10, 0, 0, 2 };
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_REQ };
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t known, done;

	memcpy(m.srcip, liar, 4);
	m.subtype = WIRE_LEAVE2;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	clients_heard(c, 1, pkt, wirext_put_outcome(pkt, n, sizeof pkt, true), liar, 0, 0);
	clients_count(c, &known, &done);
	T_CHECK(done == 0);
	T_CHECK(!clients_are_loading(c));
	memcpy(m.srcip, ip, 4);
	m.subtype = WIRE_REQ;
	m.u.req.count = 1;
	clients_heard(c, 2, pkt, wire_put(&m, pkt, sizeof pkt), ip, 0, 0);
	T_CHECK(clients_are_loading(c));
	clients_gone(c, ip);
	T_CHECK(!clients_are_loading(c));
	clients_heard(c, 3, pkt, wire_put(&m, pkt, sizeof pkt), ip, 0, 0);
	T_CHECK(clients_are_loading(c));
	m = (struct wire_msg){ .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };
	memcpy(m.srcip, ip, 4);
	n = wire_put(&m, pkt, sizeof pkt);
	clients_heard(c, 4, pkt, wirext_put_outcome(pkt, n, sizeof pkt, true), ip, 0, 0);
	clients_count(c, &known, &done);
	T_CHECK(done == 1);
	T_CHECK(!clients_are_loading(c));
	clients_free(c);
}

/* What a client sends when it begins and when it ends, as bytes. */
struct ends {
	uint8_t join[WIRE_PACKET_MAX], leave[WIRE_PACKET_MAX];
	size_t joins, leaves;
};

static struct ends
ends_of(const uint8_t ip[4], int32_t elapsed_s, uint64_t bytes_written)
{
	struct ends p;
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };

	memcpy(m.srcip, ip, sizeof m.srcip);
	p.joins = wire_put(&m, p.join, sizeof p.join);
	m.subtype = WIRE_LEAVE2;
	m.u.leave2.elapsed_s = elapsed_s;
	m.u.leave2.stats = (struct wire_stats){ .bytes_written = bytes_written };
	p.leaves = wire_put(&m, p.leave, sizeof p.leave);
	return p;
}

static void
check_last(enum client_doing how, uint64_t began_us, uint64_t ended_us)
{
	T_CHECK(rows[0].last.how == how);
	T_CHECK(rows[0].last.began_us == began_us);
	T_CHECK(rows[0].last.ended_us == ended_us);
}

/* Each load of a client has its own beginning and ending, also after the client was silent. */
static void
test_endings(void)
{
	struct clients *c = clients_new(ROWS);
	uint8_t ip[4] = { 10, 0, 0, 1 };
	struct ends p = ends_of(ip, 0, 0);

	clients_heard(c, 100, p.join, p.joins, ip, 0, 0);
	clients_heard(c, 150, p.join, p.joins, ip, 0, 0); /* once more, since the answer was lost */
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].began_us == 100);
	T_CHECK(rows[0].ending == 0);
	clients_heard(c, 200, p.leave, p.leaves, ip, 0, 0);
	clients_heard(c, 201, p.leave, p.leaves, ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].ending == 1);
	clients_heard(c, 300, p.join, p.joins, ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].began_us == 300);
	check_last(CLIENT_DOING_LEFT, 100, 201);
	clients_gone(c, ip);
	clients_gone(c, ip);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].ending == 2);
	check_last(CLIENT_DOING_GONE, 300, 300);
	clients_heard(c, 400, p.join, p.joins, ip, 0, 0);
	clients_heard(c, 500, p.leave, p.leaves, ip, 0, 0);
	clients_gone(c, ip); /* it has left: it is not missed */
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].began_us == 400);
	T_CHECK(rows[0].ending == 3);
	T_CHECK(rows[0].first_us == 100);
	check_last(CLIENT_DOING_LEFT, 400, 500);
	clients_free(c);
}

/* A client that has left and joined again has a load behind it whose end is not forgotten, and
 * that says nothing of the load that runs. */
static void
test_again(void)
{
	struct clients *c = clients_new(ROWS);
	uint8_t ip[4] = { 10, 0, 0, 1 };
	struct ends p = ends_of(ip, 9, 5000);

	clients_heard(c, 100, p.join, p.joins, ip, 0, 0);
	clients_heard(c, 200, p.leave,
	    wirext_put_outcome(p.leave, p.leaves, sizeof p.leave, true), ip, 0, 0);
	clients_heard(c, 300, p.join, p.joins, ip, 0, 0);
	clients_copy(c, rows, ROWS, &total);
	check_last(CLIENT_DOING_DONE, 100, 200);
	T_CHECK(rows[0].last.bytes_written == 5000);
	T_CHECK(rows[0].last.seconds == 9);
	clients_heard(c, 400, p.leave, p.leaves, ip, 0, 0); /* it does not say how it ended */
	clients_copy(c, rows, ROWS, &total);
	check_last(CLIENT_DOING_LEFT, 300, 400);
	clients_heard(c, 500, p.join, p.joins, ip, 0, 0);
	clients_gone(c, ip);
	clients_copy(c, rows, ROWS, &total);
	check_last(CLIENT_DOING_GONE, 500, 500);
	T_CHECK(rows[0].last.bytes_written == 0);
	T_CHECK(rows[0].last.seconds == 0);
	clients_free(c);
}

static bool
second_is_aside(void *arg, const uint8_t ip[4], double *share_received)
{
	++*(int *)arg;
	*share_received = 0.25;
	return ip[3] == 2;
}

static bool
nobody_is(void *arg, const uint8_t ip[4], double *share_received)
{
	(void)arg, (void)ip, (void)share_received;
	return false;
}

/* Who is set aside is shown so, until it is not any more or has got everything. */
static void
test_aside(void)
{
	struct clients *c = clients_new(ROWS);
	int asked = 0;

	join(c, 1, 1, 0);
	join(c, 2, 2, 0);
	join(c, 3, 2, 7000); /* served alone */
	clients_aside(c, second_is_aside, &asked);
	T_CHECK(asked == 2);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 3);
	T_CHECK(client_row_doing(&rows[0], 1000) == CLIENT_DOING_LOADING);
	T_CHECK(client_row_doing(&rows[1], 1000) == CLIENT_DOING_ASIDE);
	T_CHECK(rows[1].share_received == 0.25);
	T_CHECK(strcmp(client_doing_name(CLIENT_DOING_ASIDE), "set aside") == 0);
	T_CHECK(client_row_doing(&rows[2], 1000) == CLIENT_DOING_LOADING);
	rows[1].blocks_lost = 900;
	T_CHECK(client_row_doing(&rows[1], 1000) == CLIENT_DOING_ASIDE);
	rows[1].doing = WIREXT_DOING_FLUSHING;
	T_CHECK(client_row_doing(&rows[1], 1000) == CLIENT_DOING_FLUSHING);
	clients_aside(c, nobody_is, NULL);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(client_row_doing(&rows[1], 1000) == CLIENT_DOING_LOADING);
	clients_free(c);
}

/* Junk makes no rows; strangers push out only who was heard longest ago. */
static void
test_flood(void)
{
	struct clients *c = clients_new(ROWS);
	uint8_t junk[64], ip[4] = { 9, 9, 9, 9 };

	memset(junk, 0x5a, sizeof junk);
	for (size_t n = 0; n <= sizeof junk; n++)
		clients_heard(c, 1, junk, n, ip, 0, 0);
	T_CHECK(clients_copy(c, rows, ROWS, &total) == 0);
	for (uint64_t i = 0; i < 100000; i++) {
		join(c, 10 + i, (uint8_t)(i * 7), (uint16_t)(i * 31));
		if (i % 8 == 0)
			join(c, 10 + i, 200, 1);
	}
	T_CHECK(clients_copy(c, rows, ROWS, &total) == ROWS);
	T_CHECK(total == ROWS);
	bool there = false, apart = true;
	for (int i = 0; i < ROWS; i++) {
		there |= rows[i].ip[3] == 200 && rows[i].port == 1 &&
		         rows[i].messages == 12500;
		for (int k = 0; k < i; k++)
			apart &= memcmp(rows[i].ip, rows[k].ip, 4) != 0 ||
			         rows[i].port != rows[k].port;
	}
	T_CHECK(there);
	T_CHECK(apart);
	clients_free(c);
}

/* Who asked for something stays when many come that do not. */
static void
test_strangers(void)
{
	struct clients *c = clients_new(ROWS);
	struct blockmap map = blockmap_range(0, 5);
	struct wire_msg preq = { .subtype = WIRE_PREQ },
			leave = { .subtype = WIRE_LEAVE };

	blockmap_put(&map, preq.u.preq.map);
	join(c, 1, 200, 1);
	hear(c, 2, &preq, 200, 1);
	for (uint64_t i = 0; i < 10000; i++) {
		join(c, 10 + i, (uint8_t)(i % 199), (uint16_t)(i * 31));
		hear(c, 10 + i, &leave, (uint8_t)(i % 199), (uint16_t)(i * 37));
	}
	T_CHECK(clients_copy(c, rows, ROWS, &total) == ROWS);
	T_CHECK(rows[ROWS - 1].ip[3] == 200);
	T_CHECK(rows[ROWS - 1].blocks_lost == 5);
	/* When all ask, those heard lately stay. */
	for (uint16_t i = 0; i < ROWS; i++)
		hear(c, 20000 + i, &preq, 7, i);
	clients_copy(c, rows, ROWS, &total);
	T_CHECK(rows[0].port == ROWS - 1);
	T_CHECK(rows[ROWS - 1].ip[3] == 7);
	clients_free(c);
}

int
main(void)
{
	test_many();
	test_until();
	test_rows();
	test_extension();
	test_named_again();
	test_doing();
	test_endings();
	test_again();
	test_aside();
	test_flood();
	test_strangers();
	return t_done();
}
