/* What an address gets that has not shown that it receives, with the time and all packets in
 * our hands. */
#include "frisbeed/serve/strangers.h"

#include <string.h>

#include "common/wire/wirext.h"
#include "tests/t.h"

enum { CHUNKS = 20, PORT = 7000, BLOCK_COST = WIRE_BLOCK_PACKET_BYTES + 28 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 }, ip_a[4] = { 10, 0, 0, 2 },
		     ip_b[4] = { 10, 0, 0, 3 };
static struct strangers_answer answer;

static struct strangers *
make(uint64_t image_bytes)
{
	struct strangers_config c = { .image_bytes = image_bytes, .seed = 7 };

	memcpy(c.srcip, server_ip, 4);
	memset(c.secret, 0x35, sizeof c.secret);
	return strangers_new(&c, 1);
}

static size_t
put(uint8_t pkt[WIRE_PACKET_MAX], enum wire_subtype subtype, const uint8_t ip[4],
    uint32_t chunk, const struct blockmap *map)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = subtype };

	memcpy(m.srcip, ip, 4);
	if (subtype == WIRE_JOIN) {
		m.u.join.clientid = 9;
	} else if (subtype == WIRE_REQ) {
		m.u.req.chunk = chunk;
		m.u.req.count = WIRE_CHUNK_BLOCKS;
	} else {
		m.u.preq.chunk = chunk;
		blockmap_put(map, m.u.preq.map);
	}
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

static enum strangers_verdict
request(struct strangers *s, uint64_t now, const uint8_t ip[4], uint16_t port, uint32_t chunk)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = put(pkt, WIRE_REQ, ip, chunk, NULL);

	return strangers_hear(s, now, pkt, n, ip, port, &answer);
}

static enum strangers_verdict
lacks(struct strangers *s, uint64_t now, const uint8_t ip[4], uint32_t chunk,
    const struct blockmap *map)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = put(pkt, WIRE_PREQ, ip, chunk, map);

	return strangers_hear(s, now, pkt, n, ip, PORT, &answer);
}

/* A client of this suite: JOIN, reply with cookie, JOIN with cookie. */
static void
test_cookie(void)
{
	struct strangers *s = make(CHUNKS << 20);
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = put(pkt, WIRE_JOIN, ip_a, 0, NULL);
	uint64_t cookie = 0, other = 0;

	T_CHECK(strangers_hear(s, 1, pkt, n, ip_a, PORT, &answer) == STRANGERS_REPLY);
	T_CHECK(!wirext_get_cookie(answer.reply, answer.reply_bytes, &cookie));
	size_t asks = wirext_put_cookie(pkt, n, sizeof pkt, 0);
	T_CHECK(strangers_hear(s, 1, pkt, asks, ip_a, PORT, &answer) == STRANGERS_REPLY);
	T_CHECK(wirext_get_cookie(answer.reply, answer.reply_bytes, &cookie));
	T_CHECK(cookie != 0);
	T_CHECK(answer.reply_bytes <= asks + 28);
	T_CHECK(strangers_hear(s, 1, pkt, asks, ip_a, PORT + 1, &answer) ==
		STRANGERS_REPLY);
	T_CHECK(wirext_get_cookie(answer.reply, answer.reply_bytes, &other));
	T_CHECK(other != cookie);
	/* A cookie of another port does not count, nor does one that is cut. */
	size_t full = wirext_put_cookie(pkt, n, sizeof pkt, other);
	T_CHECK(strangers_hear(s, 1, pkt, full, ip_a, PORT, &answer) == STRANGERS_REPLY);
	full = wirext_put_cookie(pkt, n, sizeof pkt, cookie);
	for (size_t len = 0; len < full; len++)
		T_CHECK(strangers_hear(s, 1, pkt, len, ip_a, PORT, &answer) !=
			STRANGERS_PROVED);
	T_CHECK(strangers_hear(s, 1, pkt, full, ip_b, PORT, &answer) == STRANGERS_IGNORE);
	T_CHECK(strangers_hear(s, 1, pkt, full, ip_a, PORT, &answer) == STRANGERS_PROVED);
	T_CHECK(answer.join_bytes == full);
	T_CHECK(memcmp(answer.join, pkt, full) == 0);
	strangers_free(s);
}

/* An old client: the part of the chunk that it lacks is the proof. */
static void
test_sample(void)
{
	struct strangers *s = make(CHUNKS << 20);
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS), left;

	T_CHECK(request(s, 1, ip_a, PORT, 3) == STRANGERS_SAMPLE);
	T_CHECK(answer.chunk == 3);
	T_CHECK(blockmap_count(&answer.blocks) == 4);
	left = blockmap_minus(all, &answer.blocks);
	T_CHECK(lacks(s, 2, ip_a, 3, &left) == STRANGERS_PROVED);
	/* One block of two samples was lost. */
	T_CHECK(request(s, 3, ip_a, PORT, 3) == STRANGERS_SAMPLE);
	left = blockmap_minus(all, &answer.blocks);
	blockmap_set(&left, blockmap_next(&answer.blocks, 0));
	T_CHECK(lacks(s, 4, ip_a, 3, &left) == STRANGERS_SAMPLE);
	left = blockmap_minus(left, &answer.blocks);
	T_CHECK(lacks(s, 5, ip_a, 3, &left) == STRANGERS_PROVED);
	strangers_free(s);
}

/* Who guesses is ignored for a while; who only asks gets 8 blocks, whatever he asks. */
static void
test_guessing(void)
{
	struct strangers *s = make(CHUNKS << 20);
	struct blockmap some = blockmap_range(8, WIRE_CHUNK_BLOCKS - 8);
	uint64_t came = 0, went = 0, guessed = 0;

	T_CHECK(request(s, 1, ip_a, PORT, 3) == STRANGERS_SAMPLE);
	for (int i = 0; i < 1000; i++)
		guessed += lacks(s, 2 + (uint64_t)i, ip_a, 3, &some) != STRANGERS_IGNORE;
	T_CHECK(guessed == 0);
	T_CHECK(lacks(s, 20000000, ip_a, 3, &some) == STRANGERS_SAMPLE);
	for (uint64_t i = 0; i < 600; i++) {
		enum strangers_verdict v =
		    request(s, i * 16000, ip_b, PORT, (uint32_t)i % CHUNKS);
		T_CHECK(v == STRANGERS_IGNORE || v == STRANGERS_SAMPLE);
		came += WIRE_HEADER_BYTES + 12 + 28;
		if (v == STRANGERS_SAMPLE)
			went += blockmap_count(&answer.blocks) * (uint64_t)BLOCK_COST;
		T_CHECK(went <= (3 * came > 8 * BLOCK_COST ? 3 * came : 8 * BLOCK_COST));
	}
	T_CHECK(went > 8 * BLOCK_COST);
	strangers_free(s);
}

/* All strangers together: no more than so many blocks a second, whatever their names. */
static void
test_many(void)
{
	struct strangers *s = make(CHUNKS << 20);
	uint64_t went = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		uint8_t ip[4] = { 10, 1, (uint8_t)(i >> 8), (uint8_t)i };
		if (request(s, 10 + i * 40, ip, (uint16_t)(1 + i / 65536), 0) ==
		    STRANGERS_SAMPLE)
			went += blockmap_count(&answer.blocks);
	}
	T_CHECK(went >= 3 * 512);
	T_CHECK(went <= 5 * 512);
	strangers_free(s);
}

/* One host with many ports does not keep another one out. */
static void
test_many_ports(void)
{
	struct strangers *s = make(CHUNKS << 20);
	struct blockmap left = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	uint32_t went = 0;

	for (uint16_t port = 1; port <= 3000; port++)
		if (request(s, 10, ip_b, port, 0) == STRANGERS_SAMPLE)
			went += blockmap_count(&answer.blocks);
	T_CHECK(went == 64);
	T_CHECK(request(s, 11, ip_a, PORT, 3) == STRANGERS_SAMPLE);
	left = blockmap_minus(left, &answer.blocks);
	for (uint16_t port = 3001; port <= 6000; port++)
		request(s, 12, ip_b, port, 0);
	T_CHECK(lacks(s, 13, ip_a, 3, &left) == STRANGERS_PROVED);
	T_CHECK(request(s, 1000010, ip_b, 1, 0) == STRANGERS_SAMPLE); /* the next second */
	strangers_free(s);
}

/* Files of a few blocks come to their end, one way or the other. */
static void
test_small_files(void)
{
	for (uint32_t n = 1; n <= 64; n++) {
		struct strangers *s = make(n * WIRE_BLOCK_BYTES - 5);
		struct blockmap left = blockmap_range(0, n);
		enum strangers_verdict v = request(s, 1, ip_a, PORT, 0);
		for (int k = 0; k < 40 && !blockmap_empty(&left) && v != STRANGERS_PROVED;
		     k++) {
			if (v == STRANGERS_SAMPLE)
				left = blockmap_minus(left, &answer.blocks);
			v = blockmap_empty(&left) ? STRANGERS_PROVED
			                          : lacks(s, 2, ip_a, 0, &left);
		}
		T_CHECK(v == STRANGERS_PROVED);
		strangers_free(s);
	}
}

static void
test_nonsense(void)
{
	struct strangers *s = make(CHUNKS << 20);
	struct blockmap none = { { 0 } };
	uint8_t pkt[WIRE_PACKET_MAX];

	T_CHECK(request(s, 1, ip_a, PORT, CHUNKS) == STRANGERS_IGNORE);
	T_CHECK(request(s, 1, ip_a, PORT, INT32_MAX) == STRANGERS_IGNORE);
	T_CHECK(lacks(s, 1, ip_a, 3, &none) == STRANGERS_IGNORE);
	size_t n = put(pkt, WIRE_REQ, ip_a, 3, NULL);
	for (size_t len = 0; len < n; len++)
		T_CHECK(strangers_hear(s, 1, pkt, len, ip_a, PORT, &answer) ==
			STRANGERS_IGNORE);
	T_CHECK(strangers_hear(s, 1, pkt, n, ip_b, PORT, &answer) == STRANGERS_IGNORE);
	strangers_free(s);
}

int
main(void)
{
	test_cookie();
	test_sample();
	test_guessing();
	test_many();
	test_many_ports();
	test_small_files();
	test_nonsense();
	return t_done();
}
