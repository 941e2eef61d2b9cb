/* conns.h: the connections of a master.  Each carries one request and one reply, and no
 * connection can delay another one or stay for long.  All functions are called in one
 * thread. */
#ifndef MFRISBEED_MASTER_CONNS_H
#define MFRISBEED_MASTER_CONNS_H

#include <poll.h>

#include "mfrisbeed/master/answer.h"

/* The most connections at once; fewer where the system allows few descriptors. */
enum { CONNS_MAX = 1024 };

struct conns;

/* Makes an empty table.  The listening socket, which does not block, stays the caller's.
 * ERR_NOMEM. */
int conns_new(struct conns **, int listener, struct err *);
/* Closes all connections.  NULL is allowed. */
void conns_free(struct conns *);
/* Fills in descriptors for poll(2), and returns their number.  Silent connections are
 * closed when there are more than may be open now.  The caller waits at most
 * ACCEPTING_REST_US (accepting.h). */
unsigned conns_poll(struct conns *, struct pollfd fds[CONNS_MAX + 1]);
/* After poll(2), with the same array: accepts connections, reads requests, answers them, writes
 * replies, and closes connections.  again: sessions or answers of the parent have changed, so
 * waiting requests are answered anew. */
void conns_serve(
    struct conns *, const struct answerer *, const struct pollfd *fds, bool again);

#endif /* MFRISBEED_MASTER_CONNS_H */
