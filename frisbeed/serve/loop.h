/* loop.h: what a stream's thread does: sockets and time around the server's engine. */
#ifndef FRISBEED_SERVE_LOOP_H
#define FRISBEED_SERVE_LOOP_H

#include "common/image/read/source.h"
#include "common/net/allow.h"
#include "common/net/sock.h"
#include "frisbeed/serve/identity.h"
#include "frisbeed/server/server.h"

struct loop_config {
	uint32_t ahead, run_blocks; /* as the engine's */
	uint64_t keepalive_us;      /* 0: the default */
	struct sock *second;        /* the socket of the extension's port; NULL: none */
	uint32_t session; /* the session's number in messages of the extension */
	const struct allow *allow;  /* whose packets are heard; NULL: anybody's */
	struct identity *identity; /* of the image */
	/* Both callbacks are optional.  heard: called with each packet that arrives.  tick:
	 * called every tick_us with the engine; true ends the session.  stalls: how often the
	 * kernel had no room for a packet. */
	void (*heard)(void *arg, uint64_t now_us, const void *pkt, size_t len,
	    const uint8_t from[4]);
	bool (*tick)(void *arg, struct server *, uint64_t now_us, uint64_t stalls);
	void *arg;
	uint64_t tick_us;
};

/* Serves until a signal, until server_done() or tick() is true, or until an error.  It is an
 * error when the file changes under the session.  All arguments stay the caller's. */
int serve_run(struct server *, struct sock *, struct source *,
    const struct loop_config *, struct err *);

#endif /* FRISBEED_SERVE_LOOP_H */
