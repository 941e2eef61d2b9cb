/* peer.h: one connection of an engine.  A peer converts received bytes to messages, and
 * messages to bytes to send.  The owner of the socket passes the bytes; the engine owns
 * the peer.  All functions are called in the engine's thread. */
#ifndef DOLLY_ENGINE_PEER_H
#define DOLLY_ENGINE_PEER_H

#include "dolly/engine/spread.h"

enum peer_kind {
	PEER_NEW,    /* an accepted connection that has not said what it is */
	PEER_SERVER, /* at a node: its server */
	PEER_PARENT, /* at a node: the node or server that sends it chunks */
	PEER_CHILD,  /* at a node or server: a node that gets chunks from it */
	PEER_NODE,   /* at the server: a node that has joined */
};

struct peer {
	enum peer_kind kind;
	void *io;  /* for the owner of the socket; the engine does not use it */
	bool reached; /* set by the owner of the socket: the peer that was dialled is there */
	bool open; /* false: the engine has closed the peer, and the owner releases it soon */
	uint8_t address[4];
	uint32_t id;                /* of the parent, child or node; 0: the server */
	struct spread_child *child; /* PEER_CHILD: its queue of chunks; else NULL */
	struct buf in, out;         /* received bytes; messages to send */
	size_t in_at, out_at;       /* bytes of `in` that were parsed, of `out` that were sent */
	uint32_t piece_left; /* PEER_PARENT: bytes that its piece of a chunk still lacks */
};

/* Makes a peer, which peer_free() releases.  NULL: no memory. */
struct peer *peer_new(enum peer_kind, const uint8_t address[4]);
/* NULL is allowed. */
void peer_free(struct peer *);

/* Appends n received bytes.  ERR_NOMEM. */
int peer_put(struct peer *, const void *bytes, size_t n, struct err *);
/* Does the peer hold at least one longest message that was not parsed?  Its socket should
 * not be read meanwhile. */
bool peer_full(const struct peer *);
/* How many bytes to receive at most, so that nothing of a piece is received by peer_put() that
 * could have been received where it belongs. */
size_t peer_room(const struct peer *);
/* Parses the next message.  Of DATA, which only a parent may send, these are the fields; the
 * piece follows, and peer_piece() is called until piece_left is 0.  1: there is a message; 0: none
 * is complete; -1: ERR_FORMAT. */
int peer_next(struct peer *, struct msg *, struct err *);
/* The received bytes of the piece that were not taken yet are at *at, until the next peer_put().
 * Returns how many, and takes them. */
uint32_t peer_piece(struct peer *, const void **at);
/* How many of n bytes that were received are of the piece, and need no peer_put(); takes them. */
uint32_t peer_direct(struct peer *, size_t n);

/* Queues a message for sending. */
void peer_say(struct peer *, const struct msg *);
/* The bytes to send next are at *at: queued messages, and for a child its chunks.  Returns
 * how many; 0: none now. */
size_t peer_output(struct peer *, struct spread *, const void **at);
/* The first n bytes of the last peer_output() were sent. */
void peer_sent(struct peer *, struct spread *, size_t n);

#endif /* DOLLY_ENGINE_PEER_H */
