/* server_suspects.c: what becomes of the ends of a link that is bad (server_impl.h, judge.h).
 * Called by the other parts of the server, in the engine's thread. */
#include "dolly/engine/server_impl.h"

#include <stdio.h>

static void acquit_some(struct dolly_server *);

static void
count_suspect(struct server_suspects *x)
{
	x->n++;
}

/* A suspect gets its chunks where nobody depends on it. */
static void
demote(struct dolly_server *s, struct member *m)
{
	m->judge.suspect = true;
	count_suspect(&s->suspects);
	server_leave_tree(s, m);
	m->state = MEMBER_WAITS;
	if (m->judge.spoils)
		snprintf(m->why, sizeof m->why,
		    "chunks that it has sent were damaged: its memory or its disk");
	server_tell(s, m,
	    m->judge.spoils ? "chunks that it has sent were damaged: its memory or its disk; "
			      "nobody gets chunks from it any more"
			    : "it holds up others: nobody gets chunks from it any more");
	acquit_some(s);
	server_place_leaves(s);
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
		server_leave_tree(s, m);
		m->state = MEMBER_WAITS;
		if (!m->aside && !m->whole)
			server_place_cleared(s, m);
		server_tell(s, m, "those who have spoken against it are the cause themselves");
	}
}

/* The child gets the place of its parent, which goes to the end.  NULL: the server does
 * not. */
static void
change_places(struct dolly_server *s, struct member *p, struct member *c)
{
	server_drop_at_parent(s, p);
	struct member *above = p->parent;
	roster_take_out(&s->roster, p);
	roster_place_at(&s->roster, c, above);
	server_is_placed(s, c);
	(void)server_place(s, p, NULL);
	server_settle(s, p);
}

/* Nobody knows which end of a link is the cause: the child gets another parent. */
static void
separate(struct dolly_server *s, struct member *p, struct member *c)
{
	if (p == NULL) {
		if (c->child == NULL)
			return;
		server_leave_tree(s, c);
		(void)server_place(s, c, NULL);
		server_settle(s, c); /* its children are elsewhere now */
		return;
	}
	server_drop_at_parent(s, c);
	roster_take_out(&s->roster, c);
	if (!server_place(s, c, p))
		change_places(s, p, c);
	server_settle(s, p);
}

/* A suspect gets all the time: nobody waits for it. */
static struct judge_rule
rule_of(const struct dolly_server *s, const struct member *m)
{
	return (struct judge_rule){ s->now_us,
		m->leaf ? s->cfg.deadline_us : s->cfg.deadline_us / 2, s->cfg.slow };
}

/* A leaf takes too little from a second parent, or from the server; or it gets another
 * parent. */
static void
leaf_is_slow(struct dolly_server *s, struct member *m)
{
	const struct judge_rule rule = rule_of(s, m);

	if (m->parent == NULL || judge_leaf(m, &rule)) {
		server_cut(s, m, m->judge.damaged > 0
		        ? "chunks that others have sent on arrive damaged: its memory or its disk"
		        : "as a leaf it has taken too little from each of its parents");
		return;
	}
	server_leave_tree(s, m);
	m->state = MEMBER_WAITS;
	server_place_leaves(s);
}

/* The link between a parent (NULL: the server) and its child is bad. */
void
server_part(struct dolly_server *s, struct member *p, struct member *c)
{
	if (c->leaf) {
		leaf_is_slow(s, c);
		return;
	}
	judge_word(&s->roster, &c->judge, p != NULL ? p->id : 0);
	if (p != NULL && !c->judge.certain)
		judge_word(&s->roster, &p->judge, c->id);
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
	server_tell(s, p, what);
}

void
server_judge(struct dolly_server *s, struct member *m)
{
	const struct judge_rule rule = rule_of(s, m);
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
	server_part(s, p, m);
}

/* A node of an older version does not say what it measures, so nobody is to depend on it. */
void
server_be_leaf(struct dolly_server *s, struct member *m)
{
	m->judge.suspect = m->judge.certain = true;
	count_suspect(&s->suspects);
	server_tell(s, m, "joined; it measures nothing, since it speaks an older version of "
			 "the protocol: nobody gets chunks from it");
}
