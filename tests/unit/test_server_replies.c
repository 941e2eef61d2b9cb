/* A part of the server's engine: the clients whose JOIN was not replied to yet. */
#include "frisbeed/server/server_replies.h"
#include "tests/t.h"

static struct wire_msg m;

static bool
says(struct server_replies *r, uint64_t now_us, enum wire_subtype subtype)
{
	struct server_image image = server_image_of(5000000);

	return server_replies_say(r, now_us, &image, &m) && m.type == WIRE_REPLY &&
	       m.subtype == subtype;
}

/* One reply answers all JOINs; each JOIN2 has its own. */
static void
test_who(void)
{
	struct server_replies r = { 0 };

	T_CHECK(server_replies_at(&r) == UINT64_MAX);
	T_CHECK(!says(&r, 0, WIRE_JOIN));
	server_replies_join(&r, false);
	server_replies_join(&r, false);
	T_CHECK(!r.probed);
	server_replies_join2(&r, 7);
	server_replies_join2(&r, 8);
	server_replies_join2(&r, 7);
	T_CHECK(server_replies_at(&r) == 0);
	T_CHECK(says(&r, 0, WIRE_JOIN));
	T_CHECK(m.u.join.blocks == 4883);
	T_CHECK(says(&r, 0, WIRE_JOIN2));
	T_CHECK(m.u.join2.clientid == 7);
	T_CHECK(m.u.join2.blocks == 4883);
	T_CHECK(m.u.join2.image_bytes == 5000000);
	T_CHECK(says(&r, 0, WIRE_JOIN2));
	T_CHECK(m.u.join2.clientid == 8);
	T_CHECK(server_replies_at(&r) == UINT64_MAX);
	server_replies_join(&r, true);
	T_CHECK(r.probed);
}

/* A flood of JOINs: 256 replies at once, then 200 a second. */
static void
test_flood(void)
{
	struct server_replies r = { 0 };
	uint64_t now = 10000000;
	unsigned n = 0;

	for (server_replies_join(&r, false); says(&r, now, WIRE_JOIN); n++)
		server_replies_join(&r, false);
	T_CHECK(n >= 256);
	T_CHECK(n <= 257);
	T_CHECK(server_replies_at(&r) > now);
	T_CHECK(!says(&r, server_replies_at(&r) - 1, WIRE_JOIN));
	n = 0;
	for (uint64_t end = now + 1000000; now < end; now = server_replies_at(&r), n++) {
		says(&r, now, WIRE_JOIN);
		server_replies_join(&r, false);
	}
	T_CHECK(n >= 198);
	T_CHECK(n <= 202);
}

static void
test_full(void)
{
	struct server_replies r = { 0 };
	unsigned n = 0;

	for (uint32_t id = 0; id < 2 * SERVER_REPLIES_JOIN2; id++)
		server_replies_join2(&r, id);
	while (says(&r, 0, WIRE_JOIN2))
		n++;
	T_CHECK(n == SERVER_REPLIES_JOIN2);
}

int
main(void)
{
	test_who();
	test_flood();
	test_full();
	return t_done();
}
