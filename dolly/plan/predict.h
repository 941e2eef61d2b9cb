/* predict.h: what the model predicts for an image that is sent to a number of nodes
 * in each way. */
#ifndef DOLLY_PLAN_PREDICT_H
#define DOLLY_PLAN_PREDICT_H

#include "dolly/plan/model.h"

enum {
	PREDICT_ROWS_MAX = 16,
	PREDICT_REASON_BYTES = 2 * NETWORK_NAME_BYTES + 64,
};

struct predict_config {
	double raw_bytes;   /* of the image's data; 0: times are not known */
	double compression; /* raw bytes to bytes of the network, >= 1 */
	size_t clients;     /* 0: all hosts but the server */
	unsigned arity_max; /* trees of 2 to this many children; < 2: none */
};

/* One way of sending. */
struct predict_row {
	char name[16]; /* "chain", "tree=3" */
	enum tree_kind kind;
	unsigned arity;
	size_t clients; /* that it reaches */
	uint32_t depth;
	double rate;    /* raw data, bytes a second; INFINITY: nothing limits it */
	double seconds; /* INFINITY: not known */
	enum model_resource resource;
	char reason[PREDICT_REASON_BYTES]; /* "link s1 to node03", "server: processor" */
};

struct prediction {
	struct predict_row rows[PREDICT_ROWS_MAX];
	size_t n;
	size_t best; /* of chains, trees and star: the one that ends first */
};

/* ERR_USAGE: no host can be reached; ERR_NOMEM.  The route is that of this network. */
int predict(struct prediction *, const struct network *, const struct route *,
    const struct predict_config *, struct err *);
/* One row of its own. */
int predict_one(struct predict_row *, const struct network *, const struct route *,
    const struct predict_config *, enum tree_kind, unsigned arity, struct err *);

#endif /* DOLLY_PLAN_PREDICT_H */
