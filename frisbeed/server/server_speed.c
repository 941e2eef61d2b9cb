/* server_speed.c: sets the pace of bursts to the rate that the network can carry.  The
 * shell sets limits, and the engine calls this before each block, in its only thread.
 */
#include "frisbeed/server/server_impl.h"

#include <assert.h>

void
server_follow_rate(struct server *s)
{
	pace_set(&s->pace, s->rate.now);
	if (s->rate.steps > 0)
		pace_scatter(&s->pace, s->now_us << 32 | s->cfg.ext.session | 1);
}

void
server_rate_to_burst(uint64_t bits_per_s, uint32_t *burst, uint64_t *gap_us)
{
	const uint64_t cost = (uint64_t)WIRE_BLOCK_COST_BITS *
	                      1000; /* of one in 1 ms */

	assert(bits_per_s > 0);
	if (bits_per_s > UINT32_MAX * cost / 100)
		bits_per_s = UINT32_MAX * cost / 100;
	/* The shortest gap in whole milliseconds whose whole number of blocks is
	 * at most 1 % below the rate, and never above it. */
	for (uint64_t ms = (cost - 1) / bits_per_s + 1;; ms++) {
		uint64_t blocks = bits_per_s * ms / cost;
		if (blocks * cost * 100 >= bits_per_s * ms * 99) {
			*burst = (uint32_t)blocks;
			*gap_us = ms * 1000;
			return;
		}
	}
}

void
server_set_rate(struct server *s, uint64_t bits_per_s)
{
	double per_s = (double)bits_per_s / WIRE_BLOCK_COST_BITS;

	pace_limit(&s->pace, per_s);
	rate_limit(&s->rate, per_s);
	if (s->cfg.dynamic && s->rate.begun)
		server_follow_rate(s);
}

void
server_trust_rate(struct server *s, uint64_t bits_per_s)
{
	rate_trust(&s->rate, (double)bits_per_s / WIRE_BLOCK_COST_BITS);
	if (s->cfg.dynamic && s->rate.begun)
		server_follow_rate(s);
}

/* Complaints that are contested have a rate of their own, half of the time. */
static bool
take_turns(struct server *s, uint64_t now_us)
{
	enum contest_verdict v = s->rate.split ? contest_verdict(&s->contest, now_us)
	                                       : CONTEST_OVER;

	if (v == CONTEST_OVER)
		return rate_unite(&s->rate, contest_complained(&s->contest, now_us));
	return v != CONTEST_AGREED &&
	       rate_turn(&s->rate, now_us, server_sent_all(&s->sent),
		   v == CONTEST_TIED && contest_turn(now_us));
}

void
server_judge_rate(struct server *s, uint64_t now_us)
{
	if (s->cfg.dynamic && take_turns(s, now_us))
		server_follow_rate(s);
	if (s->cfg.dynamic && rate_judge(&s->rate, now_us, server_sent_all(&s->sent),
				  s->members.ext == 0))
		server_follow_rate(s);
}
