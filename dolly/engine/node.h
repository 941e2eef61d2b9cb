/* node.h: a node: it joins a server, gets chunks from its parent, has them installed,
 * and sends them to its children.  No sockets, no clock, no disk: whoever has these
 * calls the engine, and is called through struct node_ops, all in one thread.
 *
 * When the connection to the server ends, the node keeps what it has, goes on with its
 * parent and its children, and dials the server until it answers.  If that serves the
 * same image, the node goes on with what it lacks.
 *
 * A node believes its server, and the parent that the server has named; whoever
 * connects to it must have the key that the server gave out. */
#ifndef DOLLY_ENGINE_NODE_H
#define DOLLY_ENGINE_NODE_H

#include "dolly/engine/peer.h"

/* The image, as the server says. */
struct node_image {
	uint32_t chunks;
	uint64_t bytes;  /* not looked at by the engine */
	uint8_t content; /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES];
};

/* How the target wants its chunks. */
struct node_target {
	bool in_order;
	bool chunk0_first;
};

struct node_ops {
	/* Connect the peer.  What is to be sent is taken when that is done; -1, or
	 * node_closed(), when it fails.  `parent` zeros and port 0: the server. */
	int (*dial)(void *arg, struct peer *, const uint8_t address[4], uint16_t port,
	    struct err *);
	/* Forget the peer, after a try to send what is waiting; it is freed then. */
	void (*close)(void *arg, struct peer *);
	/* Open the target.  An error when the image makes no sense. */
	int (*begin)(
	    void *arg, const struct node_image *, struct node_target *, struct err *);
	bool (*has)(void *arg, uint32_t chunk); /* it need not be put */
	/* Check and install it; the bytes stay until node_put(). */
	void (*put)(void *arg, uint32_t slot, uint32_t chunk, const void *bytes,
	    uint32_t length);
	/* All were put: complete the target, and call node_finished(). */
	void (*finish)(void *arg);
};

struct node_config {
	const char *name;            /* for the server's table */
	uint16_t port;               /* that children connect to */
	uint64_t patience_us; /* for a server that went away; 0: none */
	struct spread_config spread; /* chunks: set by the engine */
	const struct node_ops *ops;
	void *arg;
};

enum node_put_rc {
	NODE_PUT_DONE,
	NODE_PUT_DAMAGED, /* it has to come again */
	NODE_PUT_FAILED,
};

struct node_stats {
	uint32_t chunks, have;
	bool whole;
	bool away;  /* the server is, and is dialled now and then */
	bool alone; /* it did not come back for as long as patience_us */
	uint64_t received, forwarded; /* bytes of chunks */
	unsigned parents;             /* connections, one behind the other */
	uint32_t damaged;             /* chunks that came again */
};

struct node;

/* Dials the server.  ERR_NOMEM, or why it cannot be dialled. */
int node_new(struct node **, const struct node_config *, uint64_t now_us, struct err *);
void node_free(struct node *); /* its peers, too, without a call of close() */

/* Somebody has connected.  NULL: no memory. */
struct peer *node_accept(struct node *, const uint8_t address[4]);
/* Bytes have come.  Afterwards the peer may be closed. */
void node_bytes(struct node *, struct peer *, const void *, size_t);
/* Is its socket to be read? */
bool node_reads(const struct node *, const struct peer *);
/* The connection has ended, for this reason; the peer is freed. */
void node_closed(struct node *, struct peer *, const char *why);
size_t node_output(struct node *, struct peer *, const void **at);
void node_sent(struct node *, struct peer *, size_t n);
/* What became of a chunk that was put. */
void node_put(struct node *, uint32_t slot, enum node_put_rc, const struct err *);
/* The target needs this chunk after all. */
void node_needs(struct node *, uint32_t chunk);
/* The target is complete, or not (an error). */
void node_finished(struct node *, const struct err *);
/* Several times in each deadline: every 100 ms or so. */
void node_tick(struct node *, uint64_t now_us);
/* Slots may have become free: messages that wait are looked at.  After node_sent() and
 * node_put(), when all that can be sent was sent. */
void node_resume(struct node *);

/* 0: it goes on; 1: it is whole, and so are all behind it, or nobody is there who would
 * tell (node_stats.alone); -1: it has failed. */
int node_over(const struct node *, struct err *);
void node_stats(const struct node *, struct node_stats *);

#endif /* DOLLY_ENGINE_NODE_H */
