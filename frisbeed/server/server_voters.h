/* server_voters.h: how much influence each address has, whatever the number of clients
 * that it claims to have.
 *
 * As long as there are few addresses, each is believed.  With more, no address may
 * cause more parity than its share, and none can reduce the rate alone: losses of a
 * single address most likely come from its own link.
 *
 * Only server_voters.c writes struct voters and its addresses.
 */
#ifndef FRISBEED_SERVER_SERVER_VOTERS_H
#define FRISBEED_SERVER_SERVER_VOTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "frisbeed/server/server_image.h"

enum {
	VOTERS_FEW = 4,    /* if there are fewer addresses, each is believed */
	VOTERS_BALLOT = 5, /* the most addresses of a ballot; enough to decide it */
};
/* What addresses complain about: losses without a queue, losses with one, losses in step with
 * bursts, and repeated requests of the base protocol.  VOTERS_ASK counts addresses that send such requests.
 */
enum voters_about {
	VOTERS_LOST,
	VOTERS_QUEUE,
	VOTERS_STEP,
	VOTERS_AGAIN,
	VOTERS_ASK,
	VOTERS_BALLOTS
};

struct voter {
	uint8_t ip[4];
	uint32_t clients,
	    ext; /* its clients that are there; those of them with the extension */
	/* The parity blocks that it may still cause, when credit_at blocks had been
	 * sent. */
	double credit;
	uint64_t credit_at;
	/* The blocks that it may still want for the first time; and those that it wants again
	 * and that wait in the carousel. */
	uint32_t first, again;
	/* The NACKs of it that still count for what all need, at reports_us. */
	double reports;
	uint64_t reports_us;
	uint64_t ballot[VOTERS_BALLOTS]; /* the last ballot of each kind that it takes
	                                    part in */
	/* How often it complained alone, and the share of the blocks that it lost. */
	double alone, lost;
	bool aside;        /* its complaints do not count */
	uint64_t begun;    /* the last beginning that it took part in; 0: none */
	uint64_t begun_us; /* when its first JOIN did */
	uint64_t named_us; /* when the log last named it; 0: never */
};

/* The addresses that complain within a certain time. */
struct ballot {
	uint64_t number; /* 0: none yet */
	uint64_t since_us;
	uint32_t n, voter[VOTERS_BALLOT];
	uint32_t lost, of; /* the losses of the address that lost least */
	bool decided;
	uint32_t last_n; /* addresses of the ballot before, if it ended when this one
	                    began */
};

struct voters {
	struct lru lru;
	struct server_image image;
	struct {
		uint32_t voter, blocks;
	} *again; /* by chunk: who wants how many blocks of it again */
	struct voter *at;
	uint32_t here,
	    ext;        /* addresses with clients; those of them with the extension */
	uint32_t aside; /* how many of them are set aside */
	uint64_t agreed_us; /* when several had last lost something to a queue */
	uint64_t beginnings; /* how often one joined alone when nothing was to be sent */
	struct ballot ballots[VOTERS_BALLOTS];
};

/* -1: no memory; voters_fini() is needed then, too. */
int voters_init(
    struct voters *, uint32_t max, uint64_t seed, const struct server_image *);
void voters_fini(struct voters *);
/* A client of this address has come (voters_come()) or has left (voters_go()). */
void voters_come(struct voters *, const uint8_t ip[4], bool ext);
void voters_go(struct voters *, const uint8_t ip[4], bool ext);
/* Returns NULL if the address is unknown. */
struct voter *voters_find(struct voters *, const uint8_t ip[4]);
/* A client of this address joins, perhaps again, and wants everything.  idle: there is
 * nothing to send.  May the server begin anew for it?  An address may ask for that once, and
 * repeat it for a quarter of a second, since its answer may be lost; and again after a
 * client has joined when there was nothing to send, and nobody of another address was
 * there. */
bool voters_begin(struct voters *, const uint8_t ip[4], uint64_t now_us, bool idle);
/* How many parity blocks may the address cause now, when `sent` blocks have been sent?
 * There is no limit if few addresses are there or all have lost something, unless
 * believed is false. */
uint32_t voters_may_cause(struct voters *, struct voter *, uint64_t now_us,
    uint64_t sent, bool believed);
void voters_caused(struct voter *, uint32_t blocks);
/* The address wants a chunk, of which nobody else wants `blocks` blocks.  May it?  It may
 * want everything once, by JOIN or by this; beyond that no more than `most` blocks may wait
 * at a time. */
bool voters_want(struct voters *, struct voter *, uint32_t chunk, uint32_t blocks,
    uint32_t most);
/* Nothing of the chunk is wanted any more: it is being sent. */
void voters_gets(struct voters *, uint32_t chunk);
/* Does this NACK count for what all clients need?  budget: the NACKs a second that the
 * server aims at. */
bool voters_report(struct voters *, struct voter *, uint64_t now_us, double budget);
/* The address complains that it lost *lost of *of blocks.  Returns true if others do,
 * too, or it is believed alone; *lost of *of are then the losses that they agree about.
 */
bool voters_complain(struct voters *, struct voter *, uint64_t now_us, bool queue,
    uint32_t *lost, uint32_t *of);
/* The address has lost *lost of *of blocks in step with bursts.  Returns true if more than half
 * of all addresses have (five are always enough); *lost of *of are then the losses that they
 * agree about. */
bool voters_in_step(struct voters *, struct voter *, uint64_t now_us, uint32_t *lost,
    uint32_t *of);
/* A client of the base protocol has lost something.  Returns true if others have, too,
 * or it is believed alone. */
bool voters_ask_again(struct voters *, struct voter *, uint64_t now_us);
/* The address sends a request of the base protocol. */
void voters_ask(struct voters *, struct voter *, uint64_t now_us);
/* How many addresses do not send such requests, per address that does; at least 1. */
uint32_t voters_to_each_asker(const struct voters *, uint64_t now_us);
/* Is this address set aside, so that its complaints do not count?  If so,
 * *share_received is the share of the sent blocks that it receives, 0..1.  An address
 * without a vote is not. */
bool voters_is_aside(
    const struct voters *, const uint8_t ip[4], double *share_received);
/* Should the log name the address, because it has often complained alone; or because
 * others object to its complaints?  Not again within a minute. */
bool voters_name(struct voter *, uint64_t now_us);
bool voters_name_contested(struct voter *, uint64_t now_us);

#endif /* FRISBEED_SERVER_SERVER_VOTERS_H */
