/* server_pace.h: when the next block may go: bursts on a grid of gaps.
 *
 * `burst` blocks every `gap_us` is the most that ever goes; a lower rate sends smaller
 * bursts, or leaves gaps out.  A shell that comes a whole gap late starts a new grid,
 * so that nothing is caught up; with gaps of a millisecond it may be four of them late.
 * Once several servers may meet on a link, each burst goes at a random time of its gap:
 * else one of them might always come just when another has filled a queue.  Without a
 * gap, blocks go at once, until a rate is set.
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
	double cap;                 /* blocks a second; 0: none */
	double per_gap;             /* blocks: now; 0: as fast as it goes */
	double credit, rest;        /* of the fraction; when the last burst began */
	uint32_t left;              /* of this burst */
	uint64_t start_us, next_us; /* on the grid */
	uint64_t due_us;            /* the next burst */
	uint64_t rng;               /* 0: on the grid itself */
	bool begun;
};

void pace_init(struct pace *, uint32_t burst, uint64_t gap_us);
/* The same rate, in bursts of a millisecond: short queues overflow less. */
void pace_refine(struct pace *);
/* Another cap (> 0), which is the rate until another one is set. */
void pace_limit(struct pace *, double blocks_per_s);
/* Blocks a second at most, 0: no limit. */
double pace_cap(const struct pace *);
/* At most the cap; one block in 10 s at least.  A faster rate counts at once, a slower
 * one from the next burst on. */
void pace_set(struct pace *, double blocks_per_s);
/* From now on, at random times; the seed is not 0. */
void pace_scatter(struct pace *, uint64_t seed);
/* When the next block may go. */
uint64_t pace_deadline_us(const struct pace *, uint64_t now_us);
/* It goes now, and more of the same burst, up to `most` (> 0): how many do. */
uint32_t pace_spend(struct pace *, uint64_t now_us, uint32_t most);

#endif /* FRISBEED_SERVER_SERVER_PACE_H */
