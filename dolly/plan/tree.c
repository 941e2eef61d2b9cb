/* tree.c: chains, trees and stars over the hosts of a network (tree.h).  Neighbours in the order
 * of hosts stay together, so that a link between switches carries as few streams as possible.
 * predict.c and draw.c call it, in the program's first thread. */
#include "dolly/plan/tree.h"

#include <stdlib.h>
#include <string.h>

/* Divides the nodes [from, to) among the children of `parent`: each child gets consecutive nodes,
 * is the first of them itself, and is an ancestor of the rest. */
static void
share_out(struct tree *t, size_t parent, size_t from, size_t to, unsigned arity)
{
	for (unsigned left = arity; from < to && left > 0; left--) {
		size_t piece = (to - from + left - 1) / left;
		t->parents[from] = (uint32_t)parent;
		share_out(t, from, from + 1, from + piece, arity);
		from += piece;
	}
}

/* A chain must not recurse: it may have ten thousand nodes. */
static void
chain(struct tree *t)
{
	for (size_t i = 1; i < t->n; i++)
		t->parents[i] = (uint32_t)i - 1;
}

/* Makes the tree that the description gives, with parents before their children. */
static int
given(struct tree *t, const struct network *n, const struct route *r, struct err *e)
{
	if (!n->has_streams)
		return err_set(e, ERR_FORMAT, "the network names no streams");
	uint32_t *place = calloc(n->npoints, sizeof *place);
	if (place == NULL)
		return err_nomem(e, "a logical network");
	t->n = 1;
	for (size_t at = 0; at < t->n; at++)
		for (size_t i = 0; i < n->npoints; i++)
			if (n->points[i].parent == t->nodes[at] &&
			    r->steps[i].depth != NETWORK_NONE && t->n < r->nhosts) {
				t->nodes[t->n] = (uint32_t)i;
				t->parents[t->n++] = (uint32_t)at;
			}
	free(place);
	for (size_t i = 0, streams = 1; i < n->npoints; i++)
		if (n->points[i].parent != NETWORK_NONE && streams++ == t->n)
			return err_set(e, ERR_FORMAT,
			    "a stream leads to a host that the server's stream "
			    "does not reach");
	return 0;
}

static void
count(struct tree *t)
{
	uint32_t *depth = t->streams; /* the array holds depths first, and streams at the end */

	for (size_t i = 1; i < t->n; i++) {
		depth[i] = depth[t->parents[i]] + 1;
		if (depth[i] > t->depth)
			t->depth = depth[i];
	}
	for (size_t i = 0; i < t->n; i++)
		t->streams[i] = 0;
	for (size_t i = 1; i < t->n; i++)
		t->streams[t->parents[i]]++;
}

/* Begins a tree of n nodes, all of them children of the server, with room for `room` nodes. */
static int
begin(struct tree *t, enum tree_kind kind, size_t n, size_t room, struct err *e)
{
	*t = (struct tree){ .kind = kind,
		.n = n,
		.nodes = calloc(room, sizeof *t->nodes),
		.parents = calloc(room, sizeof *t->parents),
		.streams = calloc(room, sizeof *t->streams) };
	if (t->nodes == NULL || t->parents == NULL || t->streams == NULL)
		return err_nomem(e, "a logical network");
	return 0;
}

int
tree_copy(struct tree *t, enum tree_kind kind, const uint32_t *nodes,
    const uint32_t *parents, size_t n, struct err *e)
{
	if (begin(t, kind, n, n, e) != 0)
		return -1;
	memcpy(t->nodes, nodes, n * sizeof *nodes);
	memcpy(t->parents, parents, n * sizeof *parents);
	count(t);
	return 0;
}

uint32_t
tree_width(const struct tree *t)
{
	uint32_t most = 0;

	for (size_t i = 0; i < t->n; i++)
		most = t->streams[i] > most ? t->streams[i] : most;
	return most;
}

int
tree_make(struct tree *t, const struct network *n, const struct route *r,
    enum tree_kind kind, unsigned arity, size_t clients, struct err *e)
{
	size_t hosts = r->nhosts;

	if (begin(t, kind, clients + 1 < hosts ? clients + 1 : hosts, hosts, e) != 0)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		t->nodes[i] = r->hosts[i];
	if (kind == TREE_GIVEN && given(t, n, r, e) != 0)
		return -1;
	if (kind == TREE_CHAIN)
		chain(t);
	else if (kind == TREE_NARY && arity > 1)
		share_out(t, 0, 1, t->n, arity);
	else if (kind == TREE_NARY)
		chain(t);
	count(t); /* the parents of a star are all 0 already */
	if (kind == TREE_MULTICAST)
		t->streams[0] = 1;
	return 0;
}

void
tree_free(struct tree *t)
{
	free(t->nodes);
	free(t->parents);
	free(t->streams);
	*t = (struct tree){ 0 };
}
