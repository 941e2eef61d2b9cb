/* server.h: the server: nodes join it, it gives each a parent, sends chunks of the
 * image to those that are its own children, and cuts out who dies, hangs or falls
 * behind.  No sockets, no clock, no file: whoever has these calls the engine, and is
 * called through struct dolly_server_ops, all in one thread. */
#ifndef DOLLY_ENGINE_SERVER_H
#define DOLLY_ENGINE_SERVER_H

#include "dolly/engine/roster.h"

struct dolly_server_ops {
	/* Read a chunk to there, where spread.chunk_bytes fit, and call
	 * dolly_server_read(). */
	void (*read)(void *arg, uint32_t slot, uint32_t chunk, void *to);
	/* Forget the peer, after a try to send what is waiting; it is freed then. */
	void (*close)(void *arg, struct peer *);
	/* Bytes that nobody can guess. */
	void (*random)(void *arg, void *to, size_t n);
	/* Where somebody at this address stands; false: such a node is not served.
	 * NULL: all are served, in the order in which they join, as of one rack. */
	bool (*spot)(void *arg, const uint8_t address[4], struct roster_spot *);
	/* Something has happened to a node; for whoever watches.  Or NULL. */
	void (*event)(void *arg, const struct member *, const char *what);
};

struct dolly_server_config {
	struct spread_config spread;
	uint64_t bytes;  /* of what is served, */
	uint8_t content; /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES];
	unsigned arity;       /* children of a node: 1 a chain, ROSTER_MAX a star */
	uint32_t rack;        /* of the server, or ROSTER_NO_RACK */
	uint32_t nodes;       /* begin when this many nodes have joined */
	uint64_t start_us;    /* begin after this time without the rest; 0: never */
	uint64_t deadline_us; /* for which a node may be silent, or take nothing */
	uint64_t slow;        /* bytes a second that each takes at least; 0: any */
	uint64_t linger_us;
	const struct dolly_server_ops *ops;
	void *arg;
};

struct dolly_server;

int dolly_server_new(struct dolly_server **, const struct dolly_server_config *,
    uint64_t now_us, struct err *);
void dolly_server_free(struct dolly_server *);

/* Somebody has connected.  NULL: no memory. */
struct peer *dolly_server_accept(struct dolly_server *, const uint8_t address[4]);
/* As of node.h. */
void dolly_server_bytes(struct dolly_server *, struct peer *, const void *, size_t);
bool dolly_server_reads(const struct dolly_server *, const struct peer *);
void dolly_server_closed(struct dolly_server *, struct peer *, const char *why);
size_t dolly_server_output(struct dolly_server *, struct peer *, const void **at);
void dolly_server_sent(struct dolly_server *, struct peer *, size_t n);
/* A chunk was read, and is so many bytes long, as it is sent; or it could not be (an
 * error): then everything ends. */
void dolly_server_read(
    struct dolly_server *, uint32_t slot, uint32_t length, const struct err *);
/* Several times in each deadline. */
void dolly_server_tick(struct dolly_server *, uint64_t now_us);
/* Slots may have become free: more is read.  After dolly_server_sent(). */
void dolly_server_resume(struct dolly_server *);

/* Everybody is told to end, for this reason. */
void dolly_server_stop(struct dolly_server *, const char *why);

/* 0: it goes on; 1: all nodes that live are whole; -1: it has failed. */
int dolly_server_over(const struct dolly_server *, struct err *);
const struct roster *dolly_server_roster(const struct dolly_server *);
bool dolly_server_has_begun(const struct dolly_server *);
uint64_t dolly_server_bytes_sent(const struct dolly_server *);

#endif /* DOLLY_ENGINE_SERVER_H */
