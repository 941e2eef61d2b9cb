/* A part of the server's engine: the clients that are there. */
#include <string.h>

#include "frisbeed/server/server_members.h"
#include "tests/t.h"

enum { MAX = 200, SECOND = 1000000 };

static const uint8_t ip_a[4] = { 10, 0, 0, 2 }, ip_b[4] = { 10, 0, 0, 3 };
static struct server_members r;
static int here, gone;
static uint32_t last_gone;

static void
on_comes(void *arg, const struct server_client *c)
{
	(void)arg;
	(void)c;
	here++;
}

static void
on_goes(void *arg, const struct server_client *c)
{
	(void)arg;
	here--;
	last_gone = c->id;
}

static void
on_silent(void *arg, const struct server_client *c, uint64_t silent_us)
{
	(void)arg;
	gone += silent_us >= 60 * (uint64_t)SECOND && c->id == last_gone;
}

static void
begin(void)
{
	static const struct server_members_watch watch = { on_comes, on_goes, on_silent, NULL };

	here = gone = 0;
	T_CHECK(server_members_init(&r, MAX, 7, 5000, &watch) == 0);
}

static void
end(void)
{
	T_CHECK(here == (int)server_members_count(&r));
	server_members_fini(&r);
}

static void
test_come_and_go(void)
{
	begin();
	T_CHECK(server_members_find(&r, ip_a, 1) == NULL);
	server_members_add(&r, 10000, ip_a, 1, true, 3);
	const struct server_client *c = server_members_add(&r, 10000, ip_b, 1, false, 4);
	T_CHECK(server_members_find(&r, ip_b, 1) == c);
	T_CHECK(c->cohort == 4);
	T_CHECK(c->joined_ms == 10);
	T_CHECK(server_members_index(&r, c) < MAX);
	T_CHECK(r.ext == 1);
	T_CHECK(r.most == 2);
	server_members_no_interleave(&r, c);
	server_members_no_interleave(&r, c);
	T_CHECK(r.no_interleave == 1);
	T_CHECK(server_members_waits(&r, c));
	T_CHECK(!server_members_waits(&r, c));
	T_CHECK(r.waiting == 1);
	server_members_was_here(&r, c);
	T_CHECK(c->resumes);
	T_CHECK(c->cohort == 1);
	T_CHECK(c->joined_ms == 5);
	T_CHECK(!server_members_leave(&r, 20000, ip_a, 2));
	T_CHECK(server_members_leave(&r, 20000, ip_a, 1));
	T_CHECK(server_members_leave(&r, 20000, ip_b, 1));
	T_CHECK(r.ext == 0);
	T_CHECK(r.no_interleave == 0);
	T_CHECK(r.waiting == 0);
	T_CHECK(r.most == 2);
	T_CHECK(server_members_has_left(&r, 21000, ip_a, 1));
	T_CHECK(!server_members_has_left(&r, 21000, ip_a, 2));
	T_CHECK(!server_members_has_left(&r, 20000 + SECOND, ip_a, 1));
	end();
}

/* A request tells no id: it is one of the address that are known, or one more. */
static void
test_unnamed(void)
{
	begin();
	T_CHECK(!server_members_asks(&r, 0, ip_a));
	server_members_add(&r, 0, ip_a, SERVER_MEMBERS_UNNAMED, false, 1);
	T_CHECK(server_members_asks(&r, 0, ip_a));
	server_members_add(&r, 0, ip_a, 7, false, 1); /* that is who it was */
	T_CHECK(server_members_count(&r) == 1);
	T_CHECK(last_gone == SERVER_MEMBERS_UNNAMED);
	T_CHECK(server_members_leave(&r, 0, ip_a, 7));
	T_CHECK(server_members_asks(&r, 1000, ip_a)); /* late, but of the one that has left */
	T_CHECK(!server_members_asks(&r, SECOND, ip_a));
	end();
}

/* An address has 64 clients at most; of all, those that asked for something stay. */
static void
test_bounds(void)
{
	uint8_t ip[4] = { 10, 0, 1, 0 };

	begin();
	for (uint32_t id = 0; id < 100; id++)
		server_members_add(&r, id, ip_a, id, false, 1);
	T_CHECK(server_members_count(&r) == SERVER_MEMBERS_ADDRESS);
	T_CHECK(server_members_find(&r, ip_a, 35) == NULL);
	T_CHECK(server_members_find(&r, ip_a, 36) != NULL);
	const struct server_client *c = server_members_add(&r, 100, ip_b, 5, true, 1);
	server_members_heard(&r, 100, c, true);
	for (unsigned i = 0; i < 250; i++) {
		ip[3] = (uint8_t)i;
		server_members_add(&r, 200, ip, 1, false, 1);
	}
	T_CHECK(server_members_count(&r) == MAX);
	T_CHECK(server_members_find(&r, ip_b, 5) == c);
	T_CHECK(r.ext == 1);
	end();
}

static void
test_forget(void)
{
	uint64_t now = 0;

	begin();
	server_members_add(&r, 0, ip_a, 1, true, 1);
	server_members_add(&r, 0, ip_a, 2, false, 1);
	server_members_add(&r, 0, ip_b, 3, true, 1);
	for (; now < 100 * (uint64_t)SECOND; now += SECOND) {
		server_members_heard(&r, now, server_members_find(&r, ip_b, 3), false);
		server_members_forget(&r, now, 50 * (uint64_t)SECOND);
		T_CHECK(server_members_count(&r) == (now < 60 * (uint64_t)SECOND ? 3u : 2u));
	}
	T_CHECK(gone == 1);
	/* The old client may have had what it wants until the last block was sent. */
	T_CHECK(server_members_find(&r, ip_a, 2) != NULL);
	server_members_heard(&r, now, server_members_find(&r, ip_b, 3), false);
	server_members_forget(&r, 110 * (uint64_t)SECOND - 1, 50 * (uint64_t)SECOND);
	T_CHECK(server_members_count(&r) == 2);
	/* All are silent: that may be the network. */
	server_members_forget(&r, 300 * (uint64_t)SECOND, 50 * (uint64_t)SECOND);
	T_CHECK(server_members_count(&r) == 2);
	server_members_forget(&r, 400 * (uint64_t)SECOND, 50 * (uint64_t)SECOND);
	T_CHECK(server_members_count(&r) == 0);
	T_CHECK(gone == 3);
	end();
}

int
main(void)
{
	test_come_and_go();
	test_unnamed();
	test_bounds();
	test_forget();
	return t_done();
}
