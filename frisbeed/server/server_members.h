/* server_members.h: the clients of the session.
 *
 * Their number is bounded, in all and per address.  When there are too many, those that
 * never requested anything are forgotten first.  A client that falls silent is
 * forgotten after a while.
 *
 * Only server_members.c writes struct server_members and its clients.
 */
#ifndef FRISBEED_SERVER_SERVER_MEMBERS_H
#define FRISBEED_SERVER_SERVER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"

enum {
	SERVER_MEMBERS_LEFT =
	    64, /* how many clients that have just left are remembered */
	/* Clients of one address.  No host loads that many disks at once, so a
	   neighbour who claims more clients invents them. */
	SERVER_MEMBERS_ADDRESS = 64,
};

/* The id of a client that requests without having joined.  Real ids have 31 bits. */
#define SERVER_MEMBERS_UNNAMED UINT32_MAX

struct server_client {
	uint8_t ip[4];
	uint32_t id;
	uint64_t heard_us;  /* when it last said something */
	bool ext;           /* it joined with the extension */
	bool no_interleave; /* it has too few buffers for interleaved chunks */
	bool waits;         /* it has said that it waits for blocks */
	bool resumes; /* it may have parts of chunks that this server has not sent */
	/* Its cohort (server_scheduled.h), and when it joined.  A client that was not
	 * heard to join has the first cohort, and the time when the server began. */
	uint32_t cohort, joined_ms;
};

/* Callbacks for clients that come and go.  The client is valid during the call. */
struct server_members_watch {
	void (*comes)(void *arg, const struct server_client *);
	void (*goes)(void *arg, const struct server_client *);
	/* Called after goes() if the client was forgotten because it was silent for
	 * silent_us. */
	void (*silent)(void *arg, const struct server_client *, uint64_t silent_us);
	void *arg;
};

struct server_members {
	struct lru lru; /* by address; clients that requested something are protected */
	struct server_client *client; /* by entry of lru */
	uint32_t ext, no_interleave, waiting; /* how many clients have these flags */
	uint32_t most; /* the most clients that were there at the same time */
	uint32_t begun_ms;
	uint64_t heard_us;  /* when the last message of any client arrived */
	uint64_t forget_us; /* when silent clients are searched for again */
	struct server_members_watch watch;
	struct {
		uint8_t ip[4];
		uint32_t id;
		uint64_t at_us;
	} left[SERVER_MEMBERS_LEFT]; /* ring */
	uint32_t nleft;              /* how many clients have left so far */
};

/* max: the most clients; seed: a number that strangers do not know.  Returns -1 without
 * memory; server_members_fini() is needed then, too. */
int server_members_init(struct server_members *, uint32_t max, uint64_t seed,
    uint64_t now_us, const struct server_members_watch *);
void server_members_fini(struct server_members *);
/* Returns the client, which is valid until another one is added, or NULL if it is not
 * known. */
const struct server_client *server_members_find(
    const struct server_members *, const uint8_t ip[4], uint32_t id);
/* Add a client that is not known yet, with its cohort. */
const struct server_client *server_members_add(struct server_members *, uint64_t now_us,
    const uint8_t ip[4], uint32_t id, bool ext, uint32_t cohort);
/* A message of a known client has arrived.  asks: it is a request, so that the client
 * is protected from being forgotten before others. */
void server_members_heard(
    struct server_members *, uint64_t now_us, const struct server_client *, bool asks);
/* A client of this address has sent a request without its id.  Returns false if no
 * client of the address is known or has just left. */
bool server_members_asks(struct server_members *, uint64_t now_us, const uint8_t ip[4]);
/* Note of a client that it may have parts of chunks that this server has not sent. */
void server_members_resumes(struct server_members *, const struct server_client *);
/* Note of a client that it has too few buffers for interleaved chunks. */
void server_members_no_interleave(
    struct server_members *, const struct server_client *);
/* Note of a client that it waits for blocks.  False: that was known. */
bool server_members_waits(struct server_members *, const struct server_client *);
/* Note of a client that it was here before, because it was not heard to join. */
void server_members_was_here(struct server_members *, const struct server_client *);
/* The client leaves.  Returns false if it is not known. */
bool server_members_leave(
    struct server_members *, uint64_t now_us, const uint8_t ip[4], uint32_t id);
/* Has the client just left?  The two ports are read one after the other, so what a
 * client sent to the second one may be heard after its LEAVE. */
bool server_members_has_left(
    const struct server_members *, uint64_t now_us, const uint8_t ip[4], uint32_t id);
/* Forget the clients that have been silent for so long that they must be dead.
 * blocked_us: when the last block was sent. */
void server_members_forget(
    struct server_members *, uint64_t now_us, uint64_t blocked_us);

/* The number of clients. */
static inline uint32_t
server_members_count(const struct server_members *r)
{
	return r->lru.n;
}

/* The number of a client, below max, for arrays in which other parts keep more about
 * it. */
static inline uint32_t
server_members_index(const struct server_members *r, const struct server_client *c)
{
	return (uint32_t)(c - r->client);
}

#endif /* FRISBEED_SERVER_SERVER_MEMBERS_H */
