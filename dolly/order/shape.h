/* shape.h: the tree along which a run has sent, in the network that a description has.
 */
#ifndef DOLLY_ORDER_SHAPE_H
#define DOLLY_ORDER_SHAPE_H

#include "dolly/order/racks.h"
#include "dolly/plan/tree.h"

/* Makes the tree of the nodes of a roster that became whole and had a place, each below
 * the last parent that it had; a parent that failed is replaced by its own last parent.
 * `racks` has the hosts of the network (racks_of_network()).  A node that the
 * description does not name is added to the network as a host like the server
 * (network_add_like_server()), and the route is made again.  The tree has the server
 * alone when no node is whole.  Also after an error the tree is to be freed. ERR_USAGE:
 * the network is too large; ERR_NOMEM. */
int shape_of_run(struct tree *, struct network *, struct route *, const struct racks *,
    const struct roster *, struct err *);

#endif /* DOLLY_ORDER_SHAPE_H */
