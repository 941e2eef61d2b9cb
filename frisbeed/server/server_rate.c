/* server_rate.c: the rate that the network can carry.  The server's engine passes the
 * complaints of clients, and asks before each block, in its only thread. */
#include "frisbeed/server/server_rate.h"

#include <math.h>
#include <string.h>

#include "common/wire/wire.h"

/* Without a cap, 10 Gbit/s is assumed.  However fast the card is, the network behind it
 * may be an old one, of 1 Gbit/s. */
static const double NO_CAP = 1114000, GIGABIT = 111400;

/* Most of the numbers were found by simulation (docs/simulator.md). */
const struct rate_policy rate_usual = {
	/* Longer epochs are too slow: with 500 ms, the fairness of eight servers on one
	 * link (Jain's index) was 0.83, with 100 ms 0.99. */
	.epoch_us = 100000,
	/* A server begins with 89 Mbit/s on a card of 1 Gbit/s, which a network of 100
	 * Mbit/s carries; 1000 blocks a second are 9 Mbit/s, which any network carries for
	 * a moment.  On a card of 10 Gbit/s it begins with 156 Mbit/s: a network of 100
	 * Mbit/s would get as much in the next epoch anyway.  The rate doubles each epoch,
	 * as TCP's does each round trip: 1 Gbit/s is reached in 0.3 s.  When it began with
	 * 89 Mbit/s on that card, too, a load of four seconds took 1.065 times as long as
	 * at the best fixed rate, and more than 1.1 times with two of 100 seeds; now it
	 * takes 1.058 times as long, and 1.076 at most.  Complaints come after about 75 ms,
	 * so the rate must not be doubled much sooner: with 50 ms instead of 100, eight
	 * servers on one link lost 2.6 % instead of 1.5 %. */
	.ext = { .share = 0.089,
	    .fast = 1.0 / 64,
	    .first = 1000,
	    .step = 0.02,
	    .climb = 2 },
	/* Clients of the base protocol show late, or never, that the rate is too high.
	 * So it begins with what they are used to, 8000 blocks a second (72 Mbit/s), and
	 * rises slowly. */
	.old = { .share = 0.02, .first = 8000, .step = 0.003, .climb = 1.1 },
	.near = 0.15,
	.floor = 1.0 / 64,
	.slowest = 100,
	/* A rate that is too high stays until a complaint arrives.  So the later
	 * complaints arrive, the smaller the steps are: from three quarters of an epoch
	 * on, where it makes a difference, and never below a quarter. */
	.lag_us = 75000,
	.lag_power = 1.5,
	.lag_least = 0.25,
	/* 0.8 was best in simulation for losses with a queue.  Of servers that share a
	 * link, the one with the higher rate reduces it more (0.725 to 0.875), because
	 * otherwise their rates approach each other very slowly.  After the climb the
	 * rate may be twice what the link carries, and is 1.4 times that on average: 0.6
	 * brings it below, or the next complaint does.  With 0.5, clients of the base
	 * protocol have to wait.  If 40 % were lost, the rate is halved. */
	.down = 0.8,
	.even = 0.15,
	.down_first = 0.6,
	.down_much = 0.5,
	.much = 0.4,
	/* If less of the rate is used, it was not tried out, so it does not rise. */
	.used = 0.7,
	/* Requests for the same blocks arrive within half a second.  Less than 4 % may
	 * be the link's own losses.  If a rate below six tenths has not brought the
	 * losses below seven tenths of what they were, the rate does not cause them.
	 * (At a link of a twentieth of the rate 0.95 is lost, and 0.9 at half the rate,
	 * so where all lose much a sixteenth of the rate is tried.)
	 * The usual losses are forgotten in about a minute. */
	.again = { .us = 500000,
	    .share = 0.04,
	    .unusual = 1.2,
	    .helped = 0.7,
	    .lower = 0.6,
	    .lower_much = 1.0 / 16,
	    .forget = 0.99 },
};

enum {
	LAG_SMOOTH = 8, /* over how many complaints their delay is averaged */
	/* After so many epochs without a complaint, a lower rate has helped. */
	HELPED_EPOCHS = 3,
	TRIES = 4, /* how often a much lower rate is judged before it has not helped */
};

static double
cap_of(const struct rate *r)
{
	return r->cap > 0 ? r->cap : NO_CAP;
}

static const struct rate_growth *
growth(const struct rate *r, bool old)
{
	return old ? &r->policy->old : &r->policy->ext;
}

static double
gigabit_at_most(double blocks_per_s)
{
	return blocks_per_s < GIGABIT ? blocks_per_s : GIGABIT;
}

static void
set_cap(struct rate *r, double cap)
{
	r->cap = cap;
	r->floor = gigabit_at_most(cap_of(r)) * r->policy->floor;
	if (r->floor < r->policy->slowest)
		r->floor = r->policy->slowest;
	if (cap > 0 && r->floor > cap)
		r->floor = cap;
}

void
rate_init(struct rate *r, double cap, const struct rate_policy *policy)
{
	memset(r, 0, sizeof *r);
	r->policy = policy;
	set_cap(r, cap);
	r->climbing = true;
}

static void
set(struct rate *r, double to)
{
	if (to < r->floor)
		to = r->floor;
	r->now = to < cap_of(r) ? to : cap_of(r);
}

void
rate_limit(struct rate *r, double cap)
{
	set_cap(r, cap);
	if (r->begun)
		set(r, r->now > 0 ? r->now : cap);
}

static void
begin(struct rate *r, uint64_t now_us, uint64_t sent, bool old)
{
	r->begun = true;
	r->epoch_us = r->again.judged_us = now_us;
	r->epoch_sent = r->again.sent = sent;
	if (r->cap == 0)
		return; /* without a cap there is no rate before the first complaint */
	double first = gigabit_at_most(r->cap) * growth(r, old)->share;
	double least = growth(r, old)->first;
	double fast = (r->cap < NO_CAP ? r->cap : NO_CAP) * growth(r, old)->fast;
	if (first < fast)
		first = fast;
	if (first < r->known)
		first = r->known;
	set(r, first < least ? least : first);
}

void
rate_trust(struct rate *r, double blocks_per_s)
{
	r->known = blocks_per_s;
	if (r->begun && r->climbing && r->now > 0 && r->now < blocks_per_s)
		set(r, blocks_per_s);
}

static void
next_epoch(struct rate *r, uint64_t now_us, uint64_t sent)
{
	r->epoch++;
	r->epoch_us = now_us;
	r->epoch_sent = sent;
}

static double
sent_per_s(uint64_t from_us, uint64_t to_us, uint64_t blocks)
{
	return (double)blocks * 1e6 / (double)(to_us - from_us + 1);
}

/* The share of the rate that is left after a complaint. */
static double
kept(const struct rate *r, double share, bool climbed)
{
	if (share > r->policy->much)
		return r->policy->down_much;
	if (climbed)
		return r->policy->down_first;
	/* Of servers that share a link, the one with the higher rate reduces it more:
	 * otherwise their rates approach each other very slowly. */
	double even = r->cap > 0 ? r->policy->even * (r->now / r->cap - 0.5) : 0;
	return r->policy->down - even;
}

static void
down(struct rate *r, uint64_t now_us, uint64_t sent, double share, bool climbed)
{
	double factor = kept(r, share, climbed);
	double rate = r->now;

	/* A rate that was not used, or is not set, is not adjusted. */
	double used = sent_per_s(r->epoch_us, now_us, sent - r->epoch_sent);
	if (rate == 0 && now_us > r->epoch_us)
		rate = used;
	r->climbing = false;
	r->since_us = now_us;
	r->top = rate;
	r->steps++;
	set(r, rate * factor);
	next_epoch(r, now_us, sent);
	r->deaf_till = r->epoch;
}

/* A rate that is too high stays until a client complains, so steps must be smaller the
 * later complaints arrive. */
static double
late_share(const struct rate *r)
{
	if (r->lag_us <= r->policy->lag_us)
		return 1;
	double share = pow(r->policy->lag_us / r->lag_us, r->policy->lag_power);
	return share > r->policy->lag_least ? share : r->policy->lag_least;
}

/* The rate that the network may have, as far as is known: near the rate of the last complaint it
 * is that, or 1 Gbit/s; elsewhere it is as fast as the card.  So a rate rises soon to what the
 * network has carried, and there slowly: on a card of 10 Gbit/s and a network of 1 Gbit/s it
 * would rise by 6 % each epoch otherwise, and a tenth of what is sent would be lost before a
 * complaint can arrive. */
static double
network(const struct rate *r, double most)
{
	double top = r->top > GIGABIT ? r->top : GIGABIT;
	bool near = r->now > r->top * (1 - r->policy->near) &&
	            r->now < r->top * (1 + r->policy->near);

	return near && top < most ? top : most;
}

static void
up(struct rate *r, bool old)
{
	/* Clients of the base protocol show late, or never, that the rate is too high,
	 * however fast the card is. */
	double most = old ? gigabit_at_most(cap_of(r)) : cap_of(r);
	double step = growth(r, old && r->cap > 0)->step * late_share(r);

	if (r->now == 0)
		return;
	double to = r->climbing ? r->now * growth(r, old)->climb
	                        : r->now + step * sqrt(r->now * network(r, most));
	if (to > most)
		to = most;
	if (to > r->now)
		set(r, to);
	if (r->now >= most)
		r->climbing = false;
}

/* --- losses of which it is not known whether the rate causes them --- */

/* Is the rate so low that losses which it causes would be fewer than at the rate `saved`?  all:
 * those are the losses of all clients. */
static bool
is_low(const struct rate *r, double saved, double before, bool all)
{
	double lower = all && before > r->policy->much ? r->policy->again.lower_much
	                                               : r->policy->again.lower;
	double low = saved * lower;

	return r->now <= (low > r->floor ? low : r->floor);
}

/* Is a much lower rate still to be tried?  One client alone requests for a while what it has lost
 * at higher ones. */
static bool
is_trying(struct rate *r, double share)
{
	struct rate_again *a = &r->again;

	if (r->addresses != 1 || a->saved == 0 || a->before <= r->policy->much ||
	    !is_low(r, a->saved, a->before, true) ||
	    share < a->before * r->policy->again.helped)
		return false;
	return ++a->tried < TRIES;
}

/* Have lower rates not reduced such losses?  Then the rate does not cause them. */
static bool
has_not_helped(struct rate *r, double share)
{
	struct rate_again *a = &r->again;

	if (a->saved == 0 || !is_low(r, a->saved, a->before, r->addresses == 1))
		return false;
	double before = a->before, saved = a->saved;
	a->saved = 0;
	if (share < before * r->policy->again.helped)
		return false;
	a->usual = share > before ? share : before;
	set(r, saved);
	return true;
}

/* The mean share of a chunk that the clients lost; a request for a whole chunk counts
 * as all of it.  One client alone loses what it requests again, which may be the rest of
 * many chunks, little of each. */
static double
again_share(const struct rate *r, double sent)
{
	const struct rate_again *a = &r->again;
	double all = a->lost < sent ? a->lost / (sent + 1) : 1;
	double each = a->asks > 0 ? a->shares / a->asks : all;

	return r->addresses == 1 && all > each ? all : each;
}

static void
forget_again(struct rate_again *a, uint64_t now_us, uint64_t sent)
{
	a->judged_us = now_us;
	a->sent = sent;
	a->lost = a->shares = a->worst = 0;
	a->asks = 0;
	a->much = false;
}

static bool
judge_again(struct rate *r, uint64_t now_us, uint64_t sent)
{
	struct rate_again *a = &r->again;

	if (now_us - a->judged_us < r->policy->again.us)
		return false;
	double sent_now = (double)(sent - a->sent);
	double share = again_share(r, sent_now);
	/* If little was lost in all, the rate is not the cause. */
	bool much = share > a->usual * r->policy->again.unusual + r->policy->again.share &&
	            (a->lost > sent_now * r->policy->again.share ||
			a->worst > r->policy->again.share);
	double used = sent_per_s(a->judged_us, now_us, sent - a->sent);
	forget_again(a, now_us, sent);
	a->usual *= r->policy->again.forget;
	r->step.usual *= r->policy->again.forget;
	a->much = much;
	if (!much) {
		if (r->now >= a->saved)
			a->saved = 0;
		return false;
	}
	if (is_trying(r, share))
		return false;
	a->tried = 0;
	if (has_not_helped(r, share))
		return true;
	if (r->now == 0)
		set(r, used);
	if (a->saved == 0 || share > a->before)
		a->before = share;
	if (a->saved == 0)
		a->saved = r->now;
	down(r, now_us, sent, share, r->climbing);
	return true;
}

/* --- contested complaints: two rates in turns --- */

void
rate_mark(struct rate *r)
{
	if (!r->split)
		r->mark = (struct rate_side){ r->now, r->climbing };
}

static void
exchange(struct rate *r, const struct rate_side *to)
{
	r->other = (struct rate_side){ r->now, r->climbing };
	r->climbing = to->climbing;
	if (to->now > 0)
		set(r, to->now); /* the cap may be another one by now */
	else
		r->now = 0;
}

bool
rate_split(struct rate *r)
{
	if (r->split || !r->begun)
		return false;
	r->split = true;
	r->low = false;
	exchange(r, &r->mark);
	return true;
}

bool
rate_turn(struct rate *r, uint64_t now_us, uint64_t sent, bool low)
{
	struct rate_side to = r->other;

	if (!r->split || r->low == low)
		return false;
	r->low = low;
	exchange(r, &to);
	/* What is heard of the time before is about the other rate. */
	next_epoch(r, now_us, sent);
	r->deaf_till = r->epoch;
	return true;
}

bool
rate_unite(struct rate *r, bool low)
{
	struct rate_side to = r->other;

	if (!r->split)
		return false;
	r->split = false;
	if (r->low != low)
		exchange(r, &to);
	rate_mark(r);
	return true;
}

/* --- --- */

bool
rate_judge(struct rate *r, uint64_t now_us, uint64_t sent, bool old)
{
	if (!r->begun) {
		begin(r, now_us, sent, old);
		return r->now > 0;
	}
	if (judge_again(r, now_us, sent))
		return true;
	if (now_us - r->epoch_us < r->policy->epoch_us)
		return false;
	double used = sent_per_s(r->epoch_us, now_us, sent - r->epoch_sent);
	next_epoch(r, now_us, sent);
	if (r->epoch >= r->deaf_till + HELPED_EPOCHS)
		r->step.saved = 0;
	if (used < r->now * r->policy->used || r->again.much)
		return false;
	double before = r->now;
	up(r, old);
	return r->now != before;
}

static void
lost_somehow(struct rate_again *a, double share)
{
	a->shares += share;
	a->asks++;
}

/* Learn how late complaints arrive.  A single value may be wrong by half an epoch. */
static void
note_lag(struct rate *r, uint64_t now_us, uint32_t epoch)
{
	double lag = ((double)(r->epoch - epoch) - 0.5) * r->policy->epoch_us +
	             (double)(now_us - r->epoch_us);

	if (r->lag_us == 0)
		r->lag_us = lag; /* a server that learned it last must not rise first */
	r->lag_us += (lag - r->lag_us) / LAG_SMOOTH;
}

bool
rate_hears(const struct rate *r, uint32_t epoch)
{
	return r->begun && epoch >= r->deaf_till && epoch <= r->epoch;
}

bool
rate_complain(struct rate *r, uint64_t now_us, uint64_t sent, uint32_t epoch,
    uint32_t lost, uint32_t of, bool queue)
{
	if (!rate_hears(r, epoch) || of == 0)
		return false;
	if (!queue) {
		double share = (double)lost / of;
		lost_somehow(&r->again, share);
		if (r->again.worst < share)
			r->again.worst = share;
		return false;
	}
	note_lag(r, now_us, epoch);
	/* The rate is the cause, also of the blocks that were requested again, and
	 * lower rates help. */
	forget_again(&r->again, now_us, sent);
	r->again.saved = 0;
	down(r, now_us, sent, (double)lost / of, r->climbing);
	return true;
}

/* --- losses in step with bursts --- */

/* The rate has fallen to six tenths, and as much is lost as before: something else is the
 * cause. */
static bool
step_not_helped(struct rate *r, double share)
{
	struct rate_step *p = &r->step;
	double saved = p->saved;

	if (saved == 0 || !is_low(r, saved, p->before, true) ||
	    share < p->before * r->policy->again.helped)
		return false;
	p->usual = share > p->before ? share : p->before;
	p->saved = 0;
	set(r, saved);
	return true;
}

bool
rate_in_step(struct rate *r, uint64_t now_us, uint64_t sent, uint32_t epoch, uint32_t lost,
    uint32_t of)
{
	double share = of > 0 ? (double)lost / of : 0;

	if (!rate_hears(r, epoch) || share <= r->step.usual * r->policy->again.unusual)
		return false;
	note_lag(r, now_us, epoch);
	forget_again(&r->again, now_us, sent);
	r->again.saved = 0;
	if (step_not_helped(r, share)) {
		next_epoch(r, now_us, sent);
		r->deaf_till = r->epoch;
		return true;
	}
	if (r->step.saved == 0) {
		r->step.before = share;
		r->step.saved = r->now;
	}
	down(r, now_us, sent, share, r->climbing);
	return true;
}

void
rate_clients(struct rate *r, uint64_t now_us, uint32_t addresses)
{
	bool gone = addresses < r->addresses;

	r->addresses = addresses;
	if (!gone)
		return;
	r->since_us = now_us;
	r->again.usual = r->step.usual = 0;
	r->again.saved = r->step.saved = 0;
}

void
rate_asked_again(struct rate *r, uint32_t fresh, uint32_t lacks)
{
	r->again.lost += fresh;
	if (lacks < WIRE_CHUNK_BLOCKS)
		lost_somehow(&r->again, (double)lacks / WIRE_CHUNK_BLOCKS);
}
