/* server.c: what the server does with messages and time (server.h).  Called by the
 * thread of dolly/net, and by the simulator. */
#include "dolly/engine/server.h"

#include <stdio.h>

enum {
	READ_AHEAD = 4,      /* chunks that are being read at a time */
	/* After this number of LOST messages in a row, without a chunk in between: */
	LOST_MAX = 3,        /* the link is a bad one */
	LOST_SERVER_MAX = 5, /* about the server itself: the node is cut out */
	RETRY_US = 300000,   /* after LOST, until the node is told its parent again */
	/* A node is set aside when it has been silent for a part of the deadline.  It speaks ten
	 * times a second, so that a second without a word is more than a late message. */
	ASIDE_PART = 5,
	ASIDE_MIN_US = 1000000,
	/* Each time that a node is set aside, this time doubles for it, up to four times. */
	ASIDE_DOUBLINGS = 4,
	TRIES = 4, /* suspects without a place, after which the others have none either */
};

struct dolly_server {
	struct dolly_server_config cfg;
	struct roster roster;
	struct spread *spread;
	uint8_t key[MSG_KEY_BYTES];
	uint64_t now_us, made_us, busy_us; /* busy_us: when a node last waited or took chunks */
	bool busy;                         /* a node waits or takes chunks now */
	uint32_t cursor;  /* the search for the next wanted chunk begins here */
	uint32_t reading; /* chunks that are being read */
	uint64_t sent;    /* bytes, to all peers */
	unsigned suspects; /* that there have been */
	bool begun;       /* the first nodes have their places */
	struct err failure;
};

static void settle(struct dolly_server *, struct member *);
static void let_go(struct dolly_server *, struct member *);
static bool place(struct dolly_server *, struct member *, const struct member *avoid);
static void cut(struct dolly_server *, struct member *, const char *why);
static void acquit_some(struct dolly_server *);

static void
tell_event(struct dolly_server *s, const struct member *m, const char *what)
{
	if (s->cfg.ops->event != NULL)
		s->cfg.ops->event(s->cfg.arg, m, what);
}

static void
hang_up(struct dolly_server *s, struct peer *p)
{
	struct member *m = p->kind == PEER_NODE ? roster_find(&s->roster, p->id) : NULL;

	if (p->child != NULL)
		spread_leave(s->spread, p->child);
	p->child = NULL;
	p->open = false;
	s->cfg.ops->close(s->cfg.arg, p);
	if (m != NULL)
		m->peer = NULL;
	peer_free(p);
}

int
dolly_server_new(struct dolly_server **out, const struct dolly_server_config *cfg,
    uint64_t now_us, struct err *e)
{
	struct dolly_server *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a server");
	s->cfg = *cfg;
	s->roster.arity = cfg->arity;
	s->roster.rack = cfg->rack;
	s->now_us = s->made_us = s->busy_us = now_us;
	cfg->ops->random(cfg->arg, s->key, sizeof s->key);
	if (spread_new(&s->spread, &cfg->spread, e) != 0) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
dolly_server_free(struct dolly_server *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->roster.n; i++)
		peer_free(s->roster.members[i]->peer);
	for (struct spread_child *c = spread_children(s->spread); c != NULL;
	     c = c->next)
		peer_free(c->owner);
	roster_free(&s->roster);
	spread_free(s->spread);
	free(s);
}

struct peer *
dolly_server_accept(struct dolly_server *s, const uint8_t address[4])
{
	(void)s;
	return peer_new(PEER_NEW, address);
}

/* --- reading --- */

/* Whoever lacks the first chunk can mostly install no other one, and shall not wait for
 * it until all others were read. */
static uint32_t
next_chunk(const struct dolly_server *s, bool leaves)
{
	uint32_t first = spread_next_wanted(s->spread, 0, leaves);

	return first == 0 ? 0 : spread_next_wanted(s->spread, s->cursor, leaves);
}

static void
read_more(struct dolly_server *s)
{
	while (s->begun && s->reading < READ_AHEAD && s->failure.kind == ERR_NONE) {
		/* A leaf does not take the place of another leaf's chunks. */
		bool room = spread_room(s->spread);
		uint32_t c = next_chunk(s, room);
		if (c == SPREAD_NONE || (!room && !spread_make_room(s->spread)))
			return;
		uint32_t slot = spread_begin(s->spread, c, s->cfg.spread.chunk_bytes);
		s->cursor = c > 0 ? c + 1 : s->cursor;
		s->reading++;
		s->cfg.ops->read(s->cfg.arg, slot, c, spread_bytes(s->spread, slot));
	}
}

void
dolly_server_read(
    struct dolly_server *s, uint32_t slot, uint32_t length, const struct err *e)
{
	s->reading--;
	if (e != NULL) {
		s->failure = *e;
		dolly_server_stop(s, e->text);
		return;
	}
	spread_set_length(s->spread, slot, length);
	(void)spread_arrived(s->spread, slot, length);
	read_more(s);
}

/* --- places --- */

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

static void
say_parent(struct dolly_server *s, struct member *m)
{
	struct msg p = { .type = MSG_PARENT };

	m->retry_us = 0;
	judge_new_link(&m->judge);
	if (m->peer == NULL)
		return;
	if (m->leaf)
		say_leaf(s, m);
	if (m->parent == NULL) {
		memcpy(p.key, s->key, sizeof p.key);
	} else {
		p.id = m->parent->id;
		p.port = m->parent->port;
		memcpy(p.address, m->parent->address, sizeof p.address);
		memcpy(p.key, m->parent->key, sizeof p.key);
	}
	peer_say(m->peer, &p);
}

static void
drop_child(struct dolly_server *s, uint32_t id)
{
	struct spread_child *c = spread_find_child(s->spread, id);

	if (c != NULL)
		hang_up(s, c->owner);
}

static void
drop_at_parent(struct dolly_server *s, struct member *m)
{
	if (m->parent != NULL) {
		if (m->parent->peer != NULL)
			peer_say(m->parent->peer,
			    &(struct msg){ .type = MSG_DROP, .id = m->id });
		return;
	}
	drop_child(s, m->id);
}

/* Takes a member out of the tree, and gives its children other parents. */
static void
leave_tree(struct dolly_server *s, struct member *m)
{
	struct member *parent = m->parent, *c;

	if (m->state != MEMBER_TAKES)
		return;
	drop_at_parent(s, m);
	roster_take_out(&s->roster, m);
	while ((c = roster_orphan(m)) != NULL)
		(void)place(s, c, NULL);
	settle(s, parent);
}

/* --- suspects --- */

/* The member has got its place. */
static void
is_placed(struct dolly_server *s, struct member *m)
{
	if (m->state == MEMBER_WAITS)
		m->heard_us = s->now_us;
	m->lost = 0;
	say_parent(s, m);
}

/* Gives suspects that wait a place as leaves. */
static void
place_leaves(struct dolly_server *s)
{
	unsigned without = 0;

	for (size_t i = 0; s->suspects > 0 && i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state != MEMBER_WAITS || !m->judge.suspect || m->aside || !s->begun)
			continue;
		m->heard_us = s->now_us;
		if (m->whole)
			let_go(s, m);
		else if (roster_place_leaf(&s->roster, m))
			is_placed(s, m);
		else if (++without == TRIES)
			return;
	}
}

/* Gives a member a place, if there is one without this parent.  A leaf may have to go
 * from it. */
static bool
place(struct dolly_server *s, struct member *m, const struct member *avoid)
{
	uint64_t heard_us = m->state == MEMBER_WAITS ? s->now_us : m->heard_us;
	struct member *leaf;

	if (m->judge.suspect) {
		m->state = MEMBER_WAITS; /* place_leaves() */
		return true;
	}
	if (!roster_place(&s->roster, m, avoid))
		return false;
	m->heard_us = heard_us;
	is_placed(s, m);
	if ((leaf = roster_leaf_too_many(&s->roster, m->parent)) != NULL) {
		leave_tree(s, leaf);
		leaf->state = MEMBER_WAITS;
	}
	return true;
}

/* A suspect gets its chunks where nobody depends on it. */
static void
demote(struct dolly_server *s, struct member *m)
{
	m->judge.suspect = true;
	s->suspects++;
	leave_tree(s, m);
	m->state = MEMBER_WAITS;
	if (m->judge.spoils)
		snprintf(m->why, sizeof m->why,
		    "chunks that it has sent were damaged: its memory or its disk");
	tell_event(s, m,
	    m->judge.spoils ? "chunks that it has sent were damaged: its memory or its disk; "
			      "nobody gets chunks from it any more"
			    : "it holds up others: nobody gets chunks from it any more");
	acquit_some(s);
	place_leaves(s);
}

/* The words of a node that has become a suspect do not count any more: others may be none
 * now. */
static void
acquit_some(struct dolly_server *s)
{
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state == MEMBER_OUT || !judge_is_cleared(&s->roster, m))
			continue;
		judge_acquit(&m->judge);
		m->why[0] = '\0';
		if (m->state == MEMBER_LEFT)
			continue;
		leave_tree(s, m);
		m->state = MEMBER_WAITS;
		tell_event(s, m, "those who have spoken against it are the cause themselves");
	}
}

/* The child gets the place of its parent, which goes to the end.  NULL: the server does
 * not. */
static void
change_places(struct dolly_server *s, struct member *p, struct member *c)
{
	drop_at_parent(s, p);
	struct member *above = p->parent;
	roster_take_out(&s->roster, p);
	roster_place_at(&s->roster, c, above);
	is_placed(s, c);
	(void)place(s, p, NULL);
	settle(s, p);
}

/* Nobody knows which end of a link is the cause: the child gets another parent. */
static void
separate(struct dolly_server *s, struct member *p, struct member *c)
{
	if (p == NULL) {
		if (c->child == NULL)
			return;
		leave_tree(s, c);
		(void)place(s, c, NULL);
		return;
	}
	drop_at_parent(s, c);
	roster_take_out(&s->roster, c);
	if (!place(s, c, p))
		change_places(s, p, c);
	settle(s, p);
}

/* A leaf takes too little from a second parent, or from the server; or it gets another
 * parent. */
static void
leaf_is_slow(struct dolly_server *s, struct member *m)
{
	struct judge *j = &m->judge;
	uint32_t by = m->parent != NULL ? m->parent->id : 0;

	if (m->parent == NULL || (j->as_leaf != 0 && j->as_leaf != by + 1)) {
		cut(s, m, j->damaged > 0
		        ? "chunks that others have sent on arrive damaged: its memory or its disk"
		        : "as a leaf it has taken too little from each of its parents");
		return;
	}
	j->as_leaf = by + 1;
	leave_tree(s, m);
	m->state = MEMBER_WAITS;
	place_leaves(s);
}

/* The link between a parent (NULL: the server) and its child is bad. */
static void
part(struct dolly_server *s, struct member *p, struct member *c)
{
	if (c->leaf) {
		leaf_is_slow(s, c);
		return;
	}
	judge_word(&c->judge, p != NULL ? p->id : 0);
	if (p != NULL)
		judge_word(&p->judge, c->id);
	if (p != NULL)
		p->judge.held_us = s->now_us;
	bool both = true;
	if (p != NULL && judge_suspects(&s->roster, p)) {
		demote(s, p);
		both = false;
	}
	if (c->state == MEMBER_TAKES && judge_suspects(&s->roster, c)) {
		demote(s, c);
		both = false;
	}
	if (both)
		separate(s, p, c);
}

static void
tell_damage(struct dolly_server *s, struct member *p, const struct member *c)
{
	char what[MSG_TEXT_MAX + 64];

	p->judge.spoils = true;
	snprintf(what, sizeof what, "chunks that it has sent to %s were damaged", c->name);
	tell_event(s, p, what);
}

static void
judge(struct dolly_server *s, struct member *m)
{
	/* A suspect gets all the time: nobody waits for it. */
	const struct judge_rule rule = { s->now_us,
		m->leaf ? s->cfg.deadline_us : s->cfg.deadline_us / 2, s->cfg.slow };
	struct member *p = m->parent;
	enum judge_verdict v;

	if (m->state != MEMBER_TAKES)
		return;
	v = judge_link(m, &rule);
	if (v == JUDGE_FINE)
		return;
	if (v == JUDGE_DAMAGES && !m->leaf)
		tell_damage(s, p, m);
	m->judge.certain |= v == JUDGE_ADMITS ||
		(p == NULL && judge_serves_others(s->roster.child, m, &rule));
	part(s, p, m);
}

/* Takes a silent node out of the tree, so that it holds nobody up, but keeps its
 * connection.  It gets a place again when it is heard, and is cut out at the deadline. */
static void
set_aside(struct dolly_server *s, struct member *m)
{
	leave_tree(s, m);
	m->state = MEMBER_WAITS;
	m->aside = true;
	m->asides++;
	tell_event(s, m, "silent: the nodes behind it get another parent");
}

static uint64_t
aside_us(const struct dolly_server *s, const struct member *m)
{
	uint64_t us = s->cfg.deadline_us / ASIDE_PART;
	unsigned doublings = m->asides < ASIDE_DOUBLINGS ? m->asides : ASIDE_DOUBLINGS;

	return (us > ASIDE_MIN_US ? us : ASIDE_MIN_US) << doublings;
}

static void
say_end(struct dolly_server *s, struct member *m)
{
	if (m->peer == NULL)
		return;
	peer_say(m->peer, &(struct msg){ .type = MSG_END });
	hang_up(s, m->peer);
}

/* A node that is whole goes; those behind it get another parent. */
static void
let_go(struct dolly_server *s, struct member *m)
{
	leave_tree(s, m);
	say_end(s, m);
	m->state = MEMBER_LEFT;
	tell_event(s, m, "whole");
}

/* Cuts a node out.  One that is whole has nothing to lose, and only goes. */
static void
cut(struct dolly_server *s, struct member *m, const char *why)
{
	struct msg refuse = { .type = MSG_REFUSE };

	if (m->state == MEMBER_OUT || m->state == MEMBER_LEFT)
		return;
	if (m->whole) {
		let_go(s, m);
		return;
	}
	snprintf(m->why, sizeof m->why, "%s", why);
	leave_tree(s, m);
	m->state = MEMBER_OUT;
	tell_event(s, m, m->why);
	if (m->peer != NULL) {
		snprintf(refuse.text, sizeof refuse.text, "%s", m->why);
		peer_say(m->peer, &refuse);
		hang_up(s, m->peer);
	}
}

/* A node that is whole before it gets a place needs none. */
static void
let_go_whole(struct dolly_server *s)
{
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state == MEMBER_WAITS && m->whole)
			let_go(s, m);
	}
}

/* A node that is whole and has no children may go, and its parent may be the next one.
 * NULL is allowed.  In a loop: a recursion would be as deep as a chain is long. */
static void
settle(struct dolly_server *s, struct member *m)
{
	place_leaves(s);
	while (m != NULL && m->whole && m->child == NULL && m->state == MEMBER_TAKES) {
		struct member *parent = m->parent;
		say_end(s, m);
		drop_at_parent(s, m);
		roster_take_out(&s->roster, m);
		m->state = MEMBER_LEFT;
		tell_event(s, m, "whole");
		m = parent;
	}
}

/* --- the beginning --- */

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
	s->begun = true;
	let_go_whole(s);
	if (roster_place_all(&s->roster, &s->failure) != 0) {
		dolly_server_stop(s, s->failure.text);
		return;
	}
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		m->heard_us = s->now_us;
		if (m->state == MEMBER_TAKES)
			say_parent(s, m);
	}
	place_leaves(s);
	read_more(s);
}

/* Gives places to nodes that join when others have their places, or that were set aside. */
static void
place_late(struct dolly_server *s)
{
	let_go_whole(s);
	for (size_t i = 0; i < s->roster.n; i++)
		if (waits_for_place(s->roster.members[i]))
			(void)place(s, s->roster.members[i], NULL);
	place_leaves(s);
	read_more(s);
}

static void
check_begin(struct dolly_server *s)
{
	bool late = s->cfg.start_us > 0 && s->now_us - s->made_us >= s->cfg.start_us;
	uint32_t n = waiting(s);

	if (s->begun && n > 0)
		place_late(s);
	else if (!s->begun && (n >= s->cfg.nodes || late))
		begin(s);
}

/* --- messages --- */

static void
refuse(struct dolly_server *s, struct peer *p, const char *why)
{
	struct msg m = { .type = MSG_REFUSE };

	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, why);
	peer_say(p, &m);
	hang_up(s, p);
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

/* A node of an older version does not say what it measures, so nobody is to depend on it. */
static void
be_leaf(struct dolly_server *s, struct member *m)
{
	m->judge.suspect = m->judge.certain = true;
	s->suspects++;
	tell_event(s, m, "joined; it measures nothing, since it speaks an older version of "
			 "the protocol: nobody gets chunks from it");
}

/* Handles JOIN.  1: the peer is gone. */
static int
on_join(struct dolly_server *s, struct peer *p, const struct msg *j)
{
	struct roster_guest guest = { .port = j->port,
		.spot = { s->roster.joined, ROSTER_NO_RACK, ROSTER_NOT_LISTED } };
	struct err e;

	if (j->version_lo > MSG_VERSION || j->version_hi < MSG_VERSION_OLDEST) {
		(void)err_set(&e, ERR_UNSUPPORTED,
		    "this server speaks versions %d to %d of the protocol",
		    MSG_VERSION_OLDEST, MSG_VERSION);
		refuse(s, p, e.text);
		return 1;
	}
	const char *why = s->cfg.ops->spot != NULL
	    ? s->cfg.ops->spot(s->cfg.arg, p->address, &guest.spot)
	    : NULL;
	if (why != NULL) {
		refuse(s, p, why);
		return 1;
	}
	memcpy(guest.address, p->address, sizeof guest.address);
	struct member *m = roster_add(&s->roster, &guest, &e);
	if (m == NULL) {
		refuse(s, p, e.text);
		return 1;
	}
	m->version = j->version_hi < MSG_VERSION ? j->version_hi : MSG_VERSION;
	m->heard_us = s->busy_us = s->now_us;
	s->busy = true;
	m->peer = p;
	memcpy(m->name, j->text, sizeof m->name);
	s->cfg.ops->random(s->cfg.arg, m->key, sizeof m->key);
	p->kind = PEER_NODE;
	p->id = m->id;
	welcome(s, m);
	if (m->version >= MSG_VERSION_REPORTS)
		tell_event(s, m, "joined");
	else
		be_leaf(s, m);
	check_begin(s);
	return m->peer == NULL;
}

static int
on_hello(struct dolly_server *s, struct peer *p, const struct msg *h)
{
	const struct member *m = roster_find(&s->roster, h->id);

	if (m == NULL || m->state != MEMBER_TAKES || m->parent != NULL ||
	    memcmp(h->key, s->key, sizeof s->key) != 0) {
		hang_up(s, p);
		return 1;
	}
	drop_child(s, h->id);
	p->kind = PEER_CHILD;
	p->id = h->id;
	p->child = spread_join(s->spread, h->id, p);
	if (p->child != NULL && m->leaf)
		spread_set_leaf(p->child);
	if (p->child != NULL)
		return 0;
	hang_up(s, p);
	return 1;
}

static int
on_want(struct dolly_server *s, struct peer *p, const struct msg *m)
{
	for (unsigned i = 0; i < m->nranges; i++) {
		const struct msg_range *g = &m->ranges[i];
		for (uint32_t c = g->first;
		     c < g->first + g->count && c < s->cfg.spread.chunks; c++)
			(void)spread_want(s->spread, p->child, c);
	}
	read_more(s);
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
		cut(s, m, why);
	} else if (parent != 0 && m->lost >= LOST_MAX)
		part(s, before, m);
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
	case MSG_WHOLE:
		n->whole = true;
		n->have = s->cfg.spread.chunks;
		settle(s, n);
		return n->peer == NULL;
	case MSG_FAILED:
		cut(s, n, m->text);
		return 1;
	default:
		cut(s, n, "it sent a message that is not for servers");
		return 1;
	}
}

/* Handles any message.  1: the peer is gone. */
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
	hang_up(s, p);
	return 1;
}

void
dolly_server_bytes(struct dolly_server *s, struct peer *p, const void *bytes, size_t n)
{
	struct msg m;
	struct err e;
	int rc = peer_put(p, bytes, n, &e);

	if (rc == 0)
		while ((rc = peer_next(p, &m, &e)) == 1)
			if (on_message(s, p, &m) != 0)
				return;
	if (rc < 0)
		dolly_server_closed(s, p, e.text);
}

bool
dolly_server_reads(const struct dolly_server *s, const struct peer *p)
{
	(void)s;
	return !peer_full(p);
}

void
dolly_server_closed(struct dolly_server *s, struct peer *p, const char *why)
{
	struct member *m = p->kind == PEER_NODE ? roster_find(&s->roster, p->id) : NULL;
	char text[MSG_TEXT_MAX + 1];

	hang_up(s, p);
	if (m == NULL)
		return;
	snprintf(text, sizeof text, "its connection ended: %.150s", why);
	cut(s, m, text);
}

size_t
dolly_server_output(struct dolly_server *s, struct peer *p, const void **at)
{
	return peer_output(p, s->spread, at);
}

void
dolly_server_sent(struct dolly_server *s, struct peer *p, size_t n)
{
	s->sent += n;
	peer_sent(p, s->spread, n);
}

void
dolly_server_resume(struct dolly_server *s)
{
	read_more(s);
}

static void
look_at(struct dolly_server *s, struct member *m)
{
	uint64_t silent_us = s->now_us - m->heard_us;

	if (m->state != MEMBER_TAKES && m->state != MEMBER_WAITS)
		return;
	s->busy_us = s->now_us;
	s->busy = true;
	/* A node that waits for its first place delays nobody, and has no deadline. */
	bool counts = m->state == MEMBER_TAKES || m->aside;
	if (counts && silent_us > s->cfg.deadline_us)
		cut(s, m, "it was silent for longer than --deadline");
	else if (m->state == MEMBER_TAKES && silent_us > aside_us(s, m))
		set_aside(s, m);
	else if (m->retry_us > 0 && m->retry_us <= s->now_us)
		say_parent(s, m);
}

/* What the server says of the links to its own children. */
static void
measure(struct dolly_server *s)
{
	spread_look(s->spread, s->now_us, s->cfg.deadline_us, s->cfg.slow);
	for (const struct spread_child *c = spread_children(s->spread); c != NULL;
	     c = c->next) {
		struct member *m = roster_find(&s->roster, c->id);
		if (m != NULL && m->state == MEMBER_TAKES && m->parent == NULL)
			judge_hear(m,
			    &(struct msg_link){ .bytes = c->bytes,
				.waited_ms = (uint32_t)(c->waited_us / 1000),
				.wanted = spread_wanted(c) },
			    s->now_us);
	}
}

void
dolly_server_tick(struct dolly_server *s, uint64_t now_us)
{
	s->now_us = now_us;
	s->busy = false;
	for (size_t i = 0; i < s->roster.n; i++)
		look_at(s, s->roster.members[i]);
	measure(s);
	for (size_t i = 0; i < s->roster.n; i++)
		judge(s, s->roster.members[i]);
	check_begin(s);
	read_more(s);
}

void
dolly_server_stop(struct dolly_server *s, const char *why)
{
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state == MEMBER_TAKES || m->state == MEMBER_WAITS)
			cut(s, m, why);
	}
}

int
dolly_server_over(const struct dolly_server *s, struct err *e)
{
	if (s->failure.kind != ERR_NONE) {
		*e = s->failure;
		return -1;
	}
	return s->begun && !s->busy && s->now_us - s->busy_us >= s->cfg.linger_us ? 1
	                                                                          : 0;
}

const struct roster *
dolly_server_roster(const struct dolly_server *s)
{
	return &s->roster;
}

bool
dolly_server_has_begun(const struct dolly_server *s)
{
	return s->begun;
}

uint64_t
dolly_server_bytes_sent(const struct dolly_server *s)
{
	return s->sent;
}
