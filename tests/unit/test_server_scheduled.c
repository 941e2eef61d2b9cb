/* A part of the server's engine: which chunks were given out since a client has joined. */
#include "frisbeed/server/server_scheduled.h"
#include "tests/t.h"

enum { CHUNKS = 100 };

static struct server_scheduled g;

static uint32_t
changed(void)
{
	uint32_t n = 0, chunk;

	while (server_scheduled_each(&g, n, &chunk))
		n++;
	return n;
}

/* Clients that join one after the other are in one turn until something changes. */
static void
test_turns(void)
{
	T_CHECK(server_scheduled_init(&g, CHUNKS) == 0);
	uint32_t first = server_scheduled_join(&g);
	T_CHECK(first > 0);
	T_CHECK(changed() == CHUNKS);
	server_scheduled_settle(&g);
	T_CHECK(changed() == 0);
	T_CHECK(server_scheduled_join(&g) == first);
	T_CHECK(!server_scheduled_since(&g, 4, first));
	server_scheduled_add(&g, 4);
	T_CHECK(server_scheduled_since(&g, 4, first));
	server_scheduled_changed(&g, 4);
	uint32_t second = server_scheduled_join(&g);
	T_CHECK(second == first + 1);
	T_CHECK(!server_scheduled_since(&g, 4, second));
	T_CHECK(server_scheduled_since(&g, 4, first));
	server_scheduled_add(&g, 4);
	T_CHECK(server_scheduled_since(&g, 4, second));
	server_scheduled_fini(&g);
}

static void
test_changed(void)
{
	uint32_t chunk = 0;

	T_CHECK(server_scheduled_init(&g, CHUNKS) == 0);
	server_scheduled_settle(&g);
	server_scheduled_changed(&g, 7);
	server_scheduled_changed(&g, 9);
	server_scheduled_changed(&g, 7);
	T_CHECK(changed() == 2);
	T_CHECK(server_scheduled_each(&g, 1, &chunk));
	T_CHECK(chunk == 9);
	for (uint32_t c = 0; c < SERVER_SCHEDULED_CHANGED + 1; c++)
		server_scheduled_changed(&g, 20 + c);
	T_CHECK(changed() == CHUNKS);
	T_CHECK(server_scheduled_each(&g, 1, &chunk));
	T_CHECK(chunk == 1);
	server_scheduled_fini(&g);
}

int
main(void)
{
	test_turns();
	test_changed();
	return t_done();
}
