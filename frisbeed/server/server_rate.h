/* server_rate.h: the rate that the network can carry.  It doubles each epoch until the
 * first complaint, and rises a little each epoch from then on; it falls to 0.8 of its
 * value after a complaint (to 0.6 while it still doubles, to half when much was lost),
 * and stays between a floor and the cap.
 *
 * Clients with the extension measure how late the server's time signals arrive.  A
 * client that lost blocks while packets were queued reports it: this is congestion.
 * Losses without a queue most likely do not depend on the rate.  If they are many they
 * count, but only as long as a lower rate reduces them.
 *
 * Clients of the base protocol only repeat requests.  The part of a chunk that they
 * lack is taken for their share of losses; whether there was a queue is not known then.
 * docs/protocol-rules.md (11) says why.
 *
 * Only server_rate.c writes struct rate.
 */
#ifndef FRISBEED_SERVER_SERVER_RATE_H
#define FRISBEED_SERVER_SERVER_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Losses of which it is not known whether the rate causes them. */
struct rate_again {
	uint64_t judged_us, sent;
	uint32_t asks;
	bool much;     /* the losses were high when they were last judged */
	double lost;   /* blocks that were requested again */
	double shares; /* the sum of the shares that the clients lost */
	double worst;  /* the highest share that clients with the extension reported */
	double before, saved; /* share lost, and rate, before the rate was reduced; 0:
	                         it was not */
	double usual;         /* the share that is lost at any rate */
	unsigned tried;       /* how often a much lower rate was judged */
};

/* A rate, and whether it still doubles. */
struct rate_side {
	double now;
	bool climbing;
};

/* How the rate rises, depending on what the clients can report. */
struct rate_growth {
	/* The first rate is `share` of the cap, or of 1 Gbit/s if the cap is higher, but at
	 * least `fast` of the cap, or of 10 Gbit/s if the cap is higher, and at least `first`
	 * blocks a second. */
	double share, fast, first;
	double step;  /* each epoch adds this share of sqrt(rate * cap) */
	double climb; /* the factor of each epoch before the first complaint */
};

/* The constants of the policy: shares of the cap, or of the rate, unless stated
 * otherwise. */
struct rate_policy {
	uint64_t epoch_us; /* there is one decision in each epoch */
	struct rate_growth ext,
	    old;        /* with the extension; with clients of the base protocol only */
	double near;    /* so near the rate of the last complaint, the rate rises slowly */
	double floor;   /* the lowest rate, as a share of the cap, or of 1 Gbit/s */
	double slowest; /* the floor has at least this many blocks a second */
	/* If complaints arrive later than lag_us, each step is multiplied by the power
	 * lag_power of lag_us / their delay, but by no less than lag_least. */
	double lag_us, lag_power, lag_least;
	/* The share of the rate that is left after a complaint: usually (more for a low
	 * rate and less for a high one, by up to half of `even`); after the climb; and
	 * when more than `much` was lost. */
	double down, even, down_first, down_much, much;
	double used; /* the rate rises only if this share of it was used */
	/* How losses of which it is not known whether the rate causes them are judged,
	 * each `us`. */
	struct {
		uint64_t us;
		double share; /* a smaller share of the sent blocks does not matter */
		double
		    unusual; /* less than the usual share times this does not matter */
		double helped; /* losses below this share of those before show that it
		                  helped */
		double
		    lower; /* at this share of the rate before, it must have helped */
		/* ... when more than `much` was lost, and all lose it. */
		double lower_much;
		double forget; /* the part of the usual share that is kept each time */
	} again;
};

extern const struct rate_policy rate_usual;

/* Losses in step with bursts. */
struct rate_step {
	/* Share lost, and rate, before the rate was reduced for them; 0: it was not, or that
	 * has helped. */
	double before, saved;
	double usual; /* the share that lower rates have not reduced */
};

struct rate {
	const struct rate_policy *policy;
	double cap,
	    floor;  /* the highest and the lowest rate, blocks a second; cap 0: none */
	double now; /* the current rate; 0: no limit */
	double top; /* at the last complaint; 0: there was none */
	double known; /* a rate that the network has carried for others; 0: not known */
	bool begun, climbing;
	uint64_t epoch_us, epoch_sent;
	uint32_t epoch;     /* the number of the current epoch */
	uint32_t deaf_till; /* complaints about earlier epochs are ignored */
	uint32_t steps;     /* how often the rate was reduced so far */
	double lag_us; /* how late complaints arrive, which is long with long queues */
	uint32_t addresses; /* that clients have */
	uint64_t since_us;  /* when the rate was last reduced, or a client left */
	struct rate_again again;
	/* Where complaints are contested there are two rates, one of those who complain
	 * (low) and one of those who object, which take turns: server_contest.h. */
	bool split, low; /* there are two; the one that complaints lower is in use */
	struct rate_side mark, other; /* before anybody complained; the one not in use */
	struct rate_step step;
};

/* The policy must stay valid. */
void rate_init(struct rate *, double cap, const struct rate_policy *);
/* Set another cap (> 0).  A lower cap limits the rate at once; with a higher one it can
 * rise. */
void rate_limit(struct rate *, double cap);
/* The network has carried this rate for others: a session that begins, or has had no
 * complaint yet, continues from it. */
void rate_trust(struct rate *, double blocks_per_s);
/* Call this before blocks are sent, with the number of blocks sent so far; old: all
 * clients use the base protocol.  It sets the first rate, and adjusts it later. Returns
 * true if it has changed. */
bool rate_judge(struct rate *, uint64_t now_us, uint64_t sent, bool old);
/* Does a complaint about this epoch still count? */
bool rate_hears(const struct rate *, uint32_t epoch);
/* A client has lost `lost` of the `of` blocks that were sent in this epoch; queue:
 * while packets waited in a queue.  Returns true if the rate has changed. */
bool rate_complain(struct rate *, uint64_t now_us, uint64_t sent, uint32_t epoch,
    uint32_t lost, uint32_t of, bool queue);
/* Nobody has complained about the rate of now: the objectors' rate, if anybody
 * objects. */
void rate_mark(struct rate *);
/* Somebody objects to the complaints since then.  Returns true if the rate has
 * changed. */
bool rate_split(struct rate *);
/* It is the turn of those who complain (low), or of those who object; or (rate_unite())
 * only those who complain speak any more (low), or nobody complains.  Returns true if the
 * rate has changed. */
bool rate_turn(struct rate *, uint64_t now_us, uint64_t sent, bool low);
bool rate_unite(struct rate *, bool low);
/* More than half of the clients have lost `lost` of the `of` blocks of this epoch in step with
 * bursts.  Returns true if the rate has changed: it falls, unless falling has not helped. */
bool rate_in_step(struct rate *, uint64_t now_us, uint64_t sent, uint32_t epoch,
    uint32_t lost, uint32_t of);
/* Clients have so many addresses now.  When there are fewer than before, what clients usually
 * lose is not known any more: those that have gone may have lost it. */
void rate_clients(struct rate *, uint64_t now_us, uint32_t addresses);
/* A client of the base protocol re-requests `lacks` blocks of a chunk; `fresh` of them
 * had not been re-requested by anyone. */
void rate_asked_again(struct rate *, uint32_t fresh, uint32_t lacks);

#endif /* FRISBEED_SERVER_SERVER_RATE_H */
