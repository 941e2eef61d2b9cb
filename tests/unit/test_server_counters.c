/* Parts of the server's engine: what it counts, and how the counts are handed out. */
#include "frisbeed/server/server.h"
#include "frisbeed/server/server_counters.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

static void
test_count(void)
{
	struct server_counters c = { { 0 } };

	T_CHECK(server_count(&c, COUNT_BYTES, 1500) == 1500);
	T_CHECK(server_count(&c, COUNT_BYTES, 500) == 2000);
	T_CHECK(server_count(&c, COUNT_JOINS, 1) == 1);
	T_CHECK(c.n[COUNT_JOINS] == 1);
	T_CHECK(c.n[COUNT_LEAVES] == 0);
}

/* Every count of a session that serves one request is where it belongs. */
static void
test_stats(void)
{
	struct server *s = make(3 * MIB, true, 16, 2000);
	uint32_t blocks[64];
	uint64_t now = 1000000;

	join(s, now, 1);
	request(s, now, 0, 0, 20);
	request(s, now, 0, 10, 20);
	for (unsigned ms = 0; ms < 100; ms++, now += 1000)
		drain(s, now, blocks, 64);
	request(s, now, 0, 0, 5);
	for (unsigned ms = 0; ms < 100; ms++, now += 1000)
		drain(s, now, blocks, 64);
	server_input(s, now, "x", 1, ip_a);
	struct server_stats st = server_stats(s);
	T_CHECK(st.joins == 1);
	T_CHECK(st.leaves == 0);
	T_CHECK(st.requests == 3);
	T_CHECK(st.prequests == 0);
	T_CHECK(st.bad_packets == 1);
	T_CHECK(st.blocks_requested == 45);
	T_CHECK(st.blocks_already_pending == 10);
	T_CHECK(st.blocks_sent == 35);
	T_CHECK(st.blocks_resent == 5);
	T_CHECK(st.blocks_lost == 45);
	T_CHECK(st.clients == 1);
	T_CHECK(st.clients_max == 1);
	T_CHECK(st.bytes_sent > 35 * WIRE_BLOCK_PACKET_BYTES);
	server_free(s);
}

int
main(void)
{
	test_count();
	test_stats();
	return t_done();
}
