/* server.c: what the server does with time, and its other calls (server.h); its parts are in
 * server_impl.h.  Called by the thread of dolly/net, and by the simulator. */
#include "dolly/engine/server_impl.h"

#include <stdio.h>

enum {
	ACT_US = 100000, /* a node speaks ten times a second, so the server looks as often */

	/* A node is set aside when it has been silent for a part of the deadline.  It speaks ten
	 * times a second, so that a second without a word is more than a late message. */
	ASIDE_PART = 5,
	ASIDE_MIN_US = 1000000,
	/* Each time that a node is set aside, this time doubles for it, up to four times. */
	ASIDE_DOUBLINGS = 4,
};

void
server_wish(struct dolly_server *s, const struct wish *w)
{
	struct err e;

	if (wishes_add(&s->wishes, w, &e) != 0)
		s->failure = e;
}

bool
dolly_server_take_wish(struct dolly_server *s, struct wish *w)
{
	return wishes_take(&s->wishes, w);
}

void
server_tell(struct dolly_server *s, const struct member *m, const char *what)
{
	struct wish w = { .kind = WISH_TELL, .id = m->id };

	snprintf(w.text, sizeof w.text, "%s", what);
	server_wish(s, &w);
}

void
server_hang_up(struct dolly_server *s, struct peer *p)
{
	struct member *m = p->kind == PEER_NODE ? roster_find(&s->roster, p->id) : NULL;

	if (p->child != NULL)
		spread_leave(s->spread, p->child);
	p->child = NULL;
	p->open = false;
	if (m != NULL)
		m->peer = NULL;
	server_wish(s, &(struct wish){ .kind = WISH_CLOSE, .peer = p });
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
	s->now_us = s->made_us = s->busy_us = s->act_us = now_us;
	if (spread_new(&s->spread, &cfg->spread, e) != 0) {
		free(s);
		return -1;
	}
	if (!server_make_digests(s)) {
		dolly_server_free(s);
		return err_nomem(e, "the list of chunks");
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
	wishes_free(&s->wishes);
	roster_free(&s->roster);
	server_free_digests(s);
	spread_free(s->spread);
	free(s);
}

struct peer *
dolly_server_accept(struct dolly_server *s, const uint8_t address[4])
{
	(void)s;
	return peer_new(PEER_NEW, address);
}

size_t
dolly_server_room(struct dolly_server *s, struct peer *p, void **at)
{
	(void)s;
	*at = NULL;
	return peer_room(p);
}

bool
dolly_server_reads(const struct dolly_server *s, const struct peer *p)
{
	(void)s;
	return !peer_full(p);
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
	server_read_more(s);
}

static uint64_t
aside_us(const struct dolly_server *s, const struct member *m)
{
	uint64_t us = s->cfg.deadline_us / ASIDE_PART;
	unsigned doublings = m->asides < ASIDE_DOUBLINGS ? m->asides : ASIDE_DOUBLINGS;

	return (us > ASIDE_MIN_US ? us : ASIDE_MIN_US) << doublings;
}

static void
look_at(struct dolly_server *s, struct member *m)
{
	uint64_t silent_us = s->now_us - m->heard_us;

	if (m->state != MEMBER_TAKES && m->state != MEMBER_WAITS)
		return;
	server_note_busy(s, m);
	/* Until the first nodes get their places, nobody is delayed. */
	if (s->beginning.begun && silent_us > s->cfg.deadline_us)
		server_cut(s, m, "it was silent for longer than --deadline");
	else if (m->state == MEMBER_TAKES && silent_us > aside_us(s, m))
		server_set_aside(s, m);
	else if (m->retry_us > 0 && m->retry_us <= s->now_us)
		server_say_parent(s, m);
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

uint64_t
dolly_server_deadline(const struct dolly_server *s)
{
	return s->act_us;
}

void
dolly_server_act(struct dolly_server *s, uint64_t now_us)
{
	struct err e;

	s->now_us = now_us;
	s->act_us = now_us + ACT_US;
	s->busy = false;
	for (size_t i = 0; i < s->roster.n; i++)
		look_at(s, s->roster.members[i]);
	measure(s);
	for (size_t i = 0; i < s->roster.n; i++)
		server_judge(s, s->roster.members[i]);
	server_check_begin(s);
	(void)server_digests_are_due(s);
	server_say_digests(s);
	server_read_more(s);
	if (dolly_server_over(s, &e) == 1)
		dolly_server_stop(s, "it has come again and again, and has got no further");
}

void
dolly_server_stop(struct dolly_server *s, const char *why)
{
	for (size_t i = 0; i < s->roster.n; i++) {
		struct member *m = s->roster.members[i];
		if (m->state == MEMBER_TAKES || m->state == MEMBER_WAITS)
			server_cut(s, m, why);
	}
}

void
server_fail(struct dolly_server *s, const struct err *e)
{
	s->failure = *e;
	dolly_server_stop(s, e->text);
}

void
server_note_busy(struct dolly_server *s, const struct member *m)
{
	if (!roster_is_worth(m))
		return;
	s->busy_us = s->now_us;
	s->busy = true;
}

int
dolly_server_over(const struct dolly_server *s, struct err *e)
{
	if (s->failure.kind != ERR_NONE) {
		*e = s->failure;
		return -1;
	}
	return s->beginning.begun && !s->busy && s->now_us - s->busy_us >= s->cfg.linger_us ? 1
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
	return s->beginning.begun;
}

uint64_t
dolly_server_bytes_sent(const struct dolly_server *s)
{
	return s->sent;
}
