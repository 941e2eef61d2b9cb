/* wires.h: the TCP connections of an engine: one port, and one thread that sleeps in
 * poll(2).
 *
 * Whoever connects has a few seconds to say what it is, and there is place for few of
 * those who have not, so that strangers cost little. */
#ifndef DOLLY_NET_WIRES_H
#define DOLLY_NET_WIRES_H

#include <poll.h>

#include "dolly/engine/peer.h"

/* The engine, as node.h and server.h have it. */
struct wires_engine {
	struct peer *(*accept)(void *engine, const uint8_t address[4]);
	void (*bytes)(void *engine, struct peer *, const void *, size_t);
	bool (*reads)(void *engine, const struct peer *);
	void (*closed)(void *engine, struct peer *, const char *why);
	size_t (*output)(void *engine, struct peer *, const void **at);
	void (*sent)(void *engine, struct peer *, size_t n);
};

struct wires;

struct tls;

/* With `key` (borrowed; NULL: nothing is encrypted) only those who have it, too, can
 * connect and are connected to.  Listens at this port; where it is taken and `any` is true, at a free one.  ERR_IO. */
int wires_open(struct wires **, const struct wires_engine *, struct tls *key,
    uint16_t port, bool any, struct err *);
/* The engine that has the peers, before anything else. */
void wires_serve(struct wires *, void *engine);
/* Before the engine is freed, which has the peers that have said what they are. */
void wires_close(struct wires *);
uint16_t wires_port(const struct wires *);
/* For the operations of engines that have these names. */
int wires_dial(struct wires *, struct peer *, const uint8_t address[4], uint16_t port,
    struct err *);
void wires_hang_up(struct wires *, struct peer *);
/* Sleep until something happens, or the descriptor `also` (-1: none) becomes
 * readable, for at most this time; then do what there is to do. */
void wires_step(struct wires *, int also, int timeout_ms);
/* What is waiting for this peer goes out, within a second. */
void wires_flush(struct wires *);

#endif /* DOLLY_NET_WIRES_H */
