/* A part of the server's engine: when STATE is sent, and what it says. */
#include "frisbeed/server/server_announce.h"
#include "tests/t.h"

enum { CHUNKS = 5, SECOND = 1000000 };

static struct server_announce a;
static struct wirext_msg m;

static void
say(uint64_t now_us, const struct server_scene *now, uint32_t nchunks)
{
	static const uint8_t bits[WIREXT_MAP_CHUNKS / 8];
	struct wirext_map map = server_announce_map(&a, nchunks, bits);

	server_announce_say(&a, now_us, now, nchunks, &map, &m);
}

static void
test_when(void)
{
	struct server_scene now = { .sent = 7 };

	server_announce_init(&a);
	T_CHECK(server_announce_at(&a, SECOND, &now) == UINT64_MAX);
	server_announce_heard(&a, SECOND);
	now.clients = 1;
	say(SECOND, &now, CHUNKS);
	T_CHECK(m.kind == WIREXT_STATE);
	T_CHECK(m.u.state.flags == 0);
	T_CHECK(m.u.state.clients == 1);
	T_CHECK(m.u.state.chunks == CHUNKS);
	T_CHECK(m.u.state.coming.count == CHUNKS);
	T_CHECK(server_announce_at(&a, SECOND, &now) == 2 * SECOND);
	/* Idle: at once, and then ten times a second, while somebody answers. */
	now.idle = true;
	T_CHECK(server_announce_at(&a, SECOND, &now) == 0);
	say(SECOND, &now, CHUNKS);
	T_CHECK(m.u.state.flags == WIREXT_IDLE);
	T_CHECK(server_announce_at(&a, SECOND, &now) == SECOND + SECOND / 10);
	T_CHECK(server_announce_at(&a, 20 * SECOND, &now) == 2 * SECOND);
	/* Something was sent since, and now that is idle. */
	now.sent = 8;
	T_CHECK(server_announce_at(&a, SECOND, &now) == 0);
	server_announce_now(&a);
	T_CHECK(server_announce_at(&a, SECOND, &now) == 0);
}

static void
test_alone(void)
{
	struct server_scene now = { .sent = 7 };

	server_announce_init(&a);
	server_announce_heard(&a, SECOND);
	T_CHECK(server_announce_at(&a, SECOND, &now) == SECOND);
	T_CHECK(server_announce_at(&a, 12 * SECOND, &now) == UINT64_MAX);
	server_announce_alone(&a);
	T_CHECK(server_announce_at(&a, SECOND, &now) == UINT64_MAX);
}

/* That chunks take turns is said five times, in a tenth of a second. */
static void
test_sets(void)
{
	struct server_scene now = { .sent = 7, .clients = 1, .interleave = true };
	uint64_t at = SECOND;
	unsigned n = 0;

	server_announce_init(&a);
	server_announce_heard(&a, SECOND);
	T_CHECK(server_announce_at(&a, SECOND, &now) == 0);
	for (; at <= SECOND + SECOND / 10; at = server_announce_at(&a, at, &now), n++)
		say(at, &now, CHUNKS);
	T_CHECK(n == 5);
	T_CHECK(m.u.state.flags == WIREXT_INTERLEAVED);
	now.interleave = false;
	T_CHECK(server_announce_at(&a, at, &now) == 0);
}

static void
test_stale(void)
{
	struct server_scene now = { .sent = 7 };

	server_announce_init(&a);
	server_announce_stale(&a);
	T_CHECK(server_announce_at(&a, SECOND, &now) == UINT64_MAX);
	server_announce_init(&a);
	server_announce_heard(&a, SECOND);
	server_announce_stale(&a);
	T_CHECK(server_announce_at(&a, SECOND, &now) == 0);
	say(SECOND, &now, CHUNKS);
	T_CHECK(m.u.state.flags == WIREXT_STALE);
	T_CHECK(server_announce_at(&a, SECOND, &now) == SECOND + SECOND / 10);
}

/* Clients learn that the server waits for credit. */
static void
test_held(void)
{
	struct server_scene now = { .sent = 7, .clients = 1, .held = true };

	server_announce_init(&a);
	server_announce_heard(&a, SECOND);
	say(SECOND, &now, CHUNKS);
	T_CHECK(m.u.state.flags == WIREXT_HELD);
	T_CHECK(server_announce_at(&a, SECOND, &now) == 2 * SECOND);
}

/* More chunks than a map has take turns, too. */
static void
test_map(void)
{
	struct server_scene now = { .clients = 1, .silent = true };

	server_announce_init(&a);
	say(0, &now, WIREXT_MAP_CHUNKS + 10);
	T_CHECK(m.u.state.flags == WIREXT_IDLE);
	T_CHECK(m.u.state.coming.first == 0);
	T_CHECK(m.u.state.coming.count == WIREXT_MAP_CHUNKS);
	say(0, &now, WIREXT_MAP_CHUNKS + 10);
	T_CHECK(m.u.state.coming.first == WIREXT_MAP_CHUNKS);
	T_CHECK(m.u.state.coming.count == 10);
	say(0, &now, WIREXT_MAP_CHUNKS + 10);
	T_CHECK(m.u.state.coming.first == 0);
}

int
main(void)
{
	test_when();
	test_alone();
	test_sets();
	test_stale();
	test_held();
	test_map();
	return t_done();
}
