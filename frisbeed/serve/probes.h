/* probes.h: answers probes of "frisbee --doctor" beside the session (server_probe.h says
 * which).  Probes come through the group at the second port, or directly to this host's
 * address at that port, where nothing else listens.  All functions are called in one thread. */
#ifndef FRISBEED_SERVE_PROBES_H
#define FRISBEED_SERVE_PROBES_H

#include "common/net/sock.h"

struct probes;
struct server;

/* Makes the state.  The sockets stay the caller's, as does the engine, whose count of
 * blocks the answers have.  NULL: no memory, or no second port; the other functions
 * accept NULL.  When no socket for direct probes can be opened, only probes through
 * the group are answered. */
struct probes *probes_new(const struct sock *first, struct sock *second,
    const struct server *, uint32_t session, uint64_t now_us);
/* Closes the socket for direct probes, and releases the state. */
void probes_free(struct probes *);
/* The address of this host has changed to addr. */
void probes_moved(struct probes *, const uint8_t addr[4]);
/* The descriptor of the socket for direct probes, for poll(2); -1: none. */
int probes_fd(const struct probes *);
/* Handles a packet of the second port.  True: it was a probe. */
bool probes_input(struct probes *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4]);
/* Answers the probes that have come directly. */
void probes_receive(struct probes *, uint64_t now_us);

#endif /* FRISBEED_SERVE_PROBES_H */
