/* share.h: several servers on one link that is narrower than what they may send
 * together.  A run measures whether they share the link, and how much is lost. */
#ifndef TESTS_SIM_SHARE_H
#define TESTS_SIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct share {
	uint32_t servers;     /* each with a client of its own */
	uint64_t link_bits;   /* bits a second */
	uint32_t queue_bytes; /* of the link */
	uint32_t latency_us;  /* one way */
	uint64_t rate_bits;   /* highest rate of each server, bits a second */
	uint64_t start_us;    /* time within which they start */
	uint64_t measure_us;  /* time after that in which they are watched */
	double loss;          /* additional share of packets lost by chance */
	bool old;             /* clients do not have the extension */
	/* The first server ends so long after the last start; 0: it does not.  It comes back so much later,
	 * and its client waits for it; 0: neither does. */
	uint64_t end_us, down_us;
	uint32_t chunks; /* of its image; 0: as of the others', more than can be sent */
	/* Limits: the least fairness and use, and the largest loss. */
	double min_jain, min_use, max_loss;
};

struct share_outcome {
	double jain; /* fairness of what arrived: 1 is best */
	double use;  /* share of the link that was used */
	double loss; /* share of what was sent that the link dropped */
	/* What one of the others got in half a second after the end, at least and at most, as a multiple
	 * of what it got in such a time before; zeros: there was no end. */
	double least_kept, most_kept;
	bool whole; /* the first client has all of its image */
};

/* Runs a case to its end with this seed, and fills in what came of it. */
void share_run(const struct share *, uint64_t seed, struct share_outcome *);

#endif /* TESTS_SIM_SHARE_H */
