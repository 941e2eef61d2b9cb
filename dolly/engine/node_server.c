/* node_server.c: the connection of a node to its server, which may go away and come back
 * (node_impl.h).  Called by the other parts of the node, in the engine's thread. */
#include "dolly/engine/node_impl.h"

#include <stdio.h>

void
node_server_forget(struct node *n, const struct peer *p)
{
	struct node_server *s = &n->server;

	if (s->peer == p)
		s->peer = NULL;
}

void
node_tell_server(struct node *n, const struct msg *m)
{
	if (n->server.peer != NULL)
		peer_say(n->server.peer, m);
}

int
node_dial_server(struct node *n, struct err *e)
{
	struct node_server *s = &n->server;
	struct msg m = { .type = MSG_JOIN,
		.version_lo = MSG_VERSION_OLDEST,
		.version_hi = MSG_VERSION,
		.port = n->cfg.port };

	s->peer = peer_new(PEER_SERVER, m.address);
	if (s->peer == NULL)
		return err_nomem(e, "a connection");
	snprintf(m.text, sizeof m.text, "%s", n->cfg.name);
	peer_say(s->peer, &m);
	node_wish(n, &(struct wish){ .kind = WISH_DIAL, .peer = s->peer });
	return 0;
}

/* A server that was away has welcomed the node again, or another server in its place.  It
 * gives out new ids and keys, so the children and the parent, which have the old ones, are
 * disconnected. */
static int
welcome_again(struct node *n, const struct msg *m, struct err *e)
{
	const struct node_image *image = &n->server.image;

	if (m->chunks != image->chunks || m->bytes != image->bytes ||
	    m->content != image->content ||
	    memcmp(m->identity, image->identity, sizeof m->identity) != 0)
		return err_set(
		    e, ERR_REFUSED, "the server that came back serves another image");
	node_leave_children(n);
	node_dial_nobody(n);
	node_leave_parent(n);
	if (n->putting.whole)
		node_tell_server(n, &(struct msg){ .type = MSG_WHOLE });
	return 0;
}

static int
on_welcome(struct node *n, const struct msg *m, struct err *e)
{
	struct node_server *s = &n->server;
	bool again = n->spread != NULL;

	if ((again && s->away_us == 0) || m->version_lo < MSG_VERSION_OLDEST ||
	    m->version_lo > MSG_VERSION)
		return err_set(e, ERR_FORMAT,
		    "the server speaks version %u of the protocol, "
		    "and not %d to %d",
		    m->version_lo, MSG_VERSION_OLDEST, MSG_VERSION);
	s->version = m->version_lo;
	s->redial_wait_us = 0;
	s->id = m->id;
	memcpy(s->key, m->key, sizeof s->key);
	s->deadline_us = (uint64_t)m->deadline_ms * 1000;
	s->slow = m->slow;
	s->away_us = 0;
	if (again)
		return welcome_again(n, m, e);
	s->image = (struct node_image){ .chunks = m->chunks,
		.bytes = m->bytes,
		.content = m->content,
		.deadline_us = s->deadline_us };
	memcpy(s->image.identity, m->identity, sizeof s->image.identity);
	return node_prepare(n, &s->image, e);
}

int
node_hear_server(struct node *n, const struct msg *m, struct err *e)
{
	switch (m->type) {
	case MSG_WELCOME:
		return on_welcome(n, m, e);
	case MSG_PARENT:
		return node_hear_parent(n, m, e);
	case MSG_REFUSE:
		return err_set(e, ERR_REFUSED, "the server says: %s", m->text);
	case MSG_DROP:
		node_drop_child(n, m->id);
		return 0;
	case MSG_LEAF:
		node_hear_leaf(n, m->id);
		return 0;
	case MSG_DIGESTS:
		return node_hear_digests(n, m, e);
	case MSG_END:
		if (!n->putting.whole)
			return err_set(e, ERR_REFUSED, "the server has ended");
		node_end(n);
		return 0;
	default:
		return err_set(
		    e, ERR_FORMAT, "the server sent a message that is not for nodes");
	}
}

/* Is it worth waiting for the server, which was there once, or does not listen yet? */
static bool
may_come_back(const struct node *n, const struct peer *p)
{
	return n->cfg.patience_us > 0 && (n->spread != NULL || !p->reached) && !n->ended &&
	       n->failure.kind == ERR_NONE;
}

bool
node_server_closed(struct node *n, struct peer *p, const char *why)
{
	struct node_server *s = &n->server;

	if (may_come_back(n, p)) {
		snprintf(s->unanswered, sizeof s->unanswered, "%s", why);
		if (s->away_us == 0)
			s->away_us = s->redial_us = n->now_us | 1; /* 0 has a meaning */
	} else if (n->putting.whole)
		node_end(n);
	else
		return false;
	node_hang_up(n, p);
	return true;
}

/* The server does not come back in time. */
static void
give_up(struct node *n)
{
	struct node_server *s = &n->server;
	unsigned patience_s = (unsigned)(n->cfg.patience_us / 1000000);
	struct err e;

	s->alone = true;
	if (n->spread != NULL)
		(void)err_set(&e, ERR_IO,
		    "the server went away, and did not come back for %u seconds",
		    patience_s);
	else
		(void)err_set(&e, ERR_IO, "the server: %s, for %u seconds",
		    s->unanswered, patience_s);
	if (n->putting.whole)
		node_end(n);
	else
		node_fail(n, &e);
}

void
node_seek_server(struct node *n)
{
	struct node_server *s = &n->server;
	struct err e;

	if (n->now_us - s->away_us > n->cfg.patience_us)
		give_up(n);
	else if (s->peer == NULL && n->now_us >= s->redial_us) {
		s->redial_wait_us = dials_longer(s->redial_wait_us);
		s->redial_us = n->now_us + s->redial_wait_us;
		(void)node_dial_server(n, &e);
	}
}

static void
add_link(struct node *n, struct msg *m, const struct msg_link *l)
{
	if (m->nlinks == MSG_LINKS_MAX) {
		node_tell_server(n, m);
		m->nlinks = 0;
	}
	m->links[m->nlinks++] = *l;
}

/* Tells the server what was measured of all links. */
static void
report_links(struct node *n)
{
	const struct msg_link up = node_parent_link(n);
	struct msg m = { .type = MSG_REPORT };

	if (n->parent.peer != NULL)
		add_link(n, &m, &up);
	for (const struct spread_child *c = spread_children(n->spread); c != NULL;
	     c = c->next)
		add_link(n, &m,
		    &(struct msg_link){ .id = c->id,
			.bytes = c->bytes,
			.waited_ms = (uint32_t)(c->waited_us / 1000),
			.wanted = spread_wanted(c) });
	if (m.nlinks > 0)
		node_tell_server(n, &m);
}

void
node_report(struct node *n)
{
	const struct node_server *s = &n->server;
	struct msg m = { .type = MSG_PROGRESS, .have = n->putting.have - node_unsaid(n) };

	m.stuck = spread_stuck(n->spread, n->now_us, s->deadline_us, s->slow, &m.waits);
	if (s->peer->out.len >= MSG_CONTROL_MAX)
		return;
	node_tell_server(n, &m);
	if (s->version >= MSG_VERSION_REPORTS)
		report_links(n);
}
