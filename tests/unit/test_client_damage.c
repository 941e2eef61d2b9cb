/* A chunk that comes damaged again and again: when that is the server's own copy, and when
 * somebody else's blocks are among it. */
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

enum { SECOND = 1000 * MS };

static bool
block(struct client *c, uint64_t now, uint32_t chunk, uint32_t block, uint8_t content)
{
	static uint8_t bytes[WIRE_BLOCK_BYTES];
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.u.block = { chunk, block, bytes } };
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];

	bytes[0] = content;
	memcpy(m.srcip, server_ip, 4);
	return client_input(c, now, pkt, wire_put(&m, pkt, sizeof pkt), server_ip, &st);
}

/* Let it say what it wants: does it ask for this chunk by a request? */
static bool
asks(struct client *c, uint64_t now, uint32_t chunk)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg m;
	struct err e;
	bool asked = false;
	size_t n;

	while ((n = client_output(c, now, pkt)) > 0)
		asked |= !wirext_is(pkt, n) && wire_get(&m, pkt, n, &e) == 0 &&
		         ((m.subtype == WIRE_REQ && m.u.req.chunk == chunk) ||
			     (m.subtype == WIRE_PREQ && m.u.preq.chunk == chunk));
	return asked;
}

/* All of chunk 1 comes, with a forged block before or behind; the digest is wrong. */
static unsigned
comes(struct client *c, uint64_t *now, uint64_t own, uint64_t forged, unsigned *rounds)
{
	struct blockmap whole = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	uint32_t chunk, buf, bytes;

	for (uint64_t end = *now + 5 * SECOND; *now < end; *now += 10 * MS) {
		/* At first parity or a WANT may do; later it is asked for itself. */
		bool asked = asks(c, *now, 1) || *rounds <= 1;
		if (forged != 0)
			block(c, *now, 1, 500, (uint8_t)forged);
		for (uint32_t b = 0; asked && b < WIRE_CHUNK_BLOCKS; b++)
			block(c, *now, 1, b, (uint8_t)own);
		if (!client_take(c, &chunk, &buf, &bytes))
			continue;
		T_CHECK(chunk == 1);
		++*rounds;
		return client_again(c, *now, buf, &whole);
	}
	T_CHECK(false);
	return 0;
}

/* It is always the same: after four times and more than a second, it is given up. */
static void
test_servers_own(bool ext)
{
	struct client *c = make_client(ext);
	uint64_t now = 10 * MS, first = now;
	unsigned rounds = 0, times = 0;

	if (!ext)
		client_no_second_port(c);
	while (times == 0 && rounds < 10)
		times = comes(c, &now, 7, 0, &rounds);
	T_CHECK(times == 4);
	T_CHECK(rounds == 4);
	T_CHECK(now >= first + SECOND);
	T_CHECK(now < first + 3 * SECOND);
	client_free(c);
}

/* One block comes with another content, too: it is somebody else's doing, for ever.  It
 * is not asked for all the time. */
static void
test_forged(void)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS, first = now;
	unsigned rounds = 0;

	while (rounds < 12)
		T_CHECK(comes(c, &now, 7, 8, &rounds) == 0);
	T_CHECK(now - first > 10 * SECOND);
	client_free(c);
}

/* Bits that flip on the way are other ones each time. */
static void
test_another_each_time(void)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS;
	unsigned rounds = 0;

	while (rounds < 8)
		T_CHECK(comes(c, &now, 7 + rounds % 2, 0, &rounds) == 0);
	client_free(c);
}

/* What comes before anybody asked for it again is not taken: it would keep the server's
 * own blocks from being asked for. */
static void
test_nothing_unasked(void)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS;
	unsigned rounds = 0;

	comes(c, &now, 7, 0, &rounds);
	T_CHECK(block(c, now, 1, 5, 7)); /* the first time, anything will do */
	comes(c, &now, 7, 0, &rounds);
	T_CHECK(rounds == 2);
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
		T_CHECK(!block(c, now, 1, b, 8));
	T_CHECK(!asks(c, now + 400 * MS, 1));
	T_CHECK(asks(c, now + 600 * MS, 1));
	T_CHECK(block(c, now + 600 * MS, 1, 5, 7));
	client_free(c);
}

/* Nor is parity then, nor the word that the end is empty. */
static void
test_only_blocks(void)
{
	struct client *c = make_client(true);
	struct wirext_msg m = { .kind = WIREXT_PARITY };
	struct client_store st;
	uint64_t now = 10 * MS;
	unsigned rounds = 0;

	comes(c, &now, 7, 0, &rounds);
	comes(c, &now, 7, 0, &rounds);
	now += SECOND;
	T_CHECK(asks(c, now, 1));
	m.u.parity.chunk = 1;
	m.u.parity.content = 3;
	m.u.parity.data = data;
	T_CHECK(!hears(c, now, m, &st));
	m = (struct wirext_msg){ .kind = WIREXT_DATA, .u.data = { 1, 0, 1, 3, data } };
	T_CHECK(hears(c, now, m, &st));
	T_CHECK(st.which == 1);
	T_CHECK(st.zeros == NULL);
	client_free(c);
}

/* Somebody has said that the empty end begins later than it does: what the server says counts,
 * which sends no block of it. */
static void
test_end_is_said_anew(void)
{
	struct client *c = make_client(true);
	struct wirext_msg m = { .kind = WIREXT_DATA, .u.data = { 1, 0, 1, 1000, data } };
	uint32_t chunk = 0, buf, bytes;
	struct client_store st;

	T_CHECK(hears(c, 10 * MS, m, &st));
	T_CHECK(st.zeros != NULL && blockmap_count(st.zeros) == WIRE_CHUNK_BLOCKS - 1000);
	m.u.data.content = 3;
	T_CHECK(hears(c, 20 * MS, m, &st));
	T_CHECK(st.zeros != NULL && blockmap_count(st.zeros) == 1000 - 3);
	T_CHECK(!hears(c, 30 * MS, m, &st));
	for (m.u.data.first = 1; m.u.data.first < 3; m.u.data.first++)
		T_CHECK(hears(c, 40 * MS, m, &st));
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 1);
	client_free(c);
}

/* In order, what is behind it has been given out: it is the next one all the same. */
static void
test_in_order(void)
{
	struct blockmap whole = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	struct client_config cfg = client_config();
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN,
		.u.join.blocks = CHUNKS * WIRE_CHUNK_BLOCKS };
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t chunk, buf, bytes, bufs[CHUNKS];

	cfg.in_order = true;
	cfg.readahead = 4;
	cfg.in_progress = 16;
	struct client *c = client_new(&cfg, 0);
	asks(c, 0, 0);
	memcpy(m.srcip, server_ip, 4);
	client_input(c, 1, pkt, wire_put(&m, pkt, sizeof pkt), server_ip, &st);
	asks(c, 1, 0);
	for (uint32_t k = 0; k < CHUNKS; k++)
		for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
			block(c, 2, k, b, 7);
	for (uint32_t k = 0; k < CHUNKS; k++) {
		T_CHECK(client_take(c, &chunk, &bufs[k], &bytes));
		T_CHECK(chunk == k);
	}
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
	client_release(c, 3, bufs[0]);
	T_CHECK(client_again(c, 3, bufs[1], &whole) == 0);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(asks(c, 200 * MS, 1));
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
		block(c, 200 * MS, 1, b, 7);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 1);
	T_CHECK(buf == bufs[1]);
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	client_free(c);
}

/* The request, or all of its answer, is lost: nothing comes, so it is asked again. */
static void
test_lost_request(void)
{
	struct client *c = make_client(true);
	uint64_t now = 10 * MS;
	unsigned rounds = 0;

	for (unsigned i = 0; i < 3; i++)
		comes(c, &now, 7, 8, &rounds);
	unsigned times = 0;
	for (uint64_t end = now + 20 * SECOND; now < end; now += 10 * MS) {
		if (now % (100 * MS) == 0) {
			struct wirext_msg idle = { .kind = WIREXT_STATE,
				.u.state = { .flags = WIREXT_IDLE, .clients = 1 } };
			struct client_store st;
			hears(c, now, idle, &st);
		}
		times += asks(c, now, 1);
	}
	/* Soon, and then about once a second. */
	T_CHECK(times > 15);
	T_CHECK(times < 40);
	client_free(c);
}

int
main(void)
{
	test_servers_own(true);
	test_servers_own(false);
	test_forged();
	test_another_each_time();
	test_nothing_unasked();
	test_only_blocks();
	test_lost_request();
	test_end_is_said_anew();
	test_in_order();
	return t_done();
}
