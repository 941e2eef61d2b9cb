/* server.h: the engine of the server.  Nodes join the server; it gives each a parent, sends
 * chunks of the image to the nodes that are its own children, and cuts out nodes that die,
 * hang or fall behind.  The engine has no sockets, clock or file.  Their owner calls it,
 * all in one thread:
 *
 *	dolly_server_input()		bytes have come over a connection
 *	dolly_server_output()		the bytes to send next
 *	dolly_server_deadline()		when to call dolly_server_act()
 *	dolly_server_take_wish()	after each other call: what the engine wants of its owner
 */
#ifndef DOLLY_ENGINE_SERVER_H
#define DOLLY_ENGINE_SERVER_H

#include "dolly/engine/roster.h"
#include "dolly/engine/wishes.h"

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
	                         nothing; also how long the server waits for others before it begins
	                         when a node has chunks already, of an earlier server */
	uint64_t slow;        /* bytes a second that a child must take at least; 0: any rate */
	uint64_t linger_us;   /* the server ends when no node was busy for this time, of those
	                         for which it stays (roster_is_worth()) */
	uint8_t key[MSG_KEY_BYTES]; /* random; of the server, as a parent */
};

/* Who has joined, as the owner says. */
struct dolly_server_guest {
	const char *refused; /* why it is not served; NULL: it is */
	struct roster_spot spot;
	uint8_t key[MSG_KEY_BYTES]; /* random; of the node, as a parent */
};

struct dolly_server;

/* Makes a server without nodes, which dolly_server_free() releases.  ERR_NOMEM. */
int dolly_server_new(struct dolly_server **, const struct dolly_server_config *,
    uint64_t now_us, struct err *);
/* Releases the server and its peers.  NULL is allowed. */
void dolly_server_free(struct dolly_server *);

/* Takes the next thing that the engine wants of its owner (wishes.h: those of a server), who
 * does it at once.  False: there is none. */
bool dolly_server_take_wish(struct dolly_server *, struct wish *);

/* A connection from this IPv4 address was accepted: returns its peer, which is the
 * engine's.  NULL: no memory. */
struct peer *dolly_server_accept(struct dolly_server *, const uint8_t address[4]);
/* These six do what the functions node_room(), node_input(), node_reads(), node_closed(),
 * node_output() and node_sent() do for a node (node.h). */
size_t dolly_server_room(struct dolly_server *, struct peer *, void **at);
void dolly_server_input(struct dolly_server *, struct peer *, const void *, size_t);
bool dolly_server_reads(const struct dolly_server *, const struct peer *);
void dolly_server_closed(struct dolly_server *, struct peer *, const char *why);
size_t dolly_server_output(struct dolly_server *, struct peer *, const void **at);
void dolly_server_sent(struct dolly_server *, struct peer *, size_t n);
/* The answer to WISH_ADMIT. */
void dolly_server_admit(struct dolly_server *, const struct dolly_server_guest *);
/* The answer to WISH_READ: the chunk is in its slot, and `length` bytes of it are sent.  Its
 * digest, of MSG_DIGEST_BYTES, is what nodes with the right chunk compute; NULL: none is said to
 * them.  With an error instead the chunk could not be read, and the server ends.  It also ends when
 * the digest is another one than before. */
void dolly_server_read(struct dolly_server *, uint32_t slot, uint32_t length,
    const uint8_t *digest, const struct err *);
/* The time at which dolly_server_act() is to be called, and the time that it is then. */
uint64_t dolly_server_deadline(const struct dolly_server *);
void dolly_server_act(struct dolly_server *, uint64_t now_us);
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
