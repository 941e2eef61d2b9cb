/* server_pace.h: when the next block may be sent: bursts on a grid of gaps.
 *
 * The highest rate is `burst` blocks every `gap_us`; a lower rate means smaller bursts,
 * or gaps without a burst.  If the shell is a whole gap late, a new grid begins, so that
 * nothing is caught up; with gaps of a millisecond, four gaps are tolerated, and at low
 * rates as much time as 16 blocks take.  After pace_scatter(), when several servers may
 * share a link, each burst is sent at a random time within its gap: otherwise the bursts
 * of one server might always arrive when another has just filled a queue.  Without a gap,
 * blocks are sent at once until a rate is set.
 *
 * Only server_pace.c writes struct pace.
 */
#ifndef FRISBEED_SERVER_SERVER_PACE_H
#define FRISBEED_SERVER_SERVER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint32_t burst;
	uint64_t gap_us;
	double cap;     /* the highest rate, blocks a second; 0: none */
	double per_gap; /* the current rate, blocks per gap; 0: no limit */
	double credit,
	    rest; /* saved-up fraction of a block: now; when the last burst began */
	uint32_t left;              /* blocks of this burst that may still be sent */
	uint64_t start_us, next_us; /* the current and the next point of the grid */
	uint64_t due_us;            /* when the next burst begins */
	uint64_t rng;               /* 0: bursts begin at the points of the grid */
	bool begun;
};

void pace_init(struct pace *, uint32_t burst, uint64_t gap_us);
/* Keep the rate, in bursts of a millisecond: they overflow fewer short queues. */
void pace_refine(struct pace *);
/* Set another cap (> 0), which is also the rate until another rate is set. */
void pace_limit(struct pace *, double blocks_per_s);
/* The highest rate in blocks a second; 0: no limit. */
double pace_cap(const struct pace *);
/* Set the rate, which is limited to the cap, and to one block in 10 s.  A higher rate
 * takes effect at once, a lower one with the next burst. */
void pace_set(struct pace *, double blocks_per_s);
/* From now on, send bursts at random times within their gaps.  The seed is not 0. */
void pace_scatter(struct pace *, uint64_t seed);
/* When the next block may be sent. */
uint64_t pace_deadline_us(const struct pace *, uint64_t now_us);
/* A block is sent now, and more of the same burst, `most` (> 0) in all.  Returns how
 * many may be. */
uint32_t pace_spend(struct pace *, uint64_t now_us, uint32_t most);

#endif /* FRISBEED_SERVER_SERVER_PACE_H */
