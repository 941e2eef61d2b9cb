/* server_speed.c: sets the pace of bursts to the rate that the network can carry.  The
 * shell sets limits, and the engine calls this before each block, in its only thread.
 */
#include "frisbeed/server/server_impl.h"

static double
per_s(uint64_t bits_per_s)
{
	return (double)bits_per_s / WIRE_BLOCK_COST_BITS;
}

void
server_follow_rate(struct server *s)
{
	pace_set(&s->pace, s->rate.now);
	if (s->rate.steps > 0)
		pace_scatter(&s->pace, s->now_us << 32 | s->cfg.ext.session | 1);
}

void
server_init_pace(struct server *s)
{
	pace_init(&s->pace, s->cfg.burst, s->cfg.gap_us);
	if (s->cfg.rate_bits != 0)
		pace_limit(&s->pace, per_s(s->cfg.rate_bits));
	else if (s->cfg.dynamic)
		pace_refine(&s->pace);
}

void
server_set_rate(struct server *s, uint64_t bits_per_s)
{
	pace_limit(&s->pace, per_s(bits_per_s));
	rate_limit(&s->rate, per_s(bits_per_s));
	if (s->cfg.dynamic && s->rate.begun)
		server_follow_rate(s);
}

void
server_trust_rate(struct server *s, uint64_t bits_per_s)
{
	rate_trust(&s->rate, per_s(bits_per_s));
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
	       rate_turn(&s->rate, now_us, server_sent_paced(s),
		   v == CONTEST_TIED && contest_turn(now_us));
}

void
server_judge_rate(struct server *s, uint64_t now_us)
{
	if (s->cfg.dynamic && take_turns(s, now_us))
		server_follow_rate(s);
	if (s->cfg.dynamic &&
	    rate_judge(&s->rate, now_us, server_sent_paced(s), s->members.ext == 0))
		server_follow_rate(s);
}
