/* probe.h: whether the systems of nodes that have rebooted answer: on a TCP port. */
#ifndef CONTROLLER_NODES_PROBE_H
#define CONTROLLER_NODES_PROBE_H

#include "controller/engine/swap.h"
#include "common/base/loop.h"

struct probe;

/* up(arg, node) is called when a node accepts a connection on this port.  ERR_NOMEM. */
int probe_open(struct probe **, struct loop *, uint16_t port,
    void (*up)(void *arg, struct swap_node *), void *arg, struct err *);
/* NULL is allowed. */
void probe_close(struct probe *);
/* Ask nodes that reboot, every two seconds, a few at a time.  To be called once a second. */
void probe_tick(struct probe *, struct swap *, uint64_t now_us);

#endif /* CONTROLLER_NODES_PROBE_H */
