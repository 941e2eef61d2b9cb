/* server_pace.c: when the next block may be sent.  The server's engine sets the rate,
 * and asks before each block, in its only thread. */
#include "frisbeed/server/server_pace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	/* The finest grid.  The timers of servers are much finer than a millisecond,
	 * and even short queues hold the blocks of a millisecond at 1 Gbit/s. */
	FINE_GAP_US = 1000,
	/* The blocks of a burst on that grid without a cap: 10 Gbit/s. */
	FREE_BURST = 1114,
	/* On that grid: if a busy machine wakes the shell this many gaps late, the
	 * missed blocks are made up for.  Otherwise a tenth of the rate would be lost
	 * to timers. */
	LATE_US = 4000,
	/* At low rates this many missed blocks are made up for, however late that is: no
	 * queue is too short for them.  A server that shares a busy machine may be tens of
	 * milliseconds late each time; without this it would use so little of a low rate
	 * that the rate never rose. */
	LATE_BLOCKS = 16,
};
/* The lowest rate is a block in ten seconds, so that a session never stops.  Sums of
 * fractions of blocks are exact to a millionth. */
static const double SLOWEST_PER_S = 0.1, ROUNDING = 1e-6;

/* A random delay of up to a gap after the point of the grid. */
static uint64_t
scattered_us(struct pace *p)
{
	if (p->rng == 0)
		return 0;
	/* xorshift64 */
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return p->rng % p->gap_us;
}

/* When the next burst may begin, after one that began at start_us. */
static void
plan_next(struct pace *p)
{
	/* Gaps pass without a burst until there is a whole block to send. */
	uint64_t gaps = 1;

	if (p->rest + p->per_gap < 1)
		gaps = (uint64_t)ceil((1 - p->rest) / p->per_gap - ROUNDING);
	p->credit = p->rest + (double)(gaps - 1) * p->per_gap;
	p->next_us = p->start_us + gaps * p->gap_us;
	p->due_us = p->next_us + scattered_us(p);
}

/* A higher rate does not wait for a burst that was planned with the lower one. */
static void
plan_sooner(struct pace *p)
{
	struct pace planned = *p;

	if (!p->begun || p->left > 0)
		return;
	plan_next(&planned);
	if (planned.next_us < p->next_us)
		*p = planned;
}

void
pace_init(struct pace *p, uint32_t burst, uint64_t gap_us)
{
	memset(p, 0, sizeof *p);
	p->burst = gap_us != 0 ? burst : FREE_BURST;
	p->gap_us = gap_us;
	p->per_gap = gap_us != 0 ? burst : 0;
	p->cap = gap_us != 0 ? burst * 1e6 / (double)gap_us : 0;
}

void
pace_limit(struct pace *p, double blocks_per_s)
{
	p->cap = blocks_per_s;
	p->gap_us = FINE_GAP_US;
	p->per_gap = p->cap * FINE_GAP_US / 1e6;
	p->burst = (uint32_t)p->per_gap + 1;
	plan_sooner(p);
}

void
pace_refine(struct pace *p)
{
	if (p->gap_us > FINE_GAP_US)
		pace_limit(p, p->cap);
}

double
pace_cap(const struct pace *p)
{
	return p->cap;
}

void
pace_set(struct pace *p, double blocks_per_s)
{
	if (p->gap_us == 0)
		p->gap_us = FINE_GAP_US;
	if (blocks_per_s < SLOWEST_PER_S)
		blocks_per_s = SLOWEST_PER_S;
	if (p->cap > 0 && blocks_per_s > p->cap)
		blocks_per_s = p->cap;
	p->per_gap = blocks_per_s * (double)p->gap_us / 1e6;
	if (p->per_gap > p->burst)
		p->per_gap = p->burst;
	plan_sooner(p);
}

void
pace_scatter(struct pace *p, uint64_t seed)
{
	if (p->rng == 0)
		p->rng = seed;
}

uint64_t
pace_deadline_us(const struct pace *p, uint64_t now_us)
{
	if (p->gap_us == 0 || !p->begun || p->left > 0 || p->due_us < now_us)
		return now_us;
	return p->due_us;
}

/* How late a burst may be for those behind it to keep their places on the grid. */
static uint64_t
late_at_most_us(const struct pace *p)
{
	uint64_t few = p->gap_us > FINE_GAP_US ? p->gap_us : LATE_US;
	double many = LATE_BLOCKS / p->per_gap * (double)p->gap_us;

	return many > (double)few ? (uint64_t)many : few;
}

static void
begin_burst(struct pace *p, uint64_t now_us)
{
	bool on_time = p->begun && now_us < p->due_us + late_at_most_us(p);

	p->start_us = on_time ? p->next_us : now_us;
	/* The gap before this burst has passed by then. */
	p->credit += p->credit < 1 ? p->per_gap : 0;
	if (!p->begun && p->credit < 1)
		p->credit = 1;
	p->begun = true;
	p->left = p->credit < p->burst ? (uint32_t)p->credit : p->burst;
	p->left += p->left == 0;
	p->rest = p->credit - p->left;
	plan_next(p);
}

uint32_t
pace_spend(struct pace *p, uint64_t now_us, uint32_t most)
{
	if (p->gap_us == 0)
		return most;
	if (!p->begun || (p->left == 0 && now_us >= p->due_us))
		begin_burst(p, now_us);
	assert(p->left > 0);
	uint32_t n = most < p->left ? most : p->left;
	p->left -= n;
	return n;
}
