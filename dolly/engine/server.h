/* server.h: the engine of the server.  Nodes join the server; it gives each a parent, sends
 * chunks of the image to the nodes that are its own children, and cuts out nodes that die,
 * hang or fall behind.  The engine has no sockets, clock or file: their owner calls the
 * engine, and the engine calls the owner through struct dolly_server_ops, all in one
 * thread. */
#ifndef DOLLY_ENGINE_SERVER_H
#define DOLLY_ENGINE_SERVER_H

#include "dolly/engine/roster.h"

struct dolly_server_ops {
	/* Begins to read a chunk into `to`, which has room for spread.chunk_bytes.  The
	 * owner calls dolly_server_read() when the chunk is there. */
	void (*read)(void *arg, uint32_t slot, uint32_t chunk, void *to);
	/* Makes one attempt to send the peer's waiting bytes, and forgets the peer.  The
	 * engine frees it afterwards. */
	void (*close)(void *arg, struct peer *);
	/* Fills n bytes that nobody can guess. */
	void (*random)(void *arg, void *to, size_t n);
	/* The position of a node with this address, and NULL; or why the node is not served.
	 * When the callback is NULL, all nodes are served, in the order in which they join,
	 * as nodes of one rack. */
	const char *(*spot)(void *arg, const uint8_t address[4], struct roster_spot *);
	/* Tells in words what has happened to a node.  The callback may be NULL. */
	void (*event)(void *arg, const struct member *, const char *what);
};

struct dolly_server_config {
	struct spread_config spread;
	uint64_t bytes;  /* size of what is served */
	uint8_t content; /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES]; /* of what is served */
	unsigned arity;       /* children of a node: 1 a chain, ROSTER_MAX a star */
	uint32_t rack;        /* of the server, or ROSTER_NO_RACK */
	uint32_t nodes;       /* the server begins when this many nodes have joined */
	uint64_t start_us;    /* it begins after this time without the missing nodes; 0: never */
	uint64_t deadline_us; /* the longest time for which a node may be silent or take
	                         nothing */
	uint64_t slow;        /* bytes a second that a child must take at least; 0: any rate */
	uint64_t linger_us;   /* the server ends when no node was busy for this time */
	const struct dolly_server_ops *ops;
	void *arg;
};

struct dolly_server;

/* Makes a server without nodes, which dolly_server_free() releases.  ERR_NOMEM. */
int dolly_server_new(struct dolly_server **, const struct dolly_server_config *,
    uint64_t now_us, struct err *);
/* Releases the server and its peers, without a call of close().  NULL is allowed. */
void dolly_server_free(struct dolly_server *);

/* A connection from this IPv4 address was accepted: returns its peer, which is the
 * engine's.  NULL: no memory. */
struct peer *dolly_server_accept(struct dolly_server *, const uint8_t address[4]);
/* These six do what the functions node_room(), node_bytes(), node_reads(), node_closed(),
 * node_output() and node_sent() do for a node (node.h). */
size_t dolly_server_room(struct dolly_server *, struct peer *, void **at);
void dolly_server_bytes(struct dolly_server *, struct peer *, const void *, size_t);
bool dolly_server_reads(const struct dolly_server *, const struct peer *);
void dolly_server_closed(struct dolly_server *, struct peer *, const char *why);
size_t dolly_server_output(struct dolly_server *, struct peer *, const void **at);
void dolly_server_sent(struct dolly_server *, struct peer *, size_t n);
/* The answer to dolly_server_ops.read(): the chunk is in its slot, and `length` bytes of it
 * are sent.  With an error instead the chunk could not be read, and the server ends. */
void dolly_server_read(
    struct dolly_server *, uint32_t slot, uint32_t length, const struct err *);
/* Tells the time.  The owner calls it several times in each deadline. */
void dolly_server_tick(struct dolly_server *, uint64_t now_us);
/* Reads more chunks when slots have become free.  The owner calls it after
 * dolly_server_sent(). */
void dolly_server_resume(struct dolly_server *);

/* Cuts out all nodes that are not whole, which are told the reason `why`, and lets the others
 * go. */
void dolly_server_stop(struct dolly_server *, const char *why);

/* Has the server ended?  0: no; 1: all nodes that were not cut out are whole; -1: it has
 * failed, with the error. */
int dolly_server_over(const struct dolly_server *, struct err *);
/* The nodes, which stay the server's; whether places were given out; the bytes that were
 * sent to all peers. */
const struct roster *dolly_server_roster(const struct dolly_server *);
bool dolly_server_has_begun(const struct dolly_server *);
uint64_t dolly_server_bytes_sent(const struct dolly_server *);

#endif /* DOLLY_ENGINE_SERVER_H */
