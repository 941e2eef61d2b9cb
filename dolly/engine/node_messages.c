/* node_messages.c: what comes to a node over its connections goes to the part that it is for
 * (node_impl.h).  Called by the owner of the engine through node.h, in its thread. */
#include "dolly/engine/node_impl.h"

static int
on_message(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	switch (p->kind) {
	case PEER_SERVER:
		return node_hear_server(n, m, e);
	case PEER_PARENT:
		return node_hear_data(n, m, e);
	case PEER_CHILD:
		return node_hear_child(n, p, m, e);
	default:
		return node_hear_hello(n, p, m, e);
	}
}

bool
node_must_wait(const struct node *n, const struct peer *p)
{
	return p->kind == PEER_PARENT && n->arrival.slot == SPREAD_NONE &&
	       !spread_make_room(n->spread);
}

/* Has the owner to answer before anything else of this peer is handled? */
static bool
is_unanswered(const struct node *n, const struct peer *p)
{
	return (p->kind == PEER_SERVER && n->putting.opening) ||
	       (p->kind == PEER_PARENT && n->putting.proving);
}

static void
end_peer(struct node *n, struct peer *p, const struct err *e)
{
	if (p == n->parent.peer) {
		node_parent_lost(n, e->text);
		return;
	}
	if (p == n->server.peer)
		node_fail(n, e);
	node_hang_up(n, p);
}

/* The bytes of a piece that lie in the peer's buffer. */
static void
take_piece(struct node *n, struct peer *p)
{
	const void *bytes;
	uint32_t len = peer_piece(p, &bytes);

	if (len > 0)
		node_hear_piece(n, bytes, len);
}

void
node_take_messages(struct node *n, struct peer *p)
{
	struct msg m;
	struct err e;
	int rc = 0;

	if (p == NULL)
		return;
	take_piece(n, p);
	while (!is_unanswered(n, p) && !node_must_wait(n, p) &&
	       (rc = peer_next(p, &m, &e)) == 1) {
		rc = on_message(n, p, &m, &e);
		if (rc != 0)
			break;
		take_piece(n, p);
	}
	if (rc >= 0 && is_unanswered(n, p))
		return; /* node_opened() or node_proved() goes on here */
	if (rc < 0)
		end_peer(n, p, &e);
	node_flush_asks(n);
	node_note_hunger(n);
}

size_t
node_room(struct node *n, struct peer *p, void **at)
{
	*at = p->piece_left > 0 ? node_place(n) : NULL;
	return peer_room(p);
}

void
node_failed(struct node *n, const struct err *e)
{
	node_fail(n, e);
	node_hang_up(n, n->server.peer);
}

void
node_input(struct node *n, struct peer *p, const void *bytes, size_t len)
{
	uint32_t direct = peer_direct(p, len);
	struct err e;

	if (direct > 0)
		node_hear_piece(n, bytes, direct);
	if (peer_put(p, (const uint8_t *)bytes + direct, len - direct, &e) != 0)
		end_peer(n, p, &e);
	else
		node_take_messages(n, p);
}

void
node_resume(struct node *n)
{
	if (n->parent.peer != NULL && !node_must_wait(n, n->parent.peer))
		node_take_messages(n, n->parent.peer);
}

void
node_closed(struct node *n, struct peer *p, const char *why)
{
	bool server = p == n->server.peer;
	struct err e;

	(void)err_set(&e, ERR_IO, "%s%s", server ? "the server: " : "", why);
	if (server && node_server_closed(n, p, why))
		return;
	end_peer(n, p, &e);
	if (n->spread != NULL)
		node_flush_asks(n);
}
