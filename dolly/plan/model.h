/* model.h: how fast a partition cast can be: the capacity model of Rauch, Kurmann and Stricker,
 * "Optimizing the distribution of large data sets in theory and practice" (2002), sections 2.3
 * to 2.8.
 *
 * Flow control makes all streams of the system flow at the same rate.  Each link, switch and
 * node resource allows some rate; the least of them is the rate that the system reaches. */
#ifndef DOLLY_PLAN_MODEL_H
#define DOLLY_PLAN_MODEL_H

#include "dolly/plan/tree.h"

enum model_resource {
	MODEL_NOTHING, /* nothing in the description limits the rate */
	MODEL_LINK,
	MODEL_SWITCH,
	MODEL_NODE,    /* its switching capacity (the basic model) */
	MODEL_DISK,    /* this one and those below: the refined model (section 2.6) */
	MODEL_IOBUS,
	MODEL_MEMORY,
	MODEL_PROCESSOR,
};

struct model_limit {
	double rate; /* of raw data, bytes a second; INFINITY: MODEL_NOTHING */
	enum model_resource resource;
	uint32_t point; /* the node or switch; of a link the point that streams leave */
	uint32_t to;    /* MODEL_LINK: the point that streams enter */
};

/* What passes through a node, besides the stream that its disk reads or writes. */
struct model_node {
	unsigned in, out; /* streams of the network */
	double compression; /* bytes of raw data for each byte sent; 1: raw data is sent */
	bool decompresses;
	bool multicast;     /* the stream of the network is a multicast stream */
};

/* The rate that a machine of this kind allows for these streams, and the resource that limits
 * it; `point` is not set. */
struct model_limit model_of_node(
    const struct network_machine *, const struct model_node *);

/* The rate of the whole system, and what limits it.  The compression is that of the image, >= 1;
 * 1: raw data is sent.  ERR_NOMEM. */
int model_solve(struct model_limit *, const struct network *, const struct route *,
    const struct tree *, double compression, struct err *);

/* Seconds until the last node has written all of an image of raw_bytes: the time for the pieces
 * that fill the chain, one for each stream on the longest way, and for the image.  INFINITY:
 * nothing limits the rate. */
double model_seconds(const struct network *, const struct tree *,
    const struct model_limit *, double raw_bytes);

#endif /* DOLLY_PLAN_MODEL_H */
