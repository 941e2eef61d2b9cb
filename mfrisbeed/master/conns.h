/* conns.h: the connections of a master.  Each carries one request and one reply, and no
 * connection can delay another one or stay for long.  All functions are called in one
 * thread, that of the loop. */
#ifndef MFRISBEED_MASTER_CONNS_H
#define MFRISBEED_MASTER_CONNS_H

#include "common/base/loop.h"
#include "mfrisbeed/master/answer.h"

/* The most connections at once; fewer where the system allows few descriptors. */
enum { CONNS_MAX = 1024 };

struct conns;

/* Listens at this address (0.0.0.0: all) and port (0: any that is free), and answers requests
 * while the loop runs.  The loop and the answerer are borrowed.  ERR_IO; ERR_NOMEM. */
int conns_new(struct conns **, struct loop *, const uint8_t addr[4], uint16_t port,
    const struct answerer *, struct err *);
/* Closes all connections.  NULL is allowed. */
void conns_free(struct conns *);
uint16_t conns_port(const struct conns *);
/* Sessions or answers of the parent have changed, so waiting requests are answered anew.  NULL is allowed. */
void conns_again(struct conns *);

#endif /* MFRISBEED_MASTER_CONNS_H */
