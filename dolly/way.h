/* way.h: which nodes a server serves, in which order, and along what: the options --nodes,
 * --network, --rack-file, --auto, --chain, --tree and --star, put together. */
#ifndef DOLLY_WAY_H
#define DOLLY_WAY_H

#include "dolly/dolly.h"
#include "dolly/engine/roster.h"
#include "dolly/order/meant.h"
#include "dolly/order/racks.h"

/* Begins as all zeros. */
struct way {
	struct meant meant;
	struct racks racks;
	bool has_racks;     /* the order is theirs, and not that of --nodes */
	struct network net; /* --network, */
	struct route route;
	bool has_net;
	unsigned arity;
};

/* Reads what the options name.  image_bytes: what is sent to each node.  ERR_USAGE,
 * ERR_ABSENT, ERR_IO, ERR_NOMEM. */
int way_open(struct way *, const struct options *, uint64_t image_bytes, struct err *);
void way_free(struct way *);
/* For the engine: where somebody at this address stands; false: it is not to be served. */
bool way_spot(struct way *, const uint8_t address[4], struct roster_spot *);

/* What the model says of sending so many bytes to so many nodes so; has_net is true.
 * ERR_USAGE, ERR_NOMEM. */
int way_predict(const struct way *, const struct options *, uint64_t bytes,
    size_t nodes, struct predict_row *, struct err *);

#endif /* DOLLY_WAY_H */
