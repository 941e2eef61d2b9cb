/* power.h: nodes are woken: by a program of the administrator's, or by wake-on-LAN. */
#ifndef CONTROLLER_NODES_POWER_H
#define CONTROLLER_NODES_POWER_H

#include "controller/engine/swap.h"
#include "common/base/loop.h"

struct power;

/* command: a program that is run as `command NODE cycle MAC`, and ends with 0 when the node is
 * starting; NULL: wake-on-LAN, sent from this address.  may(arg, node) is asked before that; if it
 * says false, the node stays as it is, and is asked about again by the next power_settle().
 * done(arg, node, why) is called at the end of each; why: NULL, or what went wrong.  ERR_NOMEM. */
int power_open(struct power **, struct loop *, const char *command, const uint8_t addr[4],
    bool (*may)(void *arg, const struct swap_node *),
    void (*done)(void *arg, struct swap_node *, const char *why), void *arg, struct err *);
/* Programs that run go on.  NULL is allowed. */
void power_close(struct power *);
/* Switch on the nodes that are to be, a few at a time.  To be called after the state was
 * saved, and once a second. */
void power_settle(struct power *, struct swap *, uint64_t now_us);
/* The 102 bytes of wake-on-LAN: six times 0xff, then the MAC address 16 times. */
void power_magic(const uint8_t mac[6], uint8_t packet[102]);

#endif /* CONTROLLER_NODES_POWER_H */
