/* tree.h: a logical network, which says which node sends to which (section 2.2 of the paper
 * that network.h names). */
#ifndef DOLLY_PLAN_TREE_H
#define DOLLY_PLAN_TREE_H

#include "dolly/plan/route.h"

enum tree_kind {
	TREE_MULTICAST, /* the switches duplicate what the server sends once */
	TREE_CHAIN,     /* each node sends to the next one */
	TREE_NARY,      /* each node sends to `arity` others */
	TREE_STAR,      /* the server sends to all */
	TREE_GIVEN,     /* as the description of the network says */
};

/* Begins as all zeros. */
struct tree {
	enum tree_kind kind;
	uint32_t *nodes;   /* points; nodes[0] is the server */
	uint32_t *parents; /* by node: its parent's index in nodes[]; parents[0] is 0 */
	uint32_t *streams; /* by node: streams that it sends */
	size_t n;          /* nodes, the server included */
	uint32_t depth;    /* streams one behind the other, at most */
};

/* Makes a tree of the server and the first `clients` hosts of the route's order (all, if there
 * are fewer).  `arity` counts for TREE_NARY alone; it is > 0.  Also after an error tree_free()
 * is to be called.  ERR_FORMAT: the description names no streams, or a host that cannot be
 * reached; ERR_NOMEM. */
int tree_make(struct tree *, const struct network *, const struct route *, enum tree_kind,
    unsigned arity, size_t clients, struct err *);
/* Makes a tree whose kind the caller says: nodes[0] is the server's point, and the parent of node i
 * is node parents[i], which is below i.  Both arrays have n > 0 elements, and are copied.
 * ERR_NOMEM, after which tree_free() is to be called, too. */
int tree_copy(struct tree *, enum tree_kind kind, const uint32_t *nodes,
    const uint32_t *parents, size_t n, struct err *);
/* The most streams that one node sends. */
uint32_t tree_width(const struct tree *);
/* Releases the tree, which is all zeros afterwards. */
void tree_free(struct tree *);

#endif /* DOLLY_PLAN_TREE_H */
