/* wires.h: the TCP connections of an engine, at one port.  All functions are called in the
 * engine's thread, which sleeps in wires_step().
 *
 * A new connection has a few seconds to say what it is.  Those that have not done so are the
 * guests of common/net/guests.h, so strangers cost little and keep nobody out. */
#ifndef DOLLY_NET_WIRES_H
#define DOLLY_NET_WIRES_H

#include "dolly/engine/peer.h"

/* The functions of the engine, as node.h and server.h describe them. */
struct wires_engine {
	struct peer *(*accept)(void *engine, const uint8_t address[4]);
	size_t (*room)(void *engine, struct peer *, void **at);
	void (*bytes)(void *engine, struct peer *, const void *, size_t);
	bool (*reads)(void *engine, const struct peer *);
	void (*closed)(void *engine, struct peer *, const char *why);
	size_t (*output)(void *engine, struct peer *, const void **at);
	void (*sent)(void *engine, struct peer *, size_t n);
};

struct wires;

struct tls;

/* Listens at this port, or, where the port is taken and `any` is true, at a free one.  With
 * `key` (borrowed; NULL: nothing is encrypted) connections succeed only when the other side
 * has the key, too.  ERR_IO; ERR_NOMEM. */
int wires_open(struct wires **, const struct wires_engine *, struct tls *key,
    uint16_t port, bool any, struct err *);
/* Names the engine that owns the peers.  It is called before the first wires_step(). */
void wires_serve(struct wires *, void *engine);
/* Closes all connections, and frees the peers that have not said what they are.  The engine
 * owns the other peers, and is freed afterwards.  NULL is allowed. */
void wires_close(struct wires *);
/* Names the deadline, in microseconds, after which the engine acts on a child that takes nothing.
 * A connection that is accepted from then on is ended only when its other side has taken nothing
 * for longer than that, and for 10 seconds at least.  Without this call 10 seconds count. */
void wires_deadline(struct wires *, uint64_t us);
/* The port at which it listens. */
uint16_t wires_port(const struct wires *);
/* For the engine's operations dial() and close().  wires_dial() begins to connect the peer:
 * ERR_IO, ERR_NOMEM.  wires_hang_up() makes one attempt to send the waiting bytes, and ends
 * the connection at the next wires_step(). */
int wires_dial(struct wires *, struct peer *, const uint8_t address[4], uint16_t port,
    struct err *);
void wires_hang_up(struct wires *, struct peer *);
/* Sleeps until something happens or the descriptor `also` (-1: none) becomes readable, at most
 * timeout_ms milliseconds, and serves all connections. */
void wires_step(struct wires *, int also, int timeout_ms);
/* Connections that were made with the key, also those that have ended. */
struct wires_encrypted {
	unsigned all;
	unsigned in_kernel; /* of these, the kernel encrypts what is sent */
};
struct wires_encrypted wires_encrypted(const struct wires *);
/* Sends, for at most a second, the messages that wait for servers and nodes; chunks for
 * children are not waited for. */
void wires_flush(struct wires *);

#endif /* DOLLY_NET_WIRES_H */
