/* route.h: the links that a stream takes.  Switches of an Ethernet forward along a spanning tree;
 * the model uses the tree with the fewest links from the server to each host. */
#ifndef DOLLY_PLAN_ROUTE_H
#define DOLLY_PLAN_ROUTE_H

#include "dolly/plan/network.h"

struct route_step {
	uint32_t up;    /* the point one step nearer to the server; NETWORK_NONE: none */
	uint32_t link;  /* the link that leads to `up` */
	uint32_t depth; /* links to the server; NETWORK_NONE: the point cannot be reached */
};

/* Begins as all zeros. */
struct route {
	struct route_step *steps; /* by point */
	/* All hosts that can be reached, the server first.  The hosts behind one link follow
	 * each other, so that a chain in this order crosses each link once in each direction. */
	uint32_t *hosts;
	size_t nhosts;
};

/* Makes the route of a network, which stays the caller's.  Also after an error route_free() is
 * to be called.  ERR_NOMEM. */
int route_make(struct route *, const struct network *, struct err *);
/* Releases the route, which is all zeros afterwards. */
void route_free(struct route *);

/* Calls `step` for each link of the way between two hosts that can be reached, with the point
 * that a stream leaves and the point that it enters.  The order is not that of the way. */
void route_walk(const struct route *, uint32_t from, uint32_t to,
    void (*step)(void *arg, uint32_t link, uint32_t leaves, uint32_t enters), void *arg);

#endif /* DOLLY_PLAN_ROUTE_H */
