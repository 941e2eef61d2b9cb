/* predict.h: what the model predicts for each way of sending an image to a number of nodes. */
#ifndef DOLLY_PLAN_PREDICT_H
#define DOLLY_PLAN_PREDICT_H

#include "dolly/plan/model.h"

enum {
	PREDICT_ROWS_MAX = 16,
	PREDICT_REASON_BYTES = 2 * NETWORK_NAME_BYTES + 64,
};

struct predict_config {
	double raw_bytes;   /* size of the image's raw data; 0: not known, so no times */
	double compression; /* bytes of raw data for each byte sent, >= 1 */
	size_t clients;     /* nodes; 0: all hosts except the server */
	unsigned arity_max; /* trees with 2 to arity_max children a node; < 2: no trees */
};

/* One way of sending. */
struct predict_row {
	char name[16]; /* "chain", "tree=3" */
	enum tree_kind kind;
	unsigned arity;
	size_t clients; /* nodes that are reached */
	uint32_t depth; /* streams one behind the other, at most */
	double rate;    /* raw data, bytes a second; INFINITY: nothing limits it */
	double seconds; /* INFINITY: not known */
	enum model_resource resource;
	char reason[PREDICT_REASON_BYTES]; /* "link s1 to node03", "server: processor" */
};

struct prediction {
	struct predict_row rows[PREDICT_ROWS_MAX];
	size_t n;
	size_t best; /* the row, not of multicast, that ends first */
};

/* Predicts multicast, the chain, the trees, the star, and the streams that the description
 * gives.  The route is that of this network.  ERR_FORMAT: no host can be reached; ERR_NOMEM. */
int predict_all(struct prediction *, const struct network *, const struct route *,
    const struct predict_config *, struct err *);
/* Predicts one way of sending.  `arity` counts for TREE_NARY.  Errors as predict_all(). */
int predict_one(struct predict_row *, const struct network *, const struct route *,
    const struct predict_config *, enum tree_kind, unsigned arity, struct err *);

/* Predicts sending along this tree; the number of clients is the tree's, and the row's kind is
 * what the tree looks like.  ERR_NOMEM. */
int predict_tree(struct predict_row *, const struct network *, const struct route *,
    const struct predict_config *, const struct tree *, struct err *);

#endif /* DOLLY_PLAN_PREDICT_H */
