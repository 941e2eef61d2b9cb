/* server_pace.c: when the next block may be sent.  The server's engine sets the rate,
 * and asks before each block, in its only thread. */
#include "frisbeed/server/server_pace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	/* The blocks of a burst, as long as its rate allows.  Where the server's link is
	 * faster than its clients', a burst comes to all ports at once: ports of 16 KB hold
	 * 14 blocks.  On faster networks, ports hold more. */
	SLOW_BURST = 8,
	FAST_BURST = 64,
	/* A shell that was late sends no more at once than the rate brings in this time, or
	 * this number of blocks: 32 KB, the queue of a small port, is 260 us at 1 Gbit/s. */
	MADE_UP_US = 250,
	/* A server that shares a busy machine may be tens of milliseconds late each time; if
	 * it could not make up for that, it would use so little of a low rate that the rate
	 * never rose. */
	MADE_UP_BLOCKS = 16,
	/* Who is later than this, and than 16 blocks take, had nothing to send, or stood
	 * still. */
	LATE_US = 6000,
};
static const double
    /* The lowest rate is a block in ten seconds, so that a session never stops. */
    SLOWEST_PER_S = 0.1,
    /* Places are exact to a thousandth of a microsecond. */
    ROUNDING_US = 1e-3,
    /* A burst is what the rate brings in this time. */
    BURST_US = 100,
    /* From 1 Gbit/s on, bursts are longer. */
    FAST_PER_S = 111400,
    /* What was missed is made up for at this multiple of the rate. */
    HURRY = 1.1;

static double
per_us(const struct pace *p)
{
	return p->rate / 1e6;
}

/* The blocks of a burst at the current rate. */
static uint32_t
burst(const struct pace *p)
{
	double most = p->rate < FAST_PER_S ? SLOW_BURST : FAST_BURST;
	double n = floor(per_us(p) * BURST_US);

	if (p->chosen != 0)
		return p->chosen;
	return (uint32_t)(n < 1 ? 1 : n > most ? most : n);
}

/* The most blocks that go at once when the shell was late. */
static double
made_up(const struct pace *p)
{
	double n = per_us(p) * MADE_UP_US;

	n = n > MADE_UP_BLOCKS ? n : MADE_UP_BLOCKS;
	return n > burst(p) ? n : burst(p);
}

/* How late the shell may be for the missed blocks to be made up for. */
static double
late_at_most_us(const struct pace *p)
{
	double few = p->chosen != 0 ? p->chosen / per_us(p) : LATE_US;
	double many = MADE_UP_BLOCKS / per_us(p);

	return few > many ? few : many;
}

/* A random delay of up to the time of a burst. */
static double
scattered_us(struct pace *p)
{
	if (p->rng == 0)
		return 0;
	/* xorshift64 */
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return (double)(p->rng >> 11) * 0x1p-53 * burst(p) / per_us(p);
}

/* When the next burst may begin, this late behind its place. */
static uint64_t
due(const struct pace *p, double late_us)
{
	double lacks = burst(p) - p->allowed;
	double soonest = (double)p->start_us + lacks / (HURRY * per_us(p));
	double at = p->next_us + late_us;

	return (uint64_t)ceil((at > soonest ? at : soonest) - ROUNDING_US);
}

static void
plan_next(struct pace *p)
{
	p->next_us = p->place_us + p->size / per_us(p);
	p->due_us = due(p, scattered_us(p));
}

/* A higher rate does not wait for a burst that was planned with the lower one. */
static void
plan_sooner(struct pace *p)
{
	struct pace planned = *p;

	planned.next_us = p->place_us + p->size / per_us(p);
	planned.due_us = due(&planned, 0);
	if (p->begun && planned.due_us < p->due_us)
		*p = planned;
}

void
pace_init(struct pace *p, uint32_t blocks, uint64_t gap_us)
{
	memset(p, 0, sizeof *p);
	if (gap_us == 0)
		return;
	p->chosen = blocks;
	p->cap = p->rate = blocks * 1e6 / (double)gap_us;
}

void
pace_refine(struct pace *p)
{
	p->chosen = 0;
}

void
pace_limit(struct pace *p, double blocks_per_s)
{
	p->chosen = 0;
	p->cap = p->rate = blocks_per_s;
	plan_sooner(p);
}

double
pace_cap(const struct pace *p)
{
	return p->cap;
}

void
pace_set(struct pace *p, double blocks_per_s)
{
	p->chosen = 0;
	if (blocks_per_s < SLOWEST_PER_S)
		blocks_per_s = SLOWEST_PER_S;
	p->rate = p->cap > 0 && blocks_per_s > p->cap ? p->cap : blocks_per_s;
	plan_sooner(p);
}

void
pace_scatter(struct pace *p, uint64_t seed)
{
	if (p->rng == 0)
		p->rng = seed;
}

uint64_t
pace_rest_us(const struct pace *p, uint32_t blocks)
{
	return p->rate > 0 && burst(p) < blocks ? (uint64_t)(blocks / per_us(p)) : 0;
}

uint64_t
pace_deadline_us(const struct pace *p, uint64_t now_us)
{
	if (p->rate == 0 || !p->begun || p->left > 0 || p->due_us < now_us)
		return now_us;
	return p->due_us;
}

/* How many blocks go now: a burst, and what was missed before it. */
static uint32_t
goes_now(const struct pace *p, double behind_us)
{
	double n = burst(p);

	n *= 1 + floor(behind_us * per_us(p) / n);
	n = n > p->allowed ? floor(p->allowed) : n;
	return n < burst(p) ? burst(p) : (uint32_t)n;
}

/* A burst begins with a packet of this number of blocks. */
static void
begin_burst(struct pace *p, uint64_t now_us, uint32_t packet)
{
	/* What is left of a burst has not used its place. */
	double behind = (double)now_us - p->next_us + p->left / per_us(p);
	bool late = !p->begun || behind >= late_at_most_us(p);

	p->place_us = late ? (double)now_us : (double)now_us - behind;
	p->allowed += HURRY * per_us(p) * (double)(now_us - p->start_us);
	if (late || p->allowed > made_up(p))
		p->allowed = made_up(p);
	p->size = late ? burst(p) : goes_now(p, behind);
	if (p->size < packet && p->chosen == 0)
		p->size = packet;
	p->allowed -= p->size;
	p->start_us = now_us;
	p->left = p->size;
	p->begun = true;
	plan_next(p);
}

uint32_t
pace_spend(struct pace *p, uint64_t now_us, uint32_t most)
{
	if (p->rate == 0)
		return most;
	if (!p->begun || now_us >= p->due_us)
		begin_burst(p, now_us, most);
	assert(p->left > 0);
	uint32_t n = most < p->left ? most : p->left;
	p->left -= n;
	return n;
}
