/* node.c: a node begins, ends and counts (node.h); its parts are in node_impl.h.  Called by
 * the thread of dolly/net, and by the simulator. */
#include "dolly/engine/node_impl.h"

#include <stdio.h>

enum { ACT_US = 100000 }; /* a node tells its server ten times a second how far it is */

void
node_wish(struct node *n, const struct wish *w)
{
	struct err e;

	if (wishes_add(&n->wishes, w, &e) != 0)
		node_fail(n, &e);
}

bool
node_take_wish(struct node *n, struct wish *w)
{
	return wishes_take(&n->wishes, w);
}

void
node_hang_up(struct node *n, struct peer *p)
{
	if (p == NULL)
		return;
	if (p->child != NULL)
		spread_leave(n->spread, p->child);
	p->child = NULL;
	p->open = false;
	node_server_forget(n, p);
	node_parent_forget(n, p);
	node_wish(n, &(struct wish){ .kind = WISH_CLOSE, .peer = p });
}

void
node_fail(struct node *n, const struct err *e)
{
	struct msg m = { .type = MSG_FAILED };

	if (n->failure.kind != ERR_NONE || n->ended)
		return;
	n->failure = *e;
	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, e->text);
	node_tell_server(n, &m);
}

void
node_end(struct node *n)
{
	n->ended = true;
}

int
node_new(
    struct node **out, const struct node_config *cfg, uint64_t now_us, struct err *e)
{
	struct node *n = calloc(1, sizeof *n);

	if (n == NULL)
		return err_nomem(e, "a node");
	n->cfg = *cfg;
	n->now_us = n->act_us = now_us;
	if (node_dial_server(n, e) != 0) {
		node_free(n);
		return -1;
	}
	*out = n;
	return 0;
}

void
node_free(struct node *n)
{
	if (n == NULL)
		return;
	struct spread_child *c = n->spread != NULL ? spread_children(n->spread) : NULL;
	for (; c != NULL; c = c->next)
		peer_free(c->owner);
	wishes_free(&n->wishes);
	peer_free(n->server.peer);
	peer_free(n->parent.peer);
	spread_free(n->spread);
	node_free_putting(n);
	node_free_asking(n);
	node_free_digests(n);
	free(n->arrival.from);
	free(n);
}

int
node_prepare(struct node *n, const struct node_image *image, struct err *e)
{
	struct spread_config s = n->cfg.spread;

	s.chunks = image->chunks;
	if (spread_new(&n->spread, &s, e) != 0)
		return -1;
	if (!node_make_arrival(n, s.slots) || !node_make_asking(n, image->chunks) ||
	    !node_make_digests(n, image->chunks))
		return err_nomem(e, "the list of chunks");
	return node_open_target(n, image, e);
}

struct peer *
node_accept(struct node *n, const uint8_t address[4])
{
	(void)n;
	return peer_new(PEER_NEW, address);
}

bool
node_reads(const struct node *n, const struct peer *p)
{
	(void)n;
	return !peer_full(p);
}

size_t
node_output(struct node *n, struct peer *p, const void **at)
{
	return peer_output(p, n->spread, at);
}

uint64_t
node_deadline(const struct node *n)
{
	return n->act_us;
}

void
node_act(struct node *n, uint64_t now_us)
{
	struct err e;

	n->act_us = now_us + ACT_US;

	node_measure(n, now_us);
	n->now_us = now_us;
	if (n->server.away_us != 0)
		node_seek_server(n);
	if (n->spread == NULL || n->server.peer == NULL || n->server.away_us != 0)
		return;
	if (node_dial_parent(n, &e) != 0)
		node_fail(n, &e);
	node_ask_again(n);
	node_ask_for_late(n);
	node_flush_asks(n);
	node_check_whole(n); /* perhaps the server has to be asked for digests again */
	node_report(n);
	node_excuse_itself(n);
}

int
node_over(const struct node *n, struct err *e)
{
	if (n->failure.kind != ERR_NONE) {
		*e = n->failure;
		return -1;
	}
	return n->ended ? 1 : 0;
}

void
node_stats(const struct node *n, struct node_stats *s)
{
	*s = (struct node_stats){ .chunks = n->server.image.chunks,
		.have = n->putting.have - node_unsaid(n),
		.whole = n->putting.whole,
		.away = n->server.away_us != 0,
		.met = n->spread != NULL,
		.alone = n->server.alone,
		.received = n->arrival.bytes,
		.forwarded = n->children.forwarded,
		.parents = n->parent.parents,
		.damaged = n->putting.damaged };
}
