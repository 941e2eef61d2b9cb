/* share.h: several servers on one link that is narrower than what they may send
 * together: do they share it, and how much is lost? */
#ifndef TESTS_SIM_SHARE_H
#define TESTS_SIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct share {
	uint32_t servers;     /* each with a client of its own */
	uint64_t link_bits;   /* a second */
	uint32_t queue_bytes; /* of the link */
	uint32_t latency_us;  /* one way */
	uint64_t rate_bits;   /* each one's cap */
	uint64_t start_us;    /* they start within so long */
	uint64_t measure_us;  /* and are watched for so long after that */
	double loss;          /* besides: of each packet, by chance */
	bool old;             /* clients without the extension */
	/* What may be: at least, at most. */
	double min_jain, min_use, max_loss;
};

struct share_outcome {
	double jain; /* fairness of what arrived: 1 is best */
	double use;  /* of the link */
	double loss; /* share of what was sent that the link dropped */
};

void share_run(const struct share *, uint64_t seed, struct share_outcome *);

#endif /* TESTS_SIM_SHARE_H */
