/* server_voters.h: how much a say each address has, whatever the number of clients that
 * it claims to be.
 *
 * While few clients are there, each is believed.  Of more, none may cause more parity
 * than its share, and none slows the server down alone: what only one of them lacks or
 * complains about is most likely that one's own link.
 *
 * Only server_voters.c writes struct voters and its addresses.
 */
#ifndef FRISBEED_SERVER_SERVER_VOTERS_H
#define FRISBEED_SERVER_SERVER_VOTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"

enum {
	VOTERS_FEW = 4, /* of fewer addresses than this, each is believed */
	VOTERS_BALLOT = 5,
};
/* What they complain about: losses without a queue, or with one; what is asked for by
 * requests of the base protocol, and again. */
enum voters_about { VOTERS_LOST, VOTERS_QUEUE, VOTERS_AGAIN, VOTERS_ASK, VOTERS_BALLOTS };

struct voter {
	uint8_t ip[4];
	uint32_t clients, ext; /* of it that are there; with the extension */
	/* Parity blocks that it may still cause, as of credit_at blocks that were sent. */
	double credit;
	uint64_t credit_at;
	/* Reports of it that count for what everybody needs, then. */
	double reports;
	uint64_t reports_us;
	uint64_t ballot[VOTERS_BALLOTS]; /* it is in these */
	/* How often it complained alone, and the share of blocks that it lost. */
	double alone, lost;
	bool aside;        /* its complaints do not count */
	uint64_t named_us; /* the log was told; 0: not yet */
};

/* The addresses that complain within a while. */
struct ballot {
	uint64_t number; /* 0: none yet */
	uint64_t since_us;
	uint32_t n, voter[VOTERS_BALLOT];
	uint32_t lost, of; /* of the one that lost the least */
	bool decided;
	uint32_t last_n; /* in the ballot before this one, if that ended then */
};

struct voters {
	struct lru roll;
	struct voter *at;
	uint32_t here, ext; /* addresses of clients; with the extension */
	uint32_t aside;     /* of these */
	uint64_t agreed_us; /* several have lost something to a queue, lastly then */
	struct ballot ballots[VOTERS_BALLOTS];
};

int voters_init(struct voters *, uint32_t max, uint64_t seed); /* -1: no memory */
void voters_fini(struct voters *);
/* A client of this address is there; it has left. */
void voters_come(struct voters *, const uint8_t ip[4], bool ext);
void voters_go(struct voters *, const uint8_t ip[4], bool ext);
/* NULL: unknown. */
struct voter *voters_find(struct voters *, const uint8_t ip[4]);
/* How many parity blocks may it cause now?  `sent` blocks have been.  When few are
 * there, or all have lost something, as many as it likes; not with `believed` false. */
uint32_t voters_may_cause(struct voters *, struct voter *, uint64_t now_us,
    uint64_t sent, bool believed);
void voters_caused(struct voter *, uint32_t blocks);
/* Does this report count for what all need?  The server likes to hear `budget` a
 * second. */
bool voters_report(struct voters *, struct voter *, uint64_t now_us, double budget);
/* It complains that it lost *lost of *of blocks.  True: so do others, or it is
 * believed alone; *lost of *of is what they agree about. */
bool voters_complain(struct voters *, struct voter *, uint64_t now_us, bool queue,
    uint32_t *lost, uint32_t *of);
/* An old client has lost something.  True: so have others, or it is believed alone. */
bool voters_ask_again(struct voters *, struct voter *, uint64_t now_us);
/* It asks for blocks by a request of the base protocol. */
void voters_ask(struct voters *, struct voter *, uint64_t now_us);
/* For each address that does so lately, how many do not; 1 at least. */
uint32_t voters_to_each_asker(const struct voters *, uint64_t now_us);
/* Is this address set aside, so that its complaints do not count?  If so, *share_received is
 * the share of the sent blocks that it receives, 0..1.  An address without a vote is not. */
bool voters_is_aside(const struct voters *, const uint8_t ip[4], double *share_received);
/* Has it complained alone so often that somebody should know, and does not yet? */
bool voters_name(struct voter *, uint64_t now_us);

#endif /* FRISBEED_SERVER_SERVER_VOTERS_H */
