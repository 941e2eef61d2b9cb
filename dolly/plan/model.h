/* model.h: how fast a partition cast can be: the capacity model of Rauch, Kurmann and Stricker,
 * "Optimizing the distribution of large data sets in theory and practice" (2002), sections 2.3
 * to 2.8.
 *
 * One stream b flows through the whole system at the same rate, since there is flow control.
 * Each link, switch and node resource allows some rate; the least of them is what the system
 * reaches. */
#ifndef DOLLY_PLAN_MODEL_H
#define DOLLY_PLAN_MODEL_H

#include "dolly/plan/tree.h"

enum model_resource {
	MODEL_NOTHING, /* nothing in the description limits the rate */
	MODEL_LINK,
	MODEL_SWITCH,
	MODEL_NODE,    /* its switching capacity (the basic model) */
	MODEL_DISK,    /* these and below: the refined model, section 2.6 */
	MODEL_IOBUS,
	MODEL_MEMORY,
	MODEL_PROCESSOR,
};

struct model_limit {
	double rate; /* of raw data, bytes a second; INFINITY: MODEL_NOTHING */
	enum model_resource resource;
	uint32_t point; /* the node or switch; of a link the point that it leaves, */
	uint32_t to;    /* and the one that it enters */
};

/* What passes through a node; the disk has one more stream, written or read. */
struct model_node {
	unsigned in, out; /* streams of the network */
	double compression; /* raw bytes to bytes of the network; 1: raw data is sent */
	bool decompresses;
	bool multicast;     /* the stream in or out is one */
};

/* The rate that a machine of this kind allows in such a place, and why. */
struct model_limit model_of_node(
    const struct network_machine *, const struct model_node *);

/* The rate of the whole.  The compression is that of the image, >= 1; 1: raw data.  ERR_NOMEM. */
int model_solve(struct model_limit *, const struct network *, const struct route *,
    const struct tree *, double compression, struct err *);

/* Seconds until the last node has written all of an image of raw_bytes: the pieces that fill the
 * chain, one for each stream on the longest way, and then the image.  INFINITY stays that. */
double model_seconds(const struct network *, const struct tree *,
    const struct model_limit *, double raw_bytes);

#endif /* DOLLY_PLAN_MODEL_H */
