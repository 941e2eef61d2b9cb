/* tally.h: the statistics of a session, summed over whatever serves it.
 *
 * Engines add what has changed since they did so last.  Several threads. */
#ifndef FRISBEED_SERVE_TALLY_H
#define FRISBEED_SERVE_TALLY_H

#include <pthread.h>

#include "frisbeed/server/server.h"

struct tally {
	struct server_stats server;
	uint64_t stalls; /* the kernel had no room */
	uint64_t rate;   /* bits a second, blocks on the wire: lately */
	uint64_t limit;  /* the sum of what its senders may send; 0: no limit */
};

struct tally_box {
	pthread_mutex_t lock;
	struct tally sum;
	uint64_t rate_us, rate_blocks; /* of the last sample */
};

void tally_init(struct tally_box *);
void tally_fini(struct tally_box *);
/* Add the difference of two statistics of one engine. */
void tally_add(struct tally_box *, const struct tally *now, const struct tally *before);
struct tally tally_get(struct tally_box *);
/* To be called once a second: `rate` is that since the last sample. */
struct tally tally_sample(struct tally_box *, uint64_t now_us);
/* a += b, for a sum over sessions. */
void tally_sum(struct tally *, const struct tally *);

static inline uint64_t
tally_packets(const struct tally *t)
{
	return t->server.blocks_sent + t->server.parity_sent;
}

static inline uint64_t
tally_control(const struct server_stats *s)
{
	return s->joins + s->leaves + s->requests + s->prequests + s->wants + s->nacks +
	       s->credits + s->mtu_acks;
}

#endif /* FRISBEED_SERVE_TALLY_H */
