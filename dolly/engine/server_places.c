/* server_places.c: a node gets its place in the tree and its parent, loses it, and leaves
 * (server_impl.h).  Called by the other parts of the server, in the engine's thread. */
#include "dolly/engine/server_impl.h"

#include <stdio.h>

enum { TRIES = 4 }; /* suspects without a place, after which the others have none either */

static void let_go(struct dolly_server *, struct member *);

/* Tells a parent that nobody waits for this child. */
static void
say_leaf(struct dolly_server *s, const struct member *m)
{
	const struct msg leaf = { .type = MSG_LEAF, .id = m->id };
	struct spread_child *c = spread_find_child(s->spread, m->id);

	if (m->parent == NULL && c != NULL)
		spread_set_leaf(c);
	else if (m->parent != NULL && m->parent->peer != NULL)
		peer_say(m->parent->peer, &leaf);
}

void
server_say_parent(struct dolly_server *s, struct member *m)
{
	struct msg p = { .type = MSG_PARENT };

	m->retry_us = 0;
	judge_new_link(&m->judge);
	if (m->peer == NULL)
		return;
	if (m->leaf)
		say_leaf(s, m);
	if (m->parent == NULL) {
		memcpy(p.key, s->cfg.key, sizeof p.key);
	} else {
		p.id = m->parent->id;
		p.port = m->parent->port;
		memcpy(p.address, m->parent->address, sizeof p.address);
		memcpy(p.key, m->parent->key, sizeof p.key);
	}
	peer_say(m->peer, &p);
}

void
server_drop_child(struct dolly_server *s, uint32_t id)
{
	struct spread_child *c = spread_find_child(s->spread, id);

	if (c != NULL)
		server_hang_up(s, c->owner);
}

void
server_drop_at_parent(struct dolly_server *s, struct member *m)
{
	if (m->parent != NULL) {
		if (m->parent->peer != NULL)
			peer_say(m->parent->peer,
			    &(struct msg){ .type = MSG_DROP, .id = m->id });
		return;
	}
	server_drop_child(s, m->id);
}

/* Takes a member out of the tree, and gives its children other parents. */
void
server_leave_tree(struct dolly_server *s, struct member *m)
{
	struct member *parent = m->parent, *c;

	if (m->state != MEMBER_TAKES)
		return;
	server_drop_at_parent(s, m);
	roster_take_out(&s->roster, m);
	while ((c = roster_orphan(m)) != NULL)
		(void)server_place(s, c, NULL);
	server_settle(s, parent);
}

/* The member has got its place. */
void
server_is_placed(struct dolly_server *s, struct member *m)
{
	m->lost = 0;
	server_say_parent(s, m);
}

/* Gives suspects that wait a place as leaves. */
void
server_place_leaves(struct dolly_server *s)
{
	unsigned without = 0;

	for (size_t i = 0; s->suspects.n > 0 && i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state != MEMBER_WAITS || !m->judge.suspect || m->aside || !s->beginning.begun)
			continue;
		if (m->whole)
			let_go(s, m);
		else if (roster_place_leaf(&s->roster, m))
			server_is_placed(s, m);
		else if (++without == TRIES)
			return;
	}
}

/* Gives a member a place, if there is one without this parent.  A leaf may have to go
 * from it. */
bool
server_place(struct dolly_server *s, struct member *m, const struct member *avoid)
{
	struct member *leaf;

	if (m->judge.suspect) {
		m->state = MEMBER_WAITS; /* server_place_leaves() */
		return true;
	}
	if (!roster_place(&s->roster, m, avoid))
		return false;
	server_is_placed(s, m);
	if ((leaf = roster_leaf_too_many(&s->roster, m->parent)) != NULL) {
		server_leave_tree(s, leaf);
		leaf->state = MEMBER_WAITS;
	}
	return true;
}

/* In a chain those that are doubted are at the end: this one does not wait for them. */
void
server_place_cleared(struct dolly_server *s, struct member *m)
{
	struct member *behind = roster_first_doubted(&s->roster);

	if (behind == NULL) {
		(void)server_place(s, m, NULL);
		return;
	}
	server_drop_at_parent(s, behind);
	struct member *above = behind->parent;
	roster_take_out(&s->roster, behind);
	roster_place_at(&s->roster, m, above);
	server_is_placed(s, m);
	roster_place_at(&s->roster, behind, m);
	server_is_placed(s, behind);
}

/* Takes a silent node out of the tree, so that it holds nobody up, but keeps its
 * connection.  It gets a place again when it is heard, and is cut out at the deadline. */
void
server_set_aside(struct dolly_server *s, struct member *m)
{
	server_leave_tree(s, m);
	m->state = MEMBER_WAITS;
	m->aside = true;
	m->asides++;
	server_tell(s, m, "silent: the nodes behind it get another parent");
}

static void
say_end(struct dolly_server *s, struct member *m)
{
	if (m->peer == NULL)
		return;
	peer_say(m->peer, &(struct msg){ .type = MSG_END });
	server_hang_up(s, m->peer);
}

/* A node that is whole goes; those behind it get another parent. */
static void
let_go(struct dolly_server *s, struct member *m)
{
	server_leave_tree(s, m);
	say_end(s, m);
	m->state = MEMBER_LEFT;
	server_tell(s, m, "whole");
}

/* Cuts a node out.  One that is whole has nothing to lose, and only goes. */
void
server_cut(struct dolly_server *s, struct member *m, const char *why)
{
	struct msg refuse = { .type = MSG_REFUSE };

	if (m->state == MEMBER_OUT || m->state == MEMBER_LEFT)
		return;
	if (m->whole) {
		let_go(s, m);
		return;
	}
	snprintf(m->why, sizeof m->why, "%s", why);
	server_leave_tree(s, m);
	m->state = MEMBER_OUT;
	server_tell(s, m, m->why);
	if (m->peer != NULL) {
		snprintf(refuse.text, sizeof refuse.text, "%s", m->why);
		peer_say(m->peer, &refuse);
		server_hang_up(s, m->peer);
	}
}

/* A node that is whole before it gets a place needs none. */
void
server_let_go_whole(struct dolly_server *s)
{
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state == MEMBER_WAITS && m->whole)
			let_go(s, m);
	}
}

/* A node that is whole and has no children may go, and its parent may be the next one.
 * NULL is allowed.  In a loop: a recursion would be as deep as a chain is long. */
void
server_settle(struct dolly_server *s, struct member *m)
{
	server_place_leaves(s);
	while (m != NULL && m->whole && m->child == NULL && m->state == MEMBER_TAKES) {
		struct member *parent = m->parent;
		say_end(s, m);
		server_drop_at_parent(s, m);
		roster_take_out(&s->roster, m);
		m->state = MEMBER_LEFT;
		server_tell(s, m, "whole");
		m = parent;
	}
}
