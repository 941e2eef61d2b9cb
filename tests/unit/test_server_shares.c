/* A part of the server's engine: who goes before whom while several things wait. */
#include "common/wire/wire.h"
#include "frisbeed/server/server_shares.h"
#include "tests/t.h"

/* After a chunk's worth of old requests without a break, the carousel has turns. */
static void
test_old(void)
{
	struct server_shares t = { 0 };

	T_CHECK(!server_shares_blocks(&t, WIRE_CHUNK_BLOCKS - 1, true, 1));
	T_CHECK(!server_shares_blocks(&t, 32, false, 1));
	T_CHECK(server_shares_blocks(&t, 1, true, 1));
	server_shares_turns(&t, 2);
	T_CHECK(t.carousel_turns == 2);
	T_CHECK(!server_shares_blocks(&t, 1, true, 1));
	server_shares_carousel(&t);
	server_shares_carousel(&t);
	server_shares_carousel(&t);
	T_CHECK(t.carousel_turns == 0);
	/* A chunk of the carousel is a break. */
	T_CHECK(!server_shares_blocks(&t, WIRE_CHUNK_BLOCKS - 1, true, 1));
	server_shares_carousel(&t);
	T_CHECK(!server_shares_blocks(&t, 1, true, 1));
}

/* While chunks are interleaved, requests have a chunk's worth, and then their part. */
static void
test_old_among_others(void)
{
	struct server_shares t = { 0 };
	uint32_t old = 0, others = 60 * WIRE_CHUNK_BLOCKS;

	for (uint32_t i = 0; i < others; i += 32) {
		for (; server_shares_old_may(&t); old += 32)
			server_shares_blocks(&t, 32, true, 3);
		server_shares_blocks(&t, 32, false, 3);
	}
	T_CHECK(old >= others / 3);
	T_CHECK(old <= others / 3 + WIRE_CHUNK_BLOCKS + 32);
	/* What was not used is not kept. */
	for (uint32_t i = 0; i < others; i += 32)
		server_shares_blocks(&t, 32, false, 3);
	for (old = 0; server_shares_old_may(&t); old += 32)
		server_shares_blocks(&t, 32, true, 3);
	T_CHECK(old == WIRE_CHUNK_BLOCKS);
}

/* While blocks are wanted, parity is no more than they are, and two chunks. */
static void
test_parity(void)
{
	struct server_shares t = { 0 };
	uint32_t parity = 0, blocks = 100 * WIRE_CHUNK_BLOCKS;

	for (uint32_t i = 0; i < blocks; i += 32) {
		for (; server_shares_parity_may(&t); parity += 8)
			server_shares_parity(&t, 8);
		server_shares_blocks(&t, 32, false, 1);
	}
	T_CHECK(parity >= blocks);
	T_CHECK(parity <= blocks + 2 * WIRE_CHUNK_BLOCKS);
	server_shares_parity(&t, 1000);
	T_CHECK(!server_shares_parity_may(&t));
	server_shares_only_parity(&t);
	T_CHECK(server_shares_parity_may(&t));
}

int
main(void)
{
	test_old();
	test_old_among_others();
	test_parity();
	return t_done();
}
