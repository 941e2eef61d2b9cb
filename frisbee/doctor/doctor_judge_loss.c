/* doctor_judge_loss.c: the checks of how packets pass: how large they may be, over
 * how many routers, and how many are lost, one by one and in bursts. doctor_judge.c
 * calls this, in the program's only thread. */
#include <stdio.h>
#include <string.h>

#include "frisbee/doctor/doctor_judge.h"

enum {
	LOSS_BAD = 3,    /* percent: more than chance explains on a clean network */
	LOSS_HEAVY = 20, /* percent: from here on the sentence tells the cost */
	BURST_BAD = 10,  /* percent */
	BURST_LEAST = 20, /* fewer answers than these tell nothing */
	/* Packets that took longer are no burst: less than a quarter of the rate. */
	BURST_MOST_US = 4 * DOCTOR_LOSS_PROBES * DOCTOR_BURST_US,
	SESSION_LEAST = 100, /* fewer blocks than these tell nothing */
};

/* How large packets pass?  Blocks of a session and the packets of a burst are as large as blocks:
 * where some of them came, the packets of all sizes were lost for another reason. */
static uint32_t
largest_that_passes(const struct doctor_facts *f)
{
	bool came = f->session.heard > 0 || f->burst.got > 0;
	uint32_t block = judge_block_bytes(f);

	return came && f->largest < block ? block : f->largest;
}

void
judge_mtu(const struct doctor_facts *f, struct doctor_report *r)
{
	uint32_t largest = largest_that_passes(f);

	if (f->mtu < judge_block_bytes(f))
		judge_say(r, "mtu", DOCTOR_BAD,
		    "the MTU of %s is %u, but packets with blocks have %u bytes: raise "
		    "the MTU (ip link set %s mtu 1500)",
		    f->iface, f->mtu, judge_block_bytes(f), f->iface);
	else if (f->large_sent == 0)
		judge_say(r, "mtu", DOCTOR_UNKNOWN, "no server answers probes");
	else if (largest >= judge_block_bytes(f))
		judge_say(r, "mtu", DOCTOR_OK, "packets of %u bytes pass", largest);
	else
		judge_say(r, "mtu", DOCTOR_BAD,
		    "packets with blocks have %u bytes, but only packets of up to %u "
		    "bytes pass: raise the MTU on the way between the server and this "
		    "machine",
		    judge_block_bytes(f), largest);
}

void
judge_routers(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->hops < 0)
		judge_say(
		    r, "ttl", DOCTOR_UNKNOWN, "the distance to the server is unknown");
	else
		judge_say(r, "ttl", f->hops < DOCTOR_TTL ? DOCTOR_OK : DOCTOR_BAD,
		    "%d router%s on the way; there may be %d", f->hops,
		    f->hops == 1 ? "" : "s", DOCTOR_TTL - 1);
}

static unsigned
percent(uint64_t lost, uint64_t of)
{
	return of == 0 || lost > of ? 0 : (unsigned)((200 * lost + of) / (2 * of));
}

/* The rate of this number of packets with blocks, sent in `us`. */
static double
mbits_per_s(const struct doctor_facts *f, double packets, uint64_t us)
{
	return packets * judge_block_bytes(f) * 8 / (double)(us > 0 ? us : 1);
}

/* Says how much is lost, and what that costs.  Blocks are sent until all clients have them, so
 * with a share p lost each block is sent 1 / (1 - p) times. */
static void
say_loss(struct doctor_report *r, const struct doctor_loss *l, unsigned out, unsigned in)
{
	static const char look[] =
	    "check cables, duplex settings, Wi-Fi and full queues";
	char cost[96];

	if (in < LOSS_HEAVY && out < LOSS_HEAVY)
		snprintf(cost, sizeof cost, "loads work, but with more packets");
	else if (in >= 100 || out >= 100)
		snprintf(cost, sizeof cost, "no load can complete");
	else if (in >= LOSS_HEAVY)
		snprintf(cost, sizeof cost,
		    "a load takes about %.1f times as many packets, and as long",
		    100.0 / (100 - in));
	else
		snprintf(cost, sizeof cost,
		    "a load takes longer, because what it asks for often comes late");
	judge_say(r, "loss", DOCTOR_BAD,
	    "%u %% of %u packets to the server are lost, %u %% of %u from it: %s; %s", out,
	    l->sent, in, l->answered, cost, look);
}

void
judge_loss(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_loss *l = &f->loss;
	unsigned out = percent(l->sent - l->heard, l->sent);
	unsigned in = percent(l->answered - l->got, l->answered);

	if (l->sent == 0)
		judge_say(r, "loss", DOCTOR_UNKNOWN,
		    "not measured: no answers to probes through the group");
	else if (out >= LOSS_BAD || in >= LOSS_BAD)
		say_loss(r, l, out, in);
	else
		judge_say(r, "loss", DOCTOR_OK,
		    "%u %% of %u packets to the server are lost, %u %% of %u from it", out,
		    l->sent, in, l->answered);
}

static unsigned
lost_of(const struct doctor_loss *l)
{
	return percent(l->answered - l->got, l->answered);
}

/* Is more lost than chance explains, and more than twice the usual loss (percent)? */
static bool
is_lossy(const struct doctor_loss *l, unsigned usual)
{
	return l->answered >= BURST_LEAST && lost_of(l) >= BURST_BAD &&
	       lost_of(l) > 2 * usual;
}

/* Packets that pass in a second. */
static double
passing(const struct doctor_loss *l)
{
	unsigned gaps = l->got > 1 ? l->got - 1 : 0;

	return gaps * 1e6 / (double)(l->got_us > 0 ? l->got_us : 1);
}

/* Does something limit the number of packets, and not of bytes?  Then about the same share of short
 * ones gets lost as of long ones, or about as many of them pass in a second: a busy machine may
 * send one burst more slowly than the other, or all of one within a few turns. */
static bool
limits_packets(const struct doctor_facts *f)
{
	const struct doctor_loss *s = &f->burst_short, *b = &f->burst;

	return is_lossy(s, lost_of(&f->loss)) &&
	       (3 * lost_of(s) >= 2 * lost_of(b) || passing(s) <= 2 * passing(b));
}

/* Says how many packets of a burst get lost. */
static void
say_burst(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_loss *b = &f->burst;
	double packets = passing(b), mbits = mbits_per_s(f, packets, 1000000);

	judge_say(r, "burst", DOCTOR_BAD,
	    "%u %% of %u packets as large as blocks are lost when they come in a "
	    "burst, and %u %% of short packets; %u %% are lost when they come one by "
	    "one; about %.0f packets (%.1f Mbit/s) pass in a second: %s%s",
	    lost_of(b), b->answered, lost_of(&f->burst_short), lost_of(&f->loss),
	    packets, mbits,
	    limits_packets(f) ? "a switch may limit the number of packets (storm control)"
		       : "the cause is a slow link, or one that other traffic fills",
	    f->iface_drops > 0 ? "; the interface itself drops packets" : "");
}

/* Says why nothing is known of bursts, although few packets were lost: they did not come in one.
 * False: they did. */
static bool
say_no_burst(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_loss *b = &f->burst;

	if (b->sent_us > BURST_MOST_US)
		judge_say(r, "burst", DOCTOR_UNKNOWN,
		    "not measured: this machine was too busy to ask for a burst (its "
		    "packets had %.1f Mbit/s); run the doctor again",
		    mbits_per_s(f, DOCTOR_LOSS_PROBES, b->sent_us));
	else if (b->got_us > BURST_MOST_US)
		judge_say(r, "burst", DOCTOR_UNKNOWN,
		    "not measured: the server could not send a burst (%.1f Mbit/s came): "
		    "it was too busy, or the link is slow and keeps much in a queue",
		    mbits_per_s(f, b->got, b->got_us));
	else
		return false;
	return true;
}

void
judge_burst(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_loss *b = &f->burst;

	if (b->sent == 0)
		judge_say(r, "burst", DOCTOR_UNKNOWN,
		    "not measured: no answers to probes through the group");
	else if (b->dropped_here)
		judge_say(r, "burst", DOCTOR_UNKNOWN,
		    "not measured: this machine was too busy to receive 100 packets in "
		    "a burst");
	else if (b->answered < BURST_LEAST)
		judge_say(r, "burst", DOCTOR_UNKNOWN,
		    "not measured: the server answered only %u of 100 probes, because "
		    "other machines ask as well, or because probes get lost",
		    b->answered);
	else if (is_lossy(b, lost_of(&f->loss)))
		say_burst(f, r);
	else if (!say_no_burst(f, r))
		judge_say(r, "burst", DOCTOR_OK,
		    "of %u packets as large as blocks, %u %% are lost when they come "
		    "in a burst (%.1f Mbit/s)",
		    b->answered, lost_of(b),
		    mbits_per_s(f, b->answered, b->sent_us));
}

/* Is the network to blame for so many blocks of a session that did not come to the
 * doctor? */
static bool
is_session_lossy(const struct doctor_facts *f, uint64_t blocks)
{
	unsigned lost = percent(blocks, f->session.sent);

	return lost >= BURST_BAD && lost > 2 * lost_of(&f->loss);
}

/* Judges the loss of a session's blocks.  Blocks come in clumps, so they may be lost where probes
 * between them are not.  What this machine dropped has passed the network. */
void
judge_session(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_session *s = &f->session;
	uint32_t gone = s->heard < s->sent ? s->sent - s->heard : 0;
	uint64_t passed_by = f->buffer_drops < gone ? f->buffer_drops : gone;
	double sent = mbits_per_s(f, s->sent, s->us), heard = mbits_per_s(f, s->heard, s->us);
	unsigned lost = percent(gone, s->sent);

	if (s->sent < SESSION_LEAST || !judge_arrives(f))
		return;
	if (is_session_lossy(f, gone) && !is_session_lossy(f, gone - passed_by))
		judge_say(r, "session", DOCTOR_UNKNOWN,
		    "not measured: this machine was too busy to receive what a session "
		    "sends just now (%.1f Mbit/s); run the doctor again",
		    sent);
	else if (is_session_lossy(f, gone))
		judge_say(r, "session", DOCTOR_BAD,
		    "%u %% of the blocks that a session sends just now (%.1f Mbit/s) "
		    "get lost on the way to this machine, and %u %% of short probes; "
		    "about %.1f Mbit/s pass: the cause is a slow link, a port that "
		    "other traffic fills, or a limit in a switch",
		    lost, sent, lost_of(&f->loss), heard);
	else
		judge_say(r, "session", DOCTOR_OK,
		    "of the blocks that a session sends just now (%.1f Mbit/s), %u %% "
		    "get lost",
		    sent, lost);
}
