/* A part of the server's engine: how many blocks the clients can take. */
#include "common/wire/wire.h"
#include "frisbeed/server/server_credit.h"
#include "tests/t.h"

/* The client with the most room sets the limit, whatever the others say. */
static void
test_grant(void)
{
	struct server_credit c = { 0 };

	T_CHECK(server_credit_room(&c, 0) == 0);
	server_credit_grant(&c, 0, 0, 100);
	T_CHECK(server_credit_room(&c, 0) == 100);
	T_CHECK(server_credit_room(&c, 30) == 70);
	T_CHECK(server_credit_room(&c, 200) == 0);
	server_credit_grant(&c, 50, 0, 20);
	T_CHECK(c.limit == 100);
	/* Of 300 that were sent, 40 are on their way and need room, too. */
	server_credit_grant(&c, 300, 40, 100);
	T_CHECK(c.limit == 360);
}

/* One message opens the gate no further than 64 MiB. */
static void
test_most(void)
{
	struct server_credit c = { 0 };

	server_credit_grant(&c, 1000, 0, UINT32_MAX);
	T_CHECK(c.limit == 1000 + 64 * WIRE_CHUNK_BLOCKS);
}

static void
test_owed(void)
{
	struct server_credit c = { .limit = 10 };

	server_credit_owe(&c, 100);
	server_credit_pay(&c, 30, false);
	T_CHECK(c.owed == 70);
	T_CHECK(c.limit == 40);
	server_credit_pay(&c, 10, true);
	T_CHECK(c.owed == 60);
	T_CHECK(c.limit == 40);
	server_credit_pay(&c, 1000, false);
	T_CHECK(c.owed == 0);
	T_CHECK(c.limit == 100);
	for (unsigned i = 0; i < 10; i++)
		server_credit_owe(&c, WIRE_CHUNK_BLOCKS);
	T_CHECK(c.owed == 2 * WIRE_CHUNK_BLOCKS);
}

int
main(void)
{
	test_grant();
	test_most();
	test_owed();
	return t_done();
}
