/* A part of the server's engine: who goes before whom while several things wait. */
#include "common/wire/wire.h"
#include "frisbeed/server/server_shares.h"
#include "tests/t.h"

/* After a chunk's worth of old requests without a break, the carousel has turns. */
static void
test_old(void)
{
	struct server_shares t = { 0 };

	T_CHECK(!server_shares_blocks(&t, WIRE_CHUNK_BLOCKS - 1, true));
	T_CHECK(!server_shares_blocks(&t, 32, false));
	T_CHECK(server_shares_blocks(&t, 1, true));
	server_shares_turns(&t, 2);
	T_CHECK(t.carousel_turns == 2);
	T_CHECK(!server_shares_blocks(&t, 1, true));
	server_shares_carousel(&t);
	server_shares_carousel(&t);
	server_shares_carousel(&t);
	T_CHECK(t.carousel_turns == 0);
	/* A chunk of the carousel is a break. */
	T_CHECK(!server_shares_blocks(&t, WIRE_CHUNK_BLOCKS - 1, true));
	server_shares_carousel(&t);
	T_CHECK(!server_shares_blocks(&t, 1, true));
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
		server_shares_blocks(&t, 32, false);
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
	test_parity();
	return t_done();
}
