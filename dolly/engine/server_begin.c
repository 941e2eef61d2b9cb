/* server_begin.c: when the nodes that have joined get their places together, and those that
 * come later (server_impl.h).  Called by the other parts of the server, in the engine's
 * thread. */
#include "dolly/engine/server_impl.h"

static bool
waits_for_place(const struct member *m)
{
	return m->state == MEMBER_WAITS && !m->aside;
}

/* Suspects, too. */
static uint32_t
waiting(const struct dolly_server *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->roster.n; i++)
		n += waits_for_place(s->roster.members[i]);
	return n;
}

/* All nodes that have joined until now get their places together. */
static void
begin(struct dolly_server *s)
{
	struct server_beginning *b = &s->beginning;
	struct err e;

	b->begun = true;
	server_let_go_whole(s);
	if (roster_place_all(&s->roster, &e) != 0) {
		server_fail(s, &e);
		return;
	}
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		m->heard_us = s->now_us;
		if (m->state == MEMBER_TAKES)
			server_say_parent(s, m);
	}
	server_place_leaves(s);
	server_read_more(s);
}

/* Gives places to nodes that join when others have their places, or that were set aside. */
static void
place_late(struct dolly_server *s)
{
	server_let_go_whole(s);
	for (size_t i = 0; i < s->roster.n; i++)
		if (waits_for_place(s->roster.members[i]))
			(void)server_place(s, s->roster.members[i], NULL);
	server_place_leaves(s);
	server_read_more(s);
}

/* A node that has chunks before this server begins has them of one that had begun, and is gone.  Some
 * of the nodes for which that one waited may have ended since: the others are not waited for long. */
static void
look_for_earlier(struct dolly_server *s)
{
	struct server_beginning *b = &s->beginning;

	for (size_t i = 0; b->again_us == 0 && i < s->roster.n; i++)
		if (s->roster.members[i]->have > 0) {
			b->again_us = s->now_us;
			server_tell(s, s->roster.members[i],
			    "has chunks of an earlier server: the others have --deadline to come");
		}
}

static bool
is_late(const struct dolly_server *s)
{
	uint64_t again_us = s->beginning.again_us;

	return (s->cfg.start_us > 0 && s->now_us - s->made_us >= s->cfg.start_us) ||
	       (again_us > 0 && s->now_us - again_us >= s->cfg.deadline_us);
}

void
server_check_begin(struct dolly_server *s)
{
	uint32_t n = waiting(s);

	if (s->beginning.begun) {
		if (n > 0)
			place_late(s);
		return;
	}
	look_for_earlier(s);
	if (n >= s->cfg.nodes || is_late(s))
		begin(s);
}
