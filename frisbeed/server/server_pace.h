/* server_pace.h: when the next block may be sent: bursts that short queues can hold.
 *
 * A burst is what the rate brings in 100 us: at least one packet, at most 64 blocks, and
 * below 1 Gbit/s at most 8 blocks or one packet.  A burst that the user has chosen stays
 * as it is until a rate is set.  Each burst has its place on a line of time, on which
 * blocks follow each other at the rate.  A shell that wakes late is behind this line.  It
 * makes up for what it has missed at no more than 1.1 times the rate: it sends at once
 * what that brings since the last burst, up to what the rate brings in 250 us or 16
 * blocks, and the rest later.  If it is very late, a new line begins, and nothing is made
 * up for.  After pace_scatter(), when several servers may share a link, each burst is
 * sent at a random time before the place of the next one: otherwise the bursts of one
 * server might always arrive when another has just filled a queue.  Without a rate,
 * blocks are sent at once.
 *
 * Only server_pace.c writes struct pace.
 */
#ifndef FRISBEED_SERVER_SERVER_PACE_H
#define FRISBEED_SERVER_SERVER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	double cap;      /* the highest rate, blocks a second; 0: none */
	double rate;     /* the current rate, blocks a second; 0: no limit */
	uint32_t chosen; /* blocks of a burst that the user has chosen; 0: none */
	uint32_t size;   /* blocks of the current burst */
	uint32_t left;   /* blocks of it that may still be sent */
	double place_us, next_us; /* the places of this burst and of the next one */
	uint64_t start_us, due_us; /* when this burst began; when the next one begins */
	double allowed; /* blocks that might have gone besides when it began: at 1.1 times
	                   the rate, and no more than are made up for at once */
	uint64_t rng;              /* 0: bursts begin at their places */
	bool begun;
};

/* Bursts of `burst` blocks every `gap_us`; 0: no pacing. */
void pace_init(struct pace *, uint32_t burst, uint64_t gap_us);
/* Keep the rate, in bursts that are as short as the rate asks for. */
void pace_refine(struct pace *);
/* Set another cap (> 0), which is also the rate until another rate is set. */
void pace_limit(struct pace *, double blocks_per_s);
/* The highest rate in blocks a second; 0: no limit. */
double pace_cap(const struct pace *);
/* Set the rate, which is limited to the cap, and to one block in 10 s.  A higher rate
 * takes effect at once, a lower one with the next burst. */
void pace_set(struct pace *, double blocks_per_s);
/* From now on, send bursts at random times behind their places.  The seed is not 0. */
void pace_scatter(struct pace *, uint64_t seed);
/* When the next block may be sent. */
uint64_t pace_deadline_us(const struct pace *, uint64_t now_us);
/* The time that so many blocks take at the rate.  0: there is no rate, or bursts are as long, and
 * have such a pause before them anyway. */
uint64_t pace_rest_us(const struct pace *, uint32_t blocks);
/* A packet is sent now.  It would have `most` (> 0) blocks; returns how many it may have:
 * the first packet of a burst may have all of them. */
uint32_t pace_spend(struct pace *, uint64_t now_us, uint32_t most);

#endif /* FRISBEED_SERVER_SERVER_PACE_H */
