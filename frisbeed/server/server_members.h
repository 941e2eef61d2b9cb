/* server_members.h: the clients that are there.
 *
 * Their number is bounded, and so is that of one address: when more come, first those
 * give way that never asked for anything.  A client that falls silent is forgotten
 * after a while.
 *
 * Only server_members.c writes struct server_roll and its clients.
 */
#ifndef FRISBEED_SERVER_SERVER_MEMBERS_H
#define FRISBEED_SERVER_SERVER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"

enum {
	SERVER_ROLL_LEFT = 64, /* clients that left lately and are remembered */
	/* Of one address; a host has no more disks, so more are made up. */
	SERVER_ROLL_ADDRESS = 64,
};

/* The id of a client that asked without having joined: theirs have 31 bits. */
#define SERVER_ROLL_UNNAMED UINT32_MAX

struct server_client {
	uint8_t ip[4];
	uint32_t id;
	uint64_t heard_us; /* when it last said something */
	bool ext;          /* it joined with the extension */
	bool no_sets;      /* it has too few buffers for chunks that take turns */
	bool resumes;      /* it may have parts of chunks that this server has not sent */
	/* The turn of joins in which it came, and when; of one that was not heard to join,
	 * the first turn, and when the server began. */
	uint32_t joined_in, joined_ms;
};

/* Who else is told of clients.  The client is valid during the call. */
struct server_roll_watch {
	void (*comes)(void *arg, const struct server_client *);
	void (*goes)(void *arg, const struct server_client *);
	/* After goes(), when a client went because it was silent for silent_us. */
	void (*silent)(void *arg, const struct server_client *, uint64_t silent_us);
	void *arg;
};

struct server_roll {
	struct lru lru; /* by address; clients that asked for something are dear */
	struct server_client *client; /* by entry of lru */
	uint32_t ext, no_sets;        /* clients of which this is true */
	uint32_t most;                /* clients at once, ever */
	uint32_t begun_ms;
	uint64_t heard_us;  /* when any of them last said something */
	uint64_t forget_us; /* when the silent ones are looked for again */
	struct server_roll_watch watch;
	struct {
		uint8_t ip[4];
		uint32_t id;
		uint64_t at_us;
	} left[SERVER_ROLL_LEFT]; /* ring */
	uint32_t nleft;           /* ever */
};

/* max: clients; seed: not known to strangers.  -1: no memory; server_roll_fini() also
 * then. */
int server_roll_init(struct server_roll *, uint32_t max, uint64_t seed, uint64_t now_us,
    const struct server_roll_watch *);
void server_roll_fini(struct server_roll *);
/* NULL: not known.  A client is valid until another one is added. */
const struct server_client *server_roll_find(
    const struct server_roll *, const uint8_t ip[4], uint32_t id);
/* A client that is not known has come, in this turn of joins. */
const struct server_client *server_roll_add(struct server_roll *, uint64_t now_us,
    const uint8_t ip[4], uint32_t id, bool ext, uint32_t turn);
/* A known client has said something; asks: it has asked for something, and is kept
 * before those that never did. */
void server_roll_heard(
    struct server_roll *, uint64_t now_us, const struct server_client *, bool asks);
/* Somebody of this address asks for something and does not tell its id.  False: nobody of
 * it is known, nor has just left. */
bool server_roll_asks(struct server_roll *, uint64_t now_us, const uint8_t ip[4]);
/* What is known of a client: it was here before; it has few buffers; it was not heard to
 * join. */
void server_roll_resumes(struct server_roll *, const struct server_client *);
void server_roll_no_sets(struct server_roll *, const struct server_client *);
void server_roll_was_here(struct server_roll *, const struct server_client *);
/* It leaves; false: it is not known. */
bool server_roll_leave(
    struct server_roll *, uint64_t now_us, const uint8_t ip[4], uint32_t id);
/* Has it just left?  The ports are read one after the other: what a client said on the
 * second one may be heard after its LEAVE. */
bool server_roll_has_left(
    const struct server_roll *, uint64_t now_us, const uint8_t ip[4], uint32_t id);
/* Forget the clients that have been silent for so long that they must be dead.  A block
 * was last sent at blocked_us. */
void server_roll_forget(struct server_roll *, uint64_t now_us, uint64_t blocked_us);

/* How many clients are there? */
static inline uint32_t
server_roll_count(const struct server_roll *r)
{
	return r->lru.n;
}

/* A number below max, for arrays of other parts that keep more about a client. */
static inline uint32_t
server_roll_index(const struct server_roll *r, const struct server_client *c)
{
	return (uint32_t)(c - r->client);
}

#endif /* FRISBEED_SERVER_SERVER_MEMBERS_H */
