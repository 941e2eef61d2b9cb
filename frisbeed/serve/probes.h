/* probes.h: answers to "frisbee --doctor" beside the session (server_probe.h says
 * which). They come through the second port's group, or directly to our address at that
 * port, where nothing else listens. */
#ifndef FRISBEED_SERVE_PROBES_H
#define FRISBEED_SERVE_PROBES_H

#include "common/net/sock.h"

struct probes;

/* NULL: out of memory, or no second port; the other functions accept it.  Without a
 * socket for direct probes only the others are answered. */
struct probes *probes_new(
    const struct sock *first, struct sock *second, uint32_t session, uint64_t now_us);
void probes_free(struct probes *);
/* Our address is another one now. */
void probes_moved(struct probes *, const uint8_t addr[4]);
/* The session has sent `blocks` blocks, parity included. */
void probes_session(struct probes *, uint64_t blocks);
int probes_fd(const struct probes *); /* -1: none */
/* A packet of the second port: true when it was a probe, and is dealt with. */
bool probes_input(struct probes *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4]);
/* Answer the probes that came directly. */
void probes_receive(struct probes *, uint64_t now_us);

#endif /* FRISBEED_SERVE_PROBES_H */
