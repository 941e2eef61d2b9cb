/* A part of the server's engine: the time signals among the blocks. */
#include "frisbeed/server/server_stamps.h"
#include "tests/t.h"

int
main(void)
{
	struct server_stamps t = { 0 };
	struct wirext_msg m;

	T_CHECK(!server_stamps_due(&t, 1000000, 0, 0));
	T_CHECK(server_stamps_due(&t, 1000000, 1, 0));
	server_stamps_say(&t, 1000000, 5, 3, &m);
	T_CHECK(m.kind == WIREXT_TIME);
	T_CHECK(m.u.time.epoch == 3);
	T_CHECK(m.u.time.sent == 5);
	T_CHECK(m.u.time.time_us == 1000000);
	T_CHECK(!server_stamps_due(&t, 1024999, 9, 3));
	T_CHECK(server_stamps_due(&t, 1025000, 9, 3));
	T_CHECK(!server_stamps_due(&t, 1025000, 5, 3)); /* nothing was sent since */
	/* The rate has begun a new epoch. */
	T_CHECK(server_stamps_due(&t, 1000001, 6, 4));
	return t_done();
}
