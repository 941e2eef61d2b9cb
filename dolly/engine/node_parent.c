/* node_parent.c: the connection of a node to its parent, and what is measured of it
 * (node_impl.h).  Called by the other parts of the node, in the engine's thread. */
#include "dolly/engine/node_impl.h"

#include <stdio.h>

void
node_parent_forget(struct node *n, const struct peer *p)
{
	struct node_parent *up = &n->parent;

	if (up->peer == p)
		up->peer = NULL;
}

void
node_leave_parent(struct node *n)
{
	node_hang_up(n, n->parent.peer);
	node_forget_arrival(n);
	node_ask_anew(n);
}

void
node_dial_nobody(struct node *n)
{
	struct node_parent *up = &n->parent;

	up->to_dial.type = 0;
}

void
node_parent_lost(struct node *n, const char *why)
{
	struct msg m = { .type = MSG_LOST, .id = n->parent.peer->id };

	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, why);
	node_leave_parent(n);
	node_tell_server(n, &m);
}

int
node_dial_parent(struct node *n, struct err *e)
{
	struct node_parent *up = &n->parent;
	struct msg hello = { .type = MSG_HELLO, .id = n->server.id };
	const struct msg *m = &up->to_dial;
	struct wish dial = { .kind = WISH_DIAL, .port = m->port };

	if (m->type != MSG_PARENT ||
	    dials_when(&up->dials, m->address, m->port, n->now_us) > n->now_us)
		return 0;
	up->to_dial.type = 0;
	dials_made(&up->dials, m->address, m->port, n->now_us);
	up->peer = peer_new(PEER_PARENT, m->address);
	if (up->peer == NULL)
		return err_nomem(e, "a connection");
	up->parents++;
	up->peer->id = m->id;
	up->link = (struct msg_link){ .id = m->id, .up = true };
	up->waited_us = 0;
	up->hungry = false;
	memcpy(hello.key, m->key, sizeof hello.key);
	peer_say(up->peer, &hello);
	node_flush_asks(n);
	dial.peer = up->peer;
	memcpy(dial.address, m->address, sizeof dial.address);
	node_wish(n, &dial);
	return 0;
}

int
node_hear_parent(struct node *n, const struct msg *m, struct err *e)
{
	struct node_parent *up = &n->parent;

	if (n->spread == NULL)
		return 0;
	if (m->id == n->server.id)
		return err_set(
		    e, ERR_FORMAT, "the server says that this node is its own parent");
	node_leave_parent(n);
	up->to_dial = *m;
	return node_dial_parent(n, e);
}

void
node_parent_sent(struct node *n, uint32_t bytes)
{
	struct node_parent *up = &n->parent;

	up->link.bytes += bytes;
}

void
node_parent_is_good(struct node *n)
{
	struct node_parent *up = &n->parent;

	dials_good(&up->dials, up->to_dial.address, up->to_dial.port);
}

void
node_parent_damaged(struct node *n, uint32_t from)
{
	struct node_parent *up = &n->parent;

	if (up->peer != NULL && from == up->link.id)
		up->link.damaged++;
}

void
node_excuse_itself(struct node *n)
{
	struct peer *p = n->parent.peer;

	if (p != NULL && p->out.len == 0 && n->putting.now == 0 && node_must_wait(n, p))
		peer_say(p, &(struct msg){ .type = MSG_WANT });
}

bool
node_parent_could_send(const struct node *n)
{
	return n->parent.peer != NULL && n->asking.asked.count > 0 &&
	       !node_must_wait(n, n->parent.peer);
}

void
node_note_hunger(struct node *n)
{
	struct node_parent *up = &n->parent;

	up->hungry = up->hungry && node_parent_could_send(n);
}

void
node_measure(struct node *n, uint64_t now_us)
{
	struct node_parent *up = &n->parent;
	bool could = n->spread != NULL && node_parent_could_send(n);

	if (up->hungry && could)
		up->waited_us += now_us - n->now_us;
	up->hungry = could;
}

struct msg_link
node_parent_link(const struct node *n)
{
	struct msg_link l = n->parent.link;

	l.waited_ms = (uint32_t)(n->parent.waited_us / 1000);
	l.wanted = n->asking.asked.count + n->asking.ask.count;
	return l;
}
