/* order_finder.h: makes the list of blocks that a session sends first while machines
 * start from its image (order_blocks.h), in a thread of its own, since that may take
 * minutes.
 *
 * The log says whether there is a list, and why not.  An order decides only when blocks
 * are sent, so the session goes on without it when the order is damaged or of another
 * disk.
 */
#ifndef FRISBEED_SERVE_ORDER_FINDER_H
#define FRISBEED_SERVE_ORDER_FINDER_H

#include <stdbool.h>

#include "frisbeed/serve/order_blocks.h"

struct order_finder;

/* Start the thread, which works for the caller's owner (cancel.h).  What the configuration leads
 * to must exist until order_finder_end().  ERR_NOMEM; ERR_IO: no thread can be started. */
int order_finder_start(struct order_finder **, const struct order_config *, struct err *);
/* Returns true once, when the list is there and not empty; the caller then frees *list.
 */
bool order_finder_take(struct order_finder *, struct order_blocks *list);
/* End the thread, and free what it has made.  NULL is allowed. */
void order_finder_end(struct order_finder *);

#endif /* FRISBEED_SERVE_ORDER_FINDER_H */
