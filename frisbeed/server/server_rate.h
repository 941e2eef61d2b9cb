/* server_rate.h: how fast the network can be sent to: up a little while nobody
 * complains, down to 0.8 of it when somebody does (to 0.6 the first time, to half of it
 * when much was lost), between a floor and the cap.
 *
 * Clients with the extension measure how late the server's time signals come.  One
 * that lost blocks while packets queued up says so: that is congestion.  Losses
 * without a queue most likely are not: the rate does not matter to them.  Many of
 * them count, but only as long as a lower rate makes them fewer.
 *
 * Old clients only ask again.  How much of a chunk they lack is taken for their share
 * of losses, of which we do not know whether there was a queue.
 * Source of the policy: the study in docs/simulator.md.
 *
 * Only server_rate.c writes struct rate.
 */
#ifndef FRISBEED_SERVER_SERVER_RATE_H
#define FRISBEED_SERVER_SERVER_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Losses of which nobody knows whether they come from the rate. */
struct rate_again {
	uint64_t judged_us, sent;
	uint32_t asks;
	bool much;            /* the last time */
	double lost;          /* blocks asked for again */
	double shares;        /* sum of what each one lost of a chunk, or of a while */
	double worst;         /* told by clients with the extension */
	double before, saved; /* share lost, and rate, before it was lowered; 0: not */
	double usual;         /* share that is lost at any rate */
};

/* How it goes up, depending on what the clients can say. */
struct rate_growth {
	double first; /* blocks a second to begin with, at least */
	double step;  /* added each epoch: so much of the mean of rate and cap */
	double climb; /* times this each epoch, while nobody has complained yet */
};

/* What decides.  Shares of the cap, or of the rate, where nothing else is said. */
struct rate_policy {
	uint64_t epoch_us; /* there is one decision in each */
	double first;      /* of the cap, to begin with */
	struct rate_growth ext, old; /* clients with the extension; old ones alone */
	double floor;      /* of the cap: the rate never goes below that ... */
	double slowest;    /* ... nor below this, in blocks a second */
	/* Steps are smaller where complaints come later than that: by this power of how
	 * much later, but no smaller than this share. */
	double lag_us, lag_power, lag_least;
	/* What is left of the rate after a complaint: usually (more or less by half of
	 * `even`, for a low or a high rate); after the climb; when more than `much` was
	 * lost. */
	double down, even, down_first, down_much, much;
	double used; /* it goes up only when so much of it was used */
	/* Losses of which nobody knows whether they come from the rate are judged after
	 * so long: */
	struct {
		uint64_t us;
		double share;   /* of what was sent: less does not matter */
		double unusual; /* times the usual share: less does not, either */
		double helped;  /* of the share before: that much less is a help */
		double lower;   /* of the rate before: it must have helped by then */
		double forget;  /* of the usual share is kept each time */
	} again;
};

extern const struct rate_policy rate_usual;

struct rate {
	const struct rate_policy *policy;
	double cap, floor; /* blocks a second; cap 0: none */
	double now;        /* 0: as fast as it goes */
	double known; /* rate that the network has carried for others; 0: not known */
	bool begun, climbing;
	uint64_t epoch_us, epoch_sent;
	uint32_t epoch;     /* number of it */
	uint32_t deaf_till; /* complaints of earlier epochs are known */
	uint32_t steps;     /* down, so far */
	double lag_us;      /* how late complaints come, most likely: long queues */
	struct rate_again again;
};

/* The policy stays the caller's. */
void rate_init(struct rate *, double cap, const struct rate_policy *);
/* Another cap (> 0): at once when it is lower, else there is room to climb. */
void rate_limit(struct rate *, double cap);
/* The network has carried this rate: a session that begins, or climbs without a complaint
 * so far, need not look for it. */
void rate_trust(struct rate *, double blocks_per_s);
/* Blocks are about to be sent; `sent` so far.  Only old clients are there?  Sets the
 * rate to begin with, and later judges what has been heard.  True: it has changed. */
bool rate_judge(struct rate *, uint64_t now_us, uint64_t sent, bool old);
/* Is what was sent in this epoch still worth a complaint? */
bool rate_hears(const struct rate *, uint32_t epoch);
/* A client has lost `lost` of the `of` blocks that were sent in this epoch; queue: while
 * packets waited in a queue.  True: the rate has changed. */
bool rate_complain(struct rate *, uint64_t now_us, uint64_t sent, uint32_t epoch,
    uint32_t lost, uint32_t of, bool queue);
/* A client of the base protocol asks again for `lacks` blocks of a chunk; `fresh` of them
 * nobody had asked for again before it. */
void rate_asked_again(struct rate *, uint32_t fresh, uint32_t lacks);

#endif /* FRISBEED_SERVER_SERVER_RATE_H */
