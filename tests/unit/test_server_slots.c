/* A part of the server's engine: the runs between being read and being sent. */
#include "frisbeed/server/server_slots.h"
#include "tests/t.h"

enum { AHEAD = 3, CHUNK = 7 };

static struct server_slots t;

static uint32_t
add(uint32_t first, uint32_t count)
{
	return server_slots_add(&t, CHUNK, first, count, false)->buf;
}

/* Runs are sent in the order in which they were added, whichever is read first. */
static void
test_order(void)
{
	T_CHECK(server_slots_init(&t, AHEAD, 0) == 0);
	T_CHECK(server_slots_first(&t) == NULL);
	T_CHECK(!server_slots_ready(&t));
	uint32_t a = add(0, 2), b = add(2, 5), c = add(7, 1);
	T_CHECK(a != b && b != c && c != a);
	T_CHECK(a < AHEAD && b < AHEAD && c < AHEAD);
	T_CHECK(server_slots_full(&t));
	server_slots_read(&t, b);
	T_CHECK(!server_slots_ready(&t));
	server_slots_read(&t, a);
	T_CHECK(server_slots_ready(&t));
	T_CHECK(server_slots_first(&t)->run.buf == a);
	T_CHECK(!server_slot_begun(server_slots_first(&t)));
	T_CHECK(!server_slots_spend(&t, 1));
	T_CHECK(server_slot_begun(server_slots_first(&t)));
	T_CHECK(server_slots_spend(&t, 1));
	T_CHECK(server_slots_first(&t)->run.buf == b);
	T_CHECK(server_slot_begun(server_slots_first(&t)));
	T_CHECK(server_slots_spend(&t, 5));
	T_CHECK(!server_slots_ready(&t));
	/* A buffer is given out again when its run was sent. */
	T_CHECK(add(8, 1) == a);
	server_slots_fini(&t);
}

/* The groups take turns, and the larger buffers are as many as they are. */
static void
test_parity(void)
{
	static const uint8_t counts[WIREXT_GROUPS] = { 0, 2, 0, 0, 1, 0, 0, 0 };
	bool ends = true;

	T_CHECK(server_slots_init(&t, SERVER_PARITY_BUFFERS + 2, 0) == 0);
	uint32_t first = server_slots_add_parity(&t, CHUNK, counts)->buf;
	T_CHECK(first >= t.ahead);
	T_CHECK(server_slots_first(&t)->parity);
	T_CHECK(server_slot_begun(server_slots_first(&t)));
	T_CHECK(t.parity_left == 3);
	for (unsigned i = 1; i < SERVER_PARITY_BUFFERS; i++) {
		T_CHECK(server_slots_takes_parity(&t));
		server_slots_add_parity(&t, CHUNK, counts);
	}
	T_CHECK(!server_slots_takes_parity(&t));
	T_CHECK(!server_slots_full(&t));
	T_CHECK(server_slots_spend_parity(&t, &ends) == 1);
	T_CHECK(!ends);
	T_CHECK(server_slots_spend_parity(&t, &ends) == 4);
	T_CHECK(!ends);
	T_CHECK(server_slots_spend_parity(&t, &ends) == 1);
	T_CHECK(ends);
	T_CHECK(t.parity_left == 3 * (SERVER_PARITY_BUFFERS - 1));
	T_CHECK(server_slots_takes_parity(&t));
	T_CHECK(server_slots_add_parity(&t, CHUNK, counts)->buf == first);
	server_slots_fini(&t);
}

int
main(void)
{
	test_order();
	test_parity();
	return t_done();
}
