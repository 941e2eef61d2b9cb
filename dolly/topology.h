/* topology.h: which nodes a server serves, in which order, and with which kind of tree. 
 * It combines the options --nodes, --network, --plan, --rack-file, --auto, --chain,
 * --tree and --star. */
#ifndef DOLLY_TOPOLOGY_H
#define DOLLY_TOPOLOGY_H

#include "dolly/dolly.h"
#include "dolly/engine/roster.h"
#include "dolly/order/node_list.h"
#include "dolly/order/racks.h"

/* Begins as all zeros. */
struct topology {
	struct node_list node_list;
	struct racks racks;
	bool has_racks;     /* the order is that of `racks`, and not that of --nodes */
	struct network net; /* --network, or --plan */
	struct route route; /* of `net` */
	bool has_net;       /* `net` and `route` are valid */
	struct racks places; /* with --plan: where the hosts of `net` are */
	bool has_key;       /* all who join have shown --key */
	unsigned arity;     /* children of a node: 1 a chain, ROSTER_MAX a star */
};

/* Reads what the options name.  image_bytes: bytes that each node gets.  Also after an error
 * topology_free() is to be called.  ERR_USAGE; ERR_FORMAT: a file has a mistake;
 * ERR_ABSENT: a name cannot be resolved; ERR_IO; ERR_NOMEM. */
int topology_open(struct topology *, const struct options *, uint64_t image_bytes, struct err *);
/* Releases what topology_open() has read. */
void topology_free(struct topology *);
/* For the engine: the position of a node with this address, and NULL; or why the node is not
 * to be served.  Its children dial its address.  So that nobody can make them dial any
 * machine, it has to be one that the options name or in a network of this machine, unless
 * who joins has shown a key. */
const char *topology_spot(struct topology *, const uint8_t address[4], struct roster_spot *);

/* What the model predicts for sending `bytes` bytes along the tree of this roster, whose run is
 * over; has_net must be true.  Nodes that the description does not name are added to it.
 * ERR_USAGE: --compression is wrong, or the network is too large; ERR_NOMEM. */
int topology_predict(struct topology *, const struct options *, uint64_t bytes,
    const struct roster *, struct predict_row *, struct err *);

#endif /* DOLLY_TOPOLOGY_H */
