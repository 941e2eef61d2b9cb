/* tally.h: the statistics of a session, summed over all its engines.
 *
 * Each stream adds what has changed in its engine since it did so last.  Any thread may call
 * these functions. */
#ifndef FRISBEED_SERVE_TALLY_H
#define FRISBEED_SERVE_TALLY_H

#include <pthread.h>

#include "frisbeed/server/server.h"

struct tally {
	struct server_stats server;
	uint64_t stalls; /* how often the kernel had no room for a packet */
	/* The rate on the wire of the packets of tally_all_packets() between the last two
	 * samples, in bits a second. */
	uint64_t rate;
	uint64_t limit;  /* the sum of what its streams may send, bits a second; 0: no limit */
};

struct tally_box {
	pthread_mutex_t lock;
	struct tally sum;
	uint64_t rate_us, rate_blocks; /* of the last sample */
};

/* Make a tally of zeros, and release what it holds. */
void tally_init(struct tally_box *);
void tally_fini(struct tally_box *);
/* Adds the difference between two statistics of one engine. */
void tally_add(struct tally_box *, const struct tally *now, const struct tally *before);
/* Copies the sums. */
struct tally tally_get(struct tally_box *);
/* Computes `rate` since the last sample, and copies the sums.  To be called once a second. */
struct tally tally_sample(struct tally_box *, uint64_t now_us);
/* Adds a tally to the first one, for a sum over sessions. */
void tally_sum(struct tally *, const struct tally *);

/* The number of blocks and parity blocks that were sent, without URGENT_DATA: clients count
 * what they receive in the same way. */
static inline uint64_t
tally_packets(const struct tally *t)
{
	return t->server.blocks_sent + t->server.parity_sent;
}

/* The number of blocks and parity blocks that were sent, with URGENT_DATA. */
static inline uint64_t
tally_all_packets(const struct tally *t)
{
	return tally_packets(t) + t->server.urgent_sent;
}

/* The number of messages of clients that were heard, without URGENT. */
static inline uint64_t
tally_control(const struct server_stats *s)
{
	return s->joins + s->leaves + s->requests + s->prequests + s->wants + s->nacks +
	       s->credits + s->mtu_acks + s->congestions;
}

#endif /* FRISBEED_SERVE_TALLY_H */
