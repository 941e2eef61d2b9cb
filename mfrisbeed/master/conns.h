/* conns.h: the connections of a master: each carries one request and one reply, and none of them can
 * hold up another one, or stay for long. */
#ifndef MFRISBEED_MASTER_CONNS_H
#define MFRISBEED_MASTER_CONNS_H

#include <poll.h>

#include "mfrisbeed/master/answer.h"

enum { CONNS_MAX = 1024 };

struct conns;

int conns_new(struct conns **, int listener, struct err *);
void conns_free(struct conns *);
/* Fills fds[CONNS_MAX + 1] for poll(2), and returns how many. */
unsigned conns_poll(struct conns *, struct pollfd fds[CONNS_MAX + 1]);
/* After poll(2), with the same array: accept, read, answer, write, close.  again: sessions have
 * changed, so those that wait for one are answered now. */
void conns_serve(
    struct conns *, const struct answerer *, const struct pollfd *fds, bool again);

#endif /* MFRISBEED_MASTER_CONNS_H */
