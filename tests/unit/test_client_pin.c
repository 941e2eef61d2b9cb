/* Whose packets count for a client, and what may end its load. */
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

enum { SECOND = 1000 * MS };
static const uint8_t stranger_ip[4] = { 10, 0, 0, 66 };
static const uint8_t other_image[WIREXT_IDENTITY_BYTES] = { 2 };

/* An answer to JOIN; session 0: of a server that does not know the extension. */
static void
answer(struct client *c, uint64_t now, const uint8_t from[4], uint32_t chunks,
    uint32_t session, const uint8_t *identity)
{
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN,
		.u.join.blocks = chunks * WIRE_CHUNK_BLOCKS };
	struct wirext_answer a = {
		.flags = WIREXT_CAN_PARITY, .port = 5008, .session = session
	};
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];

	if (identity != NULL)
		memcpy(a.identity, identity, sizeof a.identity);
	memcpy(m.srcip, from, 4);
	size_t n = wire_put(&m, pkt, sizeof pkt);
	if (session != 0)
		n = wirext_put_answer(pkt, n, sizeof pkt, &a);
	client_input(c, now, pkt, n, from, &st);
}

static void
state_from(struct client *c, uint64_t now, const uint8_t from[4], uint32_t session,
    uint32_t flags, const uint8_t *identity)
{
	static const uint8_t nothing_comes[1];
	struct wirext_msg m = { .kind = WIREXT_STATE, .session = session };
	struct client_store st;
	uint8_t pkt[WIREXT_PACKET_MAX];

	memcpy(m.srcip, from, 4);
	m.u.state.flags = flags;
	m.u.state.coming = (struct wirext_map){ 0, CHUNKS, nothing_comes };
	m.u.state.clients = 1;
	m.u.state.chunks = CHUNKS;
	if (identity != NULL)
		memcpy(m.u.state.identity, identity, WIREXT_IDENTITY_BYTES);
	client_input(c, now, pkt, wirext_put(&m, pkt, sizeof pkt), from, &st);
}

static struct client *
make_base(void)
{
	struct client_config cfg = client_config();
	uint8_t pkt[WIRE_PACKET_MAX];
	struct client *c = client_new(&cfg, 0);

	client_output(c, 0, pkt);
	answer(c, 1, server_ip, CHUNKS, 0, NULL);
	return c;
}

static uint32_t
chunk_from(struct client *c, uint64_t now, uint32_t chunk, const uint8_t from[4])
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
		n += block_from(c, now, chunk, b, from);
	return n;
}

/* A chunk of the server's was proved. */
static void
prove(struct client *c, uint64_t now)
{
	uint32_t chunk, buf, bytes;

	T_CHECK(chunk_from(c, now, 0, server_ip) == WIRE_CHUNK_BLOCKS);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 0);
	client_release(c, now, buf);
}

/* Whatever it says in this time; does it say JOIN? */
static unsigned
joins(struct client *c, uint64_t from, uint64_t to)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg m;
	struct err e;
	unsigned n = 0;
	size_t len;

	for (uint64_t now = from; now < to; now += MS)
		while ((len = client_output(c, now, pkt)) > 0)
			n += !wirext_is(pkt, len) && wire_get(&m, pkt, len, &e) == 0 &&
			     m.subtype == WIRE_JOIN;
	return n;
}

static bool
loads(const struct client *c)
{
	return client_state(c) == CLIENT_LOADING;
}

/* One packet of a stranger's, and then many of them, from its own address. */
static void
test_stranger_ends_nothing(void)
{
	struct client *c = make_client(true);

	prove(c, 2);
	for (uint64_t now = 10 * MS; now < 3 * SECOND; now += 20 * MS) {
		state_from(c, now, stranger_ip, SESSION, 2, NULL);
		state_from(c, now, stranger_ip, SESSION, 0, other_image);
		answer(c, now, stranger_ip, CHUNKS + 1, SESSION, NULL);
		answer(c, now, stranger_ip, CHUNKS, SESSION, other_image);
		state_from(c, now, server_ip, SESSION, 0, NULL);
		T_CHECK(!block_from(c, now, 1, 5, stranger_ip));
	}
	T_CHECK(loads(c));
	T_CHECK(block_from(c, 3 * SECOND, 1, 5, server_ip));
	client_free(c);
}

/* Parity and blocks of the extension count only from the server, either. */
static void
test_stranger_sends_parity(void)
{
	struct client *c = make_client(true);
	struct wirext_msg m = { .kind = WIREXT_PARITY, .session = SESSION };
	struct client_store st;
	uint8_t pkt[WIREXT_PACKET_MAX];

	T_CHECK(block_from(c, 2, 1, 8, server_ip));
	memcpy(m.srcip, stranger_ip, 4);
	m.u.parity.chunk = 1;
	m.u.parity.data = data;
	size_t n = wirext_put(&m, pkt, sizeof pkt);
	T_CHECK(!client_input(c, 3, pkt, n, stranger_ip, &st));
	m.kind = WIREXT_DATA;
	m.u.data.chunk = 1;
	m.u.data.first = 0;
	m.u.data.count = m.u.data.content = 1;
	m.u.data.data = data;
	n = wirext_put(&m, pkt, sizeof pkt);
	T_CHECK(!client_input(c, 3, pkt, n, stranger_ip, &st));
	client_free(c);
}

/* A made-up session moves nobody: messages still go to the server's. */
static void
test_stranger_makes_up_a_session(void)
{
	struct client *c = make_client(true);
	struct wirext_msg said;
	uint64_t now = 10 * MS;

	prove(c, 2);
	state_from(c, now, stranger_ip, SESSION + 2, 0, NULL);
	state_from(c, now, server_ip, SESSION, 1, NULL);
	T_CHECK(says(c, &now, SECOND, WIREXT_WANT, &said));
	T_CHECK(said.session == SESSION);
	/* The server itself may have started anew. */
	state_from(c, now, server_ip, SESSION + 4, 1, NULL);
	T_CHECK(says(c, &now, SECOND, WIREXT_WANT, &said));
	T_CHECK(said.session == SESSION + 4);
	client_free(c);
}

/* The server's address is forged, and the server goes on: nothing ends.  It is asked. */
static void
test_forged_end_is_contradicted(void)
{
	struct client *c = make_client(true);

	prove(c, 2);
	for (uint64_t now = SECOND; now < 20 * SECOND; now += 20 * MS) {
		state_from(c, now, server_ip, SESSION, 2, NULL);
		state_from(c, now, server_ip, SESSION, 0, other_image);
		answer(c, now, server_ip, CHUNKS + 1, SESSION, NULL);
		if (joins(c, now, now + MS) > 0)
			answer(c, now + MS, server_ip, CHUNKS, SESSION, NULL);
		T_CHECK(loads(c));
	}
	client_free(c);
}

/* Nobody contradicts: it is true, after a second. */
static void
check_ends(struct client *c, uint32_t flags, const uint8_t *identity, bool answers,
    const char *why)
{
	uint64_t now = SECOND, first = now;

	prove(c, 2);
	for (; loads(c) && now < 5 * SECOND; now += 100 * MS) {
		if (joins(c, now, now + MS) > 0 && answers)
			answer(c, now, server_ip, CHUNKS, SESSION + 2, identity);
		if (!answers)
			state_from(c, now, server_ip, SESSION, flags, identity);
		else if (now == first)
			state_from(c, now, server_ip, SESSION + 2, 0, identity);
	}
	T_CHECK(client_state(c) == CLIENT_REFUSED);
	T_CHECK(now >= first + SECOND);
	T_CHECK(now <= first + 2 * SECOND);
	T_CHECK(strstr(client_error(c), why) != NULL);
	T_CHECK(strncmp(client_error(c), "10.0.0.1 ", 9) == 0);
	client_free(c);
}

static void
test_true_end(void)
{
	check_ends(make_client(true), 2, NULL, false, "was changed");
	check_ends(make_client(true), 0, other_image, true, "another image");
}

/* One packet that nobody repeats is forgotten. */
static void
test_single_claim(void)
{
	struct client *c = make_client(true);

	prove(c, 2);
	state_from(c, SECOND, server_ip, SESSION, 2, NULL);
	joins(c, SECOND, 5 * SECOND);
	state_from(c, 5 * SECOND, server_ip, SESSION, 2, NULL);
	T_CHECK(loads(c));
	client_free(c);
}

/* A server that was proved is followed by another one with the same image, when it has
 * been silent for two seconds. */
static void
test_standby(void)
{
	struct client *c = make_client(true);

	prove(c, SECOND);
	answer(c, 2 * SECOND, stranger_ip, CHUNKS, 5, NULL);
	T_CHECK(!block_from(c, 2 * SECOND, 1, 0, stranger_ip));
	T_CHECK(joins(c, 2 * SECOND, 3200 * MS) > 0);
	answer(c, 3200 * MS, stranger_ip, CHUNKS, 5, other_image);
	T_CHECK(!block_from(c, 3200 * MS, 1, 0, stranger_ip));
	T_CHECK(loads(c));
	answer(c, 3200 * MS, stranger_ip, CHUNKS, 5, NULL);
	T_CHECK(block_from(c, 3200 * MS, 1, 0, stranger_ip));
	T_CHECK(!block_from(c, 3200 * MS, 1, 1, server_ip));
	client_free(c);
}

/* The same with the base protocol: the address alone is what is pinned. */
static void
test_base_standby(void)
{
	struct client *c = make_base();

	prove(c, SECOND);
	answer(c, SECOND + MS, stranger_ip, CHUNKS, 0, NULL);
	T_CHECK(!block_from(c, SECOND + MS, 1, 0, stranger_ip));
	T_CHECK(joins(c, SECOND, 2900 * MS) == 0);
	T_CHECK(joins(c, 2900 * MS, 3200 * MS) == 1);
	answer(c, 3200 * MS, stranger_ip, CHUNKS + 1, 0, NULL);
	T_CHECK(!block_from(c, 3200 * MS, 1, 0, stranger_ip));
	answer(c, 3200 * MS, stranger_ip, CHUNKS, 0, NULL);
	T_CHECK(block_from(c, 3200 * MS, 1, 0, stranger_ip));
	client_free(c);
}

/* What answers first is no server: another answer is taken when no blocks come. */
static void
test_first_answer_is_a_strangers(void)
{
	struct client_config cfg = client_config();
	struct client *c = client_new(&cfg, 0);

	T_CHECK(joins(c, 0, MS) == 1);
	answer(c, MS, stranger_ip, CHUNKS + 1, 0, NULL);
	T_CHECK(client_images(c) == 1);
	T_CHECK(client_chunks(c) == CHUNKS + 1);
	answer(c, 2 * MS, server_ip, CHUNKS, 0, NULL);
	T_CHECK(client_images(c) == 1);
	T_CHECK(joins(c, 2 * MS, 1200 * MS) > 0);
	answer(c, 1200 * MS, server_ip, CHUNKS, 0, NULL);
	T_CHECK(client_images(c) == 2);
	T_CHECK(client_chunks(c) == CHUNKS);
	T_CHECK(loads(c));
	T_CHECK(!block_from(c, 1200 * MS, 1, 0, stranger_ip));
	T_CHECK(block_from(c, 1200 * MS, 1, 0, server_ip));
	/* ... and from then on it is left alone. */
	answer(c, 1201 * MS, stranger_ip, CHUNKS + 1, 0, NULL);
	T_CHECK(client_images(c) == 2);
	client_free(c);
}

/* The one that was pinned has repeated the server's blocks until a chunk was proved.  Now
 * it only announces, while another one answers and sends blocks. */
static void
test_stranger_repeated_a_chunk(void)
{
	struct client *c = make_client(true);
	uint64_t now = 2;

	prove(c, now);
	answer(c, now, stranger_ip, CHUNKS, SESSION, NULL);
	for (; now < 3 * SECOND; now += 20 * MS) {
		state_from(c, now, server_ip, SESSION, 0, NULL);
		T_CHECK(!block_from(c, now, 1, 5, stranger_ip));
		if (joins(c, now, now + MS) > 0)
			break;
	}
	T_CHECK(now >= 2 * SECOND);
	T_CHECK(now < 2200 * MS);
	answer(c, now, stranger_ip, CHUNKS, SESSION, NULL);
	T_CHECK(block_from(c, now, 1, 5, stranger_ip));
	client_free(c);
}

/* It sends a block now and then: the other one sends far more. */
static void
test_stranger_sends_little(void)
{
	struct client *c = make_client(true);
	uint64_t now = 2;

	prove(c, now);
	answer(c, now, stranger_ip, CHUNKS, SESSION, NULL);
	for (uint32_t b = 0; b < 300; b++) {
		T_CHECK(!block_from(c, now, 1, b, stranger_ip));
		if (b % 100 == 99)
			T_CHECK(block_from(c, now, 2, b, server_ip));
		now += MS;
	}
	T_CHECK(joins(c, now, now + 200 * MS) > 0);
	answer(c, now, stranger_ip, CHUNKS, SESSION, NULL);
	T_CHECK(block_from(c, now, 1, 0, stranger_ip));
	T_CHECK(!block_from(c, now, 1, 1, server_ip));
	client_free(c);
}

/* Two servers with different images: the user is told, once. */
static void
test_two_images(void)
{
	struct client *c = make_client(true);

	prove(c, 2);
	T_CHECK(client_other_server(c) == NULL);
	answer(c, 3, stranger_ip, CHUNKS, SESSION + 1, NULL); /* the same */
	T_CHECK(client_other_server(c) == NULL);
	answer(c, 3, stranger_ip, CHUNKS, SESSION + 1, other_image);
	T_CHECK(client_other_server(c) != NULL);
	T_CHECK(memcmp(client_other_server(c), stranger_ip, 4) == 0);
	T_CHECK(memcmp(client_server(c), server_ip, 4) == 0);
	client_free(c);
	c = make_client(true);
	state_from(c, 3, stranger_ip, SESSION + 1, 0, other_image);
	T_CHECK(client_other_server(c) != NULL);
	client_free(c);
	c = make_base();
	answer(c, 3, stranger_ip, CHUNKS + 1, 0, NULL);
	T_CHECK(client_other_server(c) != NULL);
	/* The other one takes over. */
	T_CHECK(joins(c, 3, 1200 * MS) > 0);
	answer(c, 1200 * MS, stranger_ip, CHUNKS + 1, 0, NULL);
	T_CHECK(memcmp(client_server(c), stranger_ip, 4) == 0);
	T_CHECK(memcmp(client_other_server(c), server_ip, 4) == 0);
	client_free(c);
}

/* The pinned one says that its image has changed; another one answers for the image. */
static void
test_stranger_says_stale(void)
{
	struct client *c = make_client(true);

	prove(c, 2);
	for (uint64_t now = SECOND; now < 4 * SECOND; now += 20 * MS) {
		state_from(c, now, server_ip, SESSION, 2, NULL);
		if (joins(c, now, now + MS) > 0)
			answer(c, now, stranger_ip, CHUNKS, SESSION, NULL);
		T_CHECK(loads(c));
	}
	T_CHECK(block_from(c, 4 * SECOND, 1, 0, stranger_ip));
	client_free(c);
}

/* It sends wrong blocks after a right chunk: another one that answers is taken. */
static void
test_stranger_turns_wrong(void)
{
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	struct client *c = make_client(true);
	uint32_t chunk, buf, bytes;

	prove(c, 2);
	answer(c, 3, stranger_ip, CHUNKS, SESSION, NULL);
	T_CHECK(chunk_from(c, 4, 1, server_ip) == WIRE_CHUNK_BLOCKS);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(client_again(c, 5, buf, &all) == 0);
	T_CHECK(joins(c, 6, 200 * MS) > 0);
	answer(c, 200 * MS, stranger_ip, CHUNKS, SESSION, NULL);
	T_CHECK(block_from(c, 200 * MS, 2, 0, stranger_ip));
	client_free(c);
}

/* A stranger that sends blocks, too, is found out by the first chunk. */
static void
test_stranger_with_blocks(void)
{
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	struct client *c = make_base();
	uint32_t chunk, buf, bytes;

	/* Here the one that was pinned is the stranger. */
	T_CHECK(chunk_from(c, 2, 0, server_ip) == WIRE_CHUNK_BLOCKS);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	answer(c, 3, stranger_ip, CHUNKS + 3, 0, NULL);
	T_CHECK(client_images(c) == 1);
	T_CHECK(client_again(c, 4, buf, &all) == 0);
	T_CHECK(joins(c, 5, 600 * MS) > 0);
	answer(c, 600 * MS, stranger_ip, CHUNKS + 3, 0, NULL);
	T_CHECK(client_images(c) == 2);
	T_CHECK(client_chunks(c) == CHUNKS + 3);
	T_CHECK(chunk_from(c, 601 * MS, 0, stranger_ip) == WIRE_CHUNK_BLOCKS);
	client_free(c);
}

int
main(void)
{
	test_stranger_ends_nothing();
	test_stranger_sends_parity();
	test_stranger_makes_up_a_session();
	test_forged_end_is_contradicted();
	test_true_end();
	test_single_claim();
	test_standby();
	test_base_standby();
	test_first_answer_is_a_strangers();
	test_stranger_with_blocks();
	test_stranger_repeated_a_chunk();
	test_stranger_sends_little();
	test_two_images();
	test_stranger_says_stale();
	test_stranger_turns_wrong();
	return t_done();
}
