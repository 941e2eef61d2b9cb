/* node_children.c: nodes that get chunks from this one (node_impl.h).  Called by the other
 * parts of the node, in the engine's thread. */
#include "dolly/engine/node_impl.h"

#include <stdio.h>

enum { LATE_ASKS = 128 }; /* chunks asked for at a time that a child did not take before */

static struct spread_child *
find(const struct node *n, uint32_t id)
{
	return n->spread != NULL ? spread_find_child(n->spread, id) : NULL;
}

static void
hang_up_child(struct node *n, uint32_t id)
{
	struct spread_child *c = find(n, id);

	if (c != NULL)
		node_hang_up(n, c->owner);
}

/* Is this child one for which nobody waits?  With `forget` it is not any more. */
static bool
is_leaf(struct node *n, uint32_t id, bool forget)
{
	struct node_children *k = &n->children;

	for (unsigned i = 0; i < NODE_LEAVES; i++)
		if (k->leaves[i] == id) {
			k->leaves[i] = forget ? 0 : id;
			return true;
		}
	return false;
}

void
node_drop_child(struct node *n, uint32_t id)
{
	(void)is_leaf(n, id, true);
	hang_up_child(n, id);
}

void
node_hear_leaf(struct node *n, uint32_t id)
{
	struct node_children *k = &n->children;
	struct spread_child *c = find(n, id);

	if (c != NULL)
		spread_set_leaf(c);
	if (id != 0 && !is_leaf(n, id, false))
		k->leaves[k->next_leaf++ % NODE_LEAVES] = id;
}

void
node_leave_children(struct node *n)
{
	struct spread_child *c;

	while ((c = spread_children(n->spread)) != NULL)
		node_hang_up(n, c->owner);
}

/* Somebody takes this node for a server, perhaps a node that this one takes for its
 * server. */
static int
refuse_join(struct peer *p, struct err *e)
{
	struct msg refuse = { .type = MSG_REFUSE };

	snprintf(refuse.text, sizeof refuse.text,
	    "this is a node, and no server: join the server that it has joined");
	peer_say(p, &refuse);
	return err_set(e, ERR_REFUSED, "a node that has joined a node");
}

/* A new connection must present the key.  When a child connects again, its old connection
 * is closed. */
int
node_hear_hello(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	if (m->type == MSG_JOIN)
		return refuse_join(p, e);
	if (m->type != MSG_HELLO || n->spread == NULL ||
	    memcmp(m->key, n->server.key, MSG_KEY_BYTES) != 0)
		return err_set(e, ERR_REFUSED, "a stranger");
	hang_up_child(n, m->id);
	p->child = spread_join(n->spread, m->id, p);
	if (p->child == NULL)
		return err_nomem(e, "a child");
	if (m->id != 0 && is_leaf(n, m->id, false))
		spread_set_leaf(p->child);
	p->kind = PEER_CHILD;
	p->id = m->id;
	return 0;
}

/* A child wants a chunk.  What a leaf wants is asked for when nobody else wants anything. */
static void
want(struct node *n, struct spread_child *c, uint32_t chunk)
{
	if (!spread_want(n->spread, c, chunk) && !c->leaf)
		node_ask_for(n, chunk);
}

int
node_hear_child(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	if (m->type != MSG_WANT)
		return err_set(
		    e, ERR_FORMAT, "a child sent a message that is not for parents");
	if (m->nranges == 0)
		spread_excuse(p->child);
	for (unsigned i = 0; i < m->nranges; i++) {
		const struct msg_range *g = &m->ranges[i];
		for (uint32_t c = g->first; c < g->first + g->count; c++) {
			if (c >= n->server.image.chunks)
				return err_set(e, ERR_FORMAT,
				    "a child wants chunk %u, which does not exist", c);
			want(n, p->child, c);
		}
	}
	return 0;
}

void
node_sent(struct node *n, struct peer *p, size_t bytes)
{
	struct node_children *k = &n->children;

	if (p->child != NULL && spread_in_frame(p->child))
		k->forwarded += bytes;
	peer_sent(p, n->spread, bytes);
}

void
node_ask_for_late(struct node *n)
{
	const struct chunkmap *asked = &n->asking.asked;
	bool idle = n->putting.lacks.count == 0 && asked->count == 0;

	for (struct spread_child *c = spread_children(n->spread); c != NULL; c = c->next) {
		unsigned asks = 0;
		if (c->leaf ? !idle : c->late)
			continue;
		for (uint32_t k = chunkmap_next(&c->wants, 0);
		     k != CHUNKMAP_NONE && asks < LATE_ASKS;
		     k = chunkmap_next(&c->wants, k + 1))
			if (!chunkmap_has(asked, k)) {
				node_ask_for(n, k);
				asks++;
			}
	}
}
