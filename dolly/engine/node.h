/* node.h: the engine of a node.  The node joins a server, gets chunks from its parent, has
 * them installed, and sends them to its children.  The engine has no sockets, clock or
 * disk.  Their owner calls it, all in one thread:
 *
 *	node_input()		bytes have come over a connection
 *	node_output()		the bytes to send next
 *	node_deadline()		when to call node_act()
 *	node_take_wish()	after each other call: what the engine wants of its owner
 *
 * When the connection to the server ends, the node keeps its chunks, goes on with its
 * parent and its children, and dials the server until it answers.  If the server still
 * serves the same image, the node gets the chunks that it lacks.
 *
 * A node trusts its server, and the parent that the server has named.  A child that
 * connects to the node must have the key that the server gave out. */
#ifndef DOLLY_ENGINE_NODE_H
#define DOLLY_ENGINE_NODE_H

#include "dolly/engine/wishes.h"

/* The image, and how it is sent, as the server describes it. */
struct node_image {
	uint32_t chunks;
	uint64_t bytes;  /* size; the engine compares it when a server comes back */
	uint8_t content; /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES];
	uint64_t deadline_us; /* the longest time for which a child may take nothing */
};

/* The order in which the target takes chunks. */
struct node_target {
	bool in_order;     /* ascending, without gaps */
	bool chunk0_first; /* chunk 0 before all others, which may follow in any order */
};

struct node_config {
	const char *name;            /* for the server's table */
	uint16_t port;               /* to which children connect */
	uint64_t patience_us; /* time to wait for a server that went away; 0: none */
	struct spread_config spread; /* the engine sets its member `chunks` */
};

struct node_stats {
	uint32_t chunks, have; /* of the image; installed, and known to be what the server has */
	bool whole;            /* the target is complete */
	bool away;  /* the server is away, and is dialled again and again */
	bool met;   /* it was there once */
	bool alone; /* the server did not come back within patience_us */
	uint64_t received, forwarded; /* bytes of chunks */
	unsigned parents;             /* connections to parents, one after another */
	uint32_t damaged;             /* chunks that arrived damaged and were asked for again */
};

struct node;

/* Makes a node, which dials the server.  node_free() releases it.  ERR_NOMEM. */
int node_new(struct node **, const struct node_config *, uint64_t now_us, struct err *);
/* Releases the node and its peers.  NULL is allowed. */
void node_free(struct node *);

/* Takes the next thing that the engine wants of its owner (wishes.h: those of a node), who
 * does it at once.  False: there is none. */
bool node_take_wish(struct node *, struct wish *);

/* A connection from this IPv4 address was accepted: returns its peer, which is the
 * engine's.  NULL: no memory. */
struct peer *node_accept(struct node *, const uint8_t address[4]);
/* At most how many bytes to receive from the peer now, and at *at where they are wanted, until
 * the next call for this node; NULL: anywhere. */
size_t node_room(struct node *, struct peer *, void **at);
/* These bytes were received from the peer. */
void node_input(struct node *, struct peer *, const void *, size_t);
/* Is the peer's socket to be read now? */
bool node_reads(const struct node *, const struct peer *);
/* The connection has ended for the reason `why`; WISH_CLOSE of it follows. */
void node_closed(struct node *, struct peer *, const char *why);
/* The bytes to send to the peer next are at *at; returns how many, 0: none now. */
size_t node_output(struct node *, struct peer *, const void **at);
/* The first n bytes of the last node_output() were sent to the peer. */
void node_sent(struct node *, struct peer *, size_t n);
/* The answer to WISH_OPEN: the target is open, and has the chunks that were named by node_has()
 * before, which need not be put.  Or it cannot be opened, or the image is impossible: the
 * node has failed. */
void node_has(struct node *, uint32_t chunk);
void node_opened(struct node *, const struct node_target *);
void node_failed(struct node *, const struct err *);
/* The answer to WISH_PROVE.  The digest is of MSG_DIGEST_BYTES, or NULL: chunks have none that the
 * server says. */
void node_proved(struct node *, uint32_t slot, bool right, const uint8_t *digest);
/* The answer to WISH_PUT: the target has the chunk in this slot, which has this digest (as of
 * node_proved()).  Or the chunk is damaged, as the error says, and has to come again. */
void node_put(struct node *, uint32_t slot, const uint8_t *digest);
void node_put_damaged(struct node *, uint32_t slot, const struct err *);
/* The target needs this chunk, although it had it before. */
void node_needs(struct node *, uint32_t chunk);
/* The answer to WISH_FINISH: the target is complete (NULL), or has failed. */
void node_finished(struct node *, const struct err *);
/* The time at which node_act() is to be called, and the time that it is then. */
uint64_t node_deadline(const struct node *);
void node_act(struct node *, uint64_t now_us);
/* Handles the parent's messages that wait for a free slot.  The owner calls it after
 * node_sent() and node_put(), when it has sent all that can be sent. */
void node_resume(struct node *);

/* Has the node ended?  0: no.  1: it is whole, and either the server has let it go, or the
 * server is gone, so that nobody tells what became of the nodes behind it
 * (node_stats.alone).  -1: it has failed, with the error. */
int node_over(const struct node *, struct err *);
/* Fills in the node's counters and state. */
void node_stats(const struct node *, struct node_stats *);

#endif /* DOLLY_ENGINE_NODE_H */
