/* route.h: which links a stream takes.  Switches of an Ethernet forward along a spanning tree; the
 * model takes the one with the fewest links from the server to each host. */
#ifndef DOLLY_PLAN_ROUTE_H
#define DOLLY_PLAN_ROUTE_H

#include "dolly/plan/network.h"

struct route_step {
	uint32_t up;    /* the point one step nearer to the server; NETWORK_NONE: none */
	uint32_t link;  /* that leads there */
	uint32_t depth; /* links to the server; NETWORK_NONE: the point cannot be reached */
};

/* Begins as all zeros. */
struct route {
	struct route_step *steps; /* of each point */
	/* All hosts that can be reached, the server first; those behind one link follow each
	 * other, so whoever visits them in this order crosses each link once. */
	uint32_t *hosts;
	size_t nhosts;
};

/* The network is the caller's until route_free().  ERR_NOMEM. */
int route_make(struct route *, const struct network *, struct err *);
void route_free(struct route *);

/* Calls `step` for each link of the way, with the point that it leaves and the one that it enters;
 * both hosts can be reached. */
void route_walk(const struct route *, uint32_t from, uint32_t to,
    void (*step)(void *arg, uint32_t link, uint32_t leaves, uint32_t enters), void *arg);

#endif /* DOLLY_PLAN_ROUTE_H */
