/* server_messages.c: what the server does with each message (server_impl.h).  Called by the
 * owner of the engine through server.h, in its thread. */
#include "dolly/engine/server_impl.h"

#include <stdio.h>

enum {
	/* After this number of LOST messages in a row, without a chunk in between: */
	LOST_MAX = 3,        /* the link is a bad one */
	LOST_SERVER_MAX = 5, /* about the server itself: the node is cut out */
	RETRY_US = 300000,   /* after LOST, until the node is told its parent again */
};

static void take_messages(struct dolly_server *, struct peer *);

static void
refuse(struct dolly_server *s, struct peer *p, const char *why)
{
	struct msg m = { .type = MSG_REFUSE };

	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, why);
	peer_say(p, &m);
	server_hang_up(s, p);
}

static void
welcome(struct dolly_server *s, struct member *m)
{
	struct msg w = { .type = MSG_WELCOME,
		.version_lo = m->version,
		.id = m->id,
		.chunks = s->cfg.spread.chunks,
		.bytes = s->cfg.bytes,
		.content = s->cfg.content,
		.deadline_ms = (uint32_t)(s->cfg.deadline_us / 1000),
		.slow = s->cfg.slow };

	memcpy(w.key, m->key, sizeof w.key);
	memcpy(w.identity, s->cfg.identity, sizeof w.identity);
	peer_say(m->peer, &w);
}

/* Handles JOIN.  1: the peer is gone, or the owner says first whether it is served. */
static int
on_join(struct dolly_server *s, struct peer *p, const struct msg *m)
{
	struct server_joining *j = &s->joining;
	struct err e;

	if (m->version_lo > MSG_VERSION || m->version_hi < MSG_VERSION_OLDEST) {
		(void)err_set(&e, ERR_UNSUPPORTED,
		    "this server speaks versions %d to %d of the protocol",
		    MSG_VERSION_OLDEST, MSG_VERSION);
		refuse(s, p, e.text);
		return 1;
	}
	j->peer = p;
	j->port = m->port;
	j->version = m->version_hi < MSG_VERSION ? m->version_hi : MSG_VERSION;
	memcpy(j->name, m->text, sizeof j->name);
	server_wish(s, &(struct wish){ .kind = WISH_ADMIT, .peer = p });
	return 1;
}

/* The node gets its entry.  NULL with the error: there is none. */
static struct member *
enter(struct dolly_server *s, const struct dolly_server_guest *g, struct err *e)
{
	const struct server_joining *j = &s->joining;
	struct roster_guest guest = { .port = j->port, .spot = g->spot };

	memcpy(guest.address, j->peer->address, sizeof guest.address);
	struct member *m = roster_add(&s->roster, &guest, e);
	if (m == NULL)
		return NULL;
	m->version = j->version;
	m->digests = 0;
	m->heard_us = s->now_us;
	server_note_busy(s, m);
	m->peer = j->peer;
	memcpy(m->name, j->name, sizeof m->name);
	memcpy(m->key, g->key, sizeof m->key);
	return m;
}

void
dolly_server_admit(struct dolly_server *s, const struct dolly_server_guest *g)
{
	struct peer *p = s->joining.peer;
	struct err e;

	if (g->refused != NULL) {
		refuse(s, p, g->refused);
		return;
	}
	struct member *m = enter(s, g, &e);
	if (m == NULL) {
		refuse(s, p, e.text);
		return;
	}
	p->kind = PEER_NODE;
	p->id = m->id;
	welcome(s, m);
	if (m->version >= MSG_VERSION_REPORTS)
		server_tell(s, m, "joined");
	else
		server_be_leaf(s, m);
	server_check_begin(s);
	if (m->peer != NULL)
		take_messages(s, p);
}

static int
on_hello(struct dolly_server *s, struct peer *p, const struct msg *h)
{
	const struct member *m = roster_find(&s->roster, h->id);

	if (m == NULL || m->state != MEMBER_TAKES || m->parent != NULL ||
	    memcmp(h->key, s->cfg.key, sizeof h->key) != 0) {
		server_hang_up(s, p);
		return 1;
	}
	server_drop_child(s, h->id);
	p->kind = PEER_CHILD;
	p->id = h->id;
	p->child = spread_join(s->spread, h->id, p);
	if (p->child != NULL && m->leaf)
		spread_set_leaf(p->child);
	if (p->child != NULL)
		return 0;
	server_hang_up(s, p);
	return 1;
}

static int
on_want(struct dolly_server *s, struct peer *p, const struct msg *m)
{
	if (m->nranges == 0)
		spread_excuse(p->child);
	for (unsigned i = 0; i < m->nranges; i++) {
		const struct msg_range *g = &m->ranges[i];
		for (uint32_t c = g->first;
		     c < g->first + g->count && c < s->cfg.spread.chunks; c++)
			(void)spread_want(s->spread, p->child, c);
	}
	server_read_more(s);
	return 0;
}

static void
on_lost(struct dolly_server *s, struct member *m, const struct msg *l)
{
	struct member *before = m->parent;
	uint32_t parent = before != NULL ? before->id : 0;

	if (m->state != MEMBER_TAKES || l->id != parent)
		return;
	m->lost++;
	m->retry_us = s->now_us + RETRY_US;
	if (parent == 0 && m->lost >= LOST_SERVER_MAX) {
		char why[MSG_TEXT_MAX + 1];
		snprintf(why, sizeof why, "cannot get chunks: %.150s", l->text);
		server_cut(s, m, why);
	} else if (parent != 0 && m->lost >= LOST_MAX)
		server_part(s, before, m);
}

static int
on_progress(struct dolly_server *s, struct member *m, const struct msg *p)
{
	uint32_t have = p->have < s->cfg.spread.chunks ? p->have : s->cfg.spread.chunks;

	if (have > m->have)
		m->lost = 0; /* its parent was reached since */
	m->have = have;
	return 0;
}

/* What a node says of its links: each is that of a child to its parent. */
static int
on_report(struct dolly_server *s, struct member *m, const struct msg *r)
{
	for (unsigned i = 0; i < r->nlinks; i++) {
		const struct msg_link *l = &r->links[i];
		struct member *other = roster_find(&s->roster, l->id);
		if (m->state == MEMBER_TAKES && l->up && other == m->parent)
			judge_hear(m, l, s->now_us);
		else if (!l->up && other != NULL && other->parent == m)
			judge_hear(other, l, s->now_us);
		else if (!l->up) /* it came after it was dropped */
			peer_say(m->peer, &(struct msg){ .type = MSG_DROP, .id = l->id });
	}
	return 0;
}

/* Handles a message of a node that has joined.  1: the peer is gone. */
static int
on_node(struct dolly_server *s, struct peer *p, const struct msg *m)
{
	struct member *n = roster_find(&s->roster, p->id);

	n->heard_us = s->now_us;
	n->aside = false;
	switch (m->type) {
	case MSG_PROGRESS:
		return on_progress(s, n, m);
	case MSG_REPORT:
		return on_report(s, n, m);
	case MSG_LOST:
		on_lost(s, n, m);
		return n->peer == NULL;
	case MSG_WANT:
		server_hear_want(s, n, m);
		return n->peer == NULL;
	case MSG_WHOLE:
		n->whole = true;
		n->have = s->cfg.spread.chunks;
		server_settle(s, n);
		return n->peer == NULL;
	case MSG_FAILED:
		server_cut(s, n, m->text);
		return 1;
	default:
		server_cut(s, n, "it sent a message that is not for servers");
		return 1;
	}
}

/* Handles any message.  1: no other one is handled now: on_join(), or the peer is gone. */
static int
on_message(struct dolly_server *s, struct peer *p, const struct msg *m)
{
	if (p->kind == PEER_NODE)
		return on_node(s, p, m);
	if (p->kind == PEER_NEW && m->type == MSG_JOIN)
		return on_join(s, p, m);
	if (p->kind == PEER_NEW && m->type == MSG_HELLO)
		return on_hello(s, p, m);
	if (p->kind == PEER_CHILD && m->type == MSG_WANT)
		return on_want(s, p, m);
	server_hang_up(s, p);
	return 1;
}

/* Handles the messages of a peer that have come. */
static void
take_messages(struct dolly_server *s, struct peer *p)
{
	struct msg m;
	struct err e;
	int rc;

	while ((rc = peer_next(p, &m, &e)) == 1)
		if (on_message(s, p, &m) != 0)
			return;
	if (rc < 0)
		dolly_server_closed(s, p, e.text);
}

void
dolly_server_input(struct dolly_server *s, struct peer *p, const void *bytes, size_t n)
{
	struct err e;

	if (peer_put(p, bytes, n, &e) != 0)
		dolly_server_closed(s, p, e.text);
	else
		take_messages(s, p);
}

void
dolly_server_closed(struct dolly_server *s, struct peer *p, const char *why)
{
	struct member *m = p->kind == PEER_NODE ? roster_find(&s->roster, p->id) : NULL;
	char text[MSG_TEXT_MAX + 1];

	server_hang_up(s, p);
	if (m == NULL)
		return;
	snprintf(text, sizeof text, "its connection ended: %.150s", why);
	server_cut(s, m, text);
}
