/* peer.h: one connection of an engine: converts received bytes to messages, and
 * messages to bytes that are sent.  The owner of the socket passes the bytes; the
 * engine owns the peer. */
#ifndef DOLLY_ENGINE_PEER_H
#define DOLLY_ENGINE_PEER_H

#include "dolly/engine/spread.h"

enum peer_kind {
	PEER_NEW,    /* it has not said yet what it is */
	PEER_SERVER, /* of a node: its server */
	PEER_PARENT, /* of a node: chunks come from there */
	PEER_CHILD,  /* chunks go there */
	PEER_NODE,   /* of the server: a node that has joined */
};

struct peer {
	enum peer_kind kind;
	void *io;  /* of whoever has the socket; the engine does not look at it */
	bool open; /* false: the engine has closed it, and it is freed soon */
	uint8_t address[4];
	uint32_t id;                /* of the parent, child or node */
	struct spread_child *child; /* of a child */
	struct buf in, out;
	size_t in_at, out_at;
};

/* NULL: no memory. */
struct peer *peer_new(enum peer_kind, const uint8_t address[4]);
void peer_free(struct peer *);

/* These bytes have come.  ERR_NOMEM. */
int peer_put(struct peer *, const void *bytes, size_t n, struct err *);
/* Is there enough that was not looked at yet?  Then its socket is not read for now. */
bool peer_full(const struct peer *);
/* The next message that is here; what it borrows stays until the next call.  1, 0:
 * none, -1. */
int peer_next(struct peer *, struct msg *, struct err *);

void peer_say(struct peer *, const struct msg *);
/* What to send next, in *at; 0: nothing now. */
size_t peer_output(struct peer *, struct spread *, const void **at);
/* n bytes of that were sent. */
void peer_sent(struct peer *, struct spread *, size_t n);

#endif /* DOLLY_ENGINE_PEER_H */
