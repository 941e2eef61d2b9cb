/* A part of the server's engine: when a session begins to send, and when it ends. */
#include "frisbeed/server/server_life.h"
#include "tests/t.h"

enum { SECOND = 1000000 };

static struct server_life l;

static void
test_begin(void)
{
	server_life_init(&l, 0, 0, 0, SECOND);
	T_CHECK(server_life_begins_us(&l) == 0);
	server_life_init(&l, 0, 0, 2, SECOND);
	T_CHECK(server_life_begins_us(&l) == UINT64_MAX);
	server_life_count(&l, 1);
	T_CHECK(server_life_begins_us(&l) == UINT64_MAX);
	server_life_count(&l, 2);
	T_CHECK(server_life_begins_us(&l) == 0);
	server_life_count(&l, 1); /* one has left, but it has begun */
	T_CHECK(server_life_begins_us(&l) == 0);
	/* An eighth of a chunk, but 20 ms at most. */
	server_life_await(&l, SECOND, 128000);
	T_CHECK(server_life_begins_us(&l) == SECOND + 1000);
	server_life_await(&l, SECOND, 100);
	T_CHECK(server_life_begins_us(&l) == SECOND + 20000);
	server_life_await(&l, SECOND, 0);
	T_CHECK(server_life_begins_us(&l) == SECOND);
	server_life_joined(&l, SECOND);
	T_CHECK(server_life_ready_ms(&l) == 1201);
}

static void
test_end(void)
{
	server_life_init(&l, 0, 0, 0, SECOND);
	T_CHECK(server_life_ends_us(&l, 0) == UINT64_MAX);
	server_life_init(&l, 5 * SECOND, 0, 0, SECOND);
	T_CHECK(server_life_ends_us(&l, 1) == 6 * SECOND);
	server_life_asked(&l, 3 * SECOND);
	T_CHECK(server_life_ends_us(&l, 0) == 8 * SECOND);
}

/* -T < 0: two seconds after the last one has left, if somebody was served. */
static void
test_end_with_the_last(void)
{
	server_life_init(&l, -1, 0, 0, SECOND);
	server_life_asked(&l, SECOND);
	server_life_left(&l, 2 * SECOND);
	T_CHECK(server_life_ends_us(&l, 0) == UINT64_MAX);
	server_life_served(&l);
	T_CHECK(server_life_ends_us(&l, 0) == 4 * SECOND);
	server_life_asked(&l, 3 * SECOND);
	T_CHECK(server_life_ends_us(&l, 0) == 5 * SECOND);
	T_CHECK(server_life_ends_us(&l, 1) == 1803 * (uint64_t)SECOND);
	server_life_init(&l, -1, 7, 0, SECOND); /* another time than two seconds */
	server_life_served(&l);
	T_CHECK(server_life_ends_us(&l, 0) == SECOND + 7);
}

int
main(void)
{
	test_begin();
	test_end();
	test_end_with_the_last();
	return t_done();
}
