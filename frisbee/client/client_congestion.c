/* client_congestion.c: measures congestion.  The engine calls this when a time
 * signal arrives and when it looks for a message to send, in its only thread. */
#include "frisbee/client/client_congestion.h"

#include <math.h>

enum {
	/* Clocks drift: the shortest way of a signal is believed for this time. */
	BASE_US = 5000000,
	/* A delay below this is scheduling, and no queue. */
	QUEUE_US = 300,
	/* When fewer blocks are missing than before, one in this many of them is
	 * believed to have come late; the others may have been doubled. */
	FEWER = 64,
	/* Fewer blocks than this are too few for a share. */
	FEW = 16,
	/* The longest queue is forgotten within about this many signals. */
	FORGET = 256,
	/* The share of losses is a mean over about this many signals. */
	SMOOTH = 16,
	/* Stretches without losses after which a client hears everything: fifty
	 * milliseconds. */
	CLEAR = 2,
	/* What is lost in fewer places than this between two signals, more than a burst in each,
	 * does not come in step with bursts: something has disturbed the link. */
	PLACES = 8, TOGETHER = 8,
	/* So many stretches show what is usual. */
	KNOWN = 4,
};
static const double
    /* A queue of less than this share of the longest one loses nothing. */
    QUEUE_SHARE = 0.3,
    /* Losses without a queue are told when they are more than this share. */
    MUCH = 0.04,
    /* Losses with a queue of less than this share are not told.  A stream of TCP in the same
     * queue gives way at each loss: when this was 0.004, it had a third of its share. */
    LITTLE = 0.0005,
    /* Of what was counted without a queue, this part is left one signal later. */
    KEPT = 63.0 / 64,
    /* What came in step with bursts counts so much less: a cable that has become bad is usual
     * after some seconds, and what comes and goes with a stream of TCP is not. */
    STEP_WEIGHT = 1.0 / 8,
    /* Losses that no queue makes come with one, too.  By chance they are x more than
     * twice what is usual with a likelihood of e^(-1.26 x): more is asked for with
     * each doubling of those who count, and less where less than this share is usual.
     */
    EXCESS = 4, EXCESS_DOUBLED = 0.55, USUAL = 0.002,
    /* Losses in step with bursts of less than this share are not told. */
    STEP = 0.01;

/* The shortest way of a signal that is believed. */
static int64_t
shortest_us(const struct client_congestion *l)
{
	return l->base_us[0] < l->base_us[1] ? l->base_us[0] : l->base_us[1];
}

/* A signal has come much sooner than those at which losses without a queue were counted,
 * so there was a queue then, too: a client that joins while a queue is full does not
 * notice it before the queue becomes shorter.  If these losses went on to count as usual
 * ones, the client would hardly ever complain, and its server would take more than its
 * share of the link. */
static void
forget_quiet(struct client_congestion *l, int64_t base)
{
	if (l->quiet_of == 0 || (double)base + QUEUE_US >= l->quiet_base_us)
		return;
	l->quiet_lost = l->quiet_of = 0;
	l->quiet_n = 0;
	l->quiet_wait = CLIENT_CONGESTION_DELAYS;
}

static void
note_delay(struct client_congestion *l, uint64_t now_us, uint64_t time_us)
{
	int64_t way_us = (int64_t)(now_us - time_us);

	if (l->base_from_us == 0) {
		l->base_us[0] = l->base_us[1] = way_us;
		l->base_from_us = now_us;
	} else if (now_us - l->base_from_us >= BASE_US) {
		l->base_us[1] = l->base_us[0];
		l->base_us[0] = way_us;
		l->base_from_us = now_us;
	}
	if (l->base_us[0] > way_us)
		l->base_us[0] = way_us;
	int64_t base = shortest_us(l);
	for (unsigned i = CLIENT_CONGESTION_DELAYS - 1; i > 0; i--)
		l->delay_us[i] = l->delay_us[i - 1];
	l->delay_us[0] = (uint64_t)way_us - (uint64_t)base;
	forget_quiet(l, base);
	l->most_delay_us -= l->most_delay_us / FORGET;
	if (l->most_delay_us < l->delay_us[0])
		l->most_delay_us = l->delay_us[0];
}

/* Blocks of those before the last signal but one that did not arrive.  Packets to two
 * ports may take two ways through the kernel: what is missing at one signal and there
 * at the next one is not lost. */
static uint64_t
count_lost(struct client_congestion *l, uint64_t received)
{
	int64_t missing = (int64_t)(l->sent - received) - l->offset;
	int64_t sure = missing < l->missing ? missing : l->missing;
	int64_t lost = sure - l->lost;

	l->missing = missing;
	/* Fewer than before: some that came later are among them, or were doubled. */
	l->lost += lost > 0 ? lost : lost / FEWER;
	return lost > 0 ? (uint64_t)lost : 0;
}

/* Is there a queue that can be the reason of losses? */
static bool
queued_up(const struct client_congestion *l)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < CLIENT_CONGESTION_DELAYS; i++)
		if (most < l->delay_us[i])
			most = l->delay_us[i];
	return most > QUEUE_US && (double)most > QUEUE_SHARE * (double)l->most_delay_us;
}

void
client_congestion_signal(struct client_congestion *l, uint64_t now_us, uint64_t time_us,
    uint32_t epoch, uint64_t sent)
{
	note_delay(l, now_us, time_us);
	l->pending_us = now_us;
	l->pending_epoch = epoch;
	if (sent < l->sent || sent - l->sent > UINT32_MAX - l->of)
		l->begun = false;
	l->of += sent - l->sent;
	l->sent = sent;
}

/* The share of blocks that is lost without a queue. */
static double
usual_share(const struct client_congestion *l)
{
	double share = l->quiet_of > 0 ? l->quiet_lost / l->quiet_of : 0;

	return share < MUCH ? share : MUCH;
}

static void
count_quiet(struct client_congestion *l, uint64_t lost, uint64_t of, double weight)
{
	double base = (double)shortest_us(l), kept = 1 - (1 - KEPT) * weight;

	l->excess = 0;
	if (l->quiet_wait > 0) {
		l->quiet_wait--;
		return;
	}
	/* It follows clocks that drift. */
	l->quiet_base_us = l->quiet_of > 0 ? l->quiet_base_us * KEPT + base * (1 - KEPT) : base;
	l->quiet_n += l->quiet_n < KNOWN;
	l->quiet_lost = l->quiet_lost * kept + (double)lost * weight;
	l->quiet_of = l->quiet_of * kept + (double)of * weight;
}

/* A cable or a radio link loses as much with a queue as without one: only what
 * comes on top of that is the queue's doing. */
static bool
overflows(struct client_congestion *l, uint64_t lost, uint64_t of)
{
	double usual = usual_share(l);
	double limit = EXCESS + EXCESS_DOUBLED * log2(l->clients > 0 ? l->clients : 1);

	if (usual < USUAL)
		limit *= usual / USUAL;
	l->excess += (double)lost - 2 * usual * (double)of;
	if (l->excess < 0)
		l->excess = 0;
	if (lost == 0 || (double)lost < LITTLE * (double)of || l->excess <= limit)
		return false;
	l->excess = 0;
	return true;
}

/* A queue that is too short to be seen overflows: much more is lost than usual, and in many
 * places. */
static bool
comes_in_step(const struct client_congestion *l, uint64_t lost, uint64_t of, uint64_t gaps)
{
	bool scattered = gaps >= PLACES || gaps * TOGETHER >= lost;

	return l->quiet_n == KNOWN && scattered && (double)lost >= STEP * (double)of &&
	       (double)lost > 2 * usual_share(l) * (double)of + EXCESS;
}

/* The share of losses over the last signals, of enough blocks each. */
static void
count_share(struct client_congestion *l, uint64_t lost, uint64_t of)
{
	l->few_lost += lost;
	l->few_of += of;
	if (l->few_of < FEW)
		return;
	double share = (double)l->few_lost / (double)l->few_of;
	l->share += (share - l->share) / SMOOTH;
	l->few_lost = l->few_of = 0;
}

/* What are the losses of this stretch like?  They count as usual ones where no queue was
 * seen. */
static enum client_congestion_kind
kind_of(struct client_congestion *l, uint64_t lost, uint64_t of, uint64_t gaps)
{
	if (queued_up(l))
		return overflows(l, lost, of) ? CLIENT_CONGESTION_QUEUE
		                              : CLIENT_CONGESTION_LOST;
	bool step = comes_in_step(l, lost, of, gaps);
	count_quiet(l, lost, of, step ? STEP_WEIGHT : 1);
	return step ? CLIENT_CONGESTION_STEP : CLIENT_CONGESTION_LOST;
}

/* What there is to say about the stretch before the last one; nothing, if this client has
 * complained about its epoch.  The server counts an address once, and when it has lowered
 * its rate, it ignores complaints about earlier epochs; but the queue that it made is still
 * full at the next signals. */
static bool
complain(struct client_congestion *l, uint32_t epoch, uint64_t lost, uint64_t of,
    uint64_t gaps)
{
	enum client_congestion_kind kind = kind_of(l, lost, of, gaps);

	count_share(l, lost, of);
	bool caused = kind != CLIENT_CONGESTION_LOST;
	bool usual = !caused && !queued_up(l) && l->share < MUCH;
	l->clear = lost == 0 || usual ? l->clear + 1 : 0;
	if (lost == 0 || (!caused && l->share < MUCH) || epoch < l->unsaid[kind])
		return false;
	if (l->say_at_us != 0 && l->say_kind > kind)
		return false; /* the complaint that waits says more */
	l->say_kind = kind;
	l->say_epoch = epoch;
	l->say_of = (uint32_t)(of > FEW ? of : FEW);
	l->say_lost = caused ? (uint32_t)lost : (uint32_t)(l->share * (double)l->say_of);
	return true;
}

/* Where blocks were missing in the stretch that is judged.  What is missing at one signal may
 * have come by the next one, so this is about two stretches. */
static uint64_t
count_gaps(struct client_congestion *l, uint64_t gaps)
{
	uint64_t now = gaps - l->gaps, both = now + l->last_gaps;

	l->gaps = gaps;
	l->last_gaps = now;
	return both;
}

bool
client_congestion_judge(
    struct client_congestion *l, uint64_t now_us, uint64_t received, uint64_t gaps)
{
	if (l->pending_us == 0 || now_us <= l->pending_us)
		return false;
	uint32_t began = l->epochs[1];
	uint64_t places = count_gaps(l, gaps);
	uint64_t of = l->last_of;
	l->pending_us = 0;
	l->last_of = l->of;
	l->of = 0;
	l->epochs[1] = l->epochs[0];
	l->epochs[0] = l->pending_epoch;
	if (!l->begun) {
		l->begun = true;
		l->offset = (int64_t)(l->sent - received);
		l->missing = l->lost = 0;
		l->last_of = 0;
		return false;
	}
	uint64_t lost = count_lost(l, received);
	return of > 0 && complain(l, began, lost < of ? lost : of, of, places);
}

void
client_congestion_clients(struct client_congestion *l, uint32_t clients)
{
	l->clients = clients;
}

void
client_congestion_say(struct client_congestion *l, uint64_t at_us, bool voice)
{
	if (!voice && l->say_epoch < l->heard)
		return;
	l->say_at_us = at_us;
	l->voice = voice;
}

void
client_congestion_heard(struct client_congestion *l, uint32_t epoch, bool caused)
{
	/* Nobody can complain about an epoch that has not begun. */
	uint32_t newest = l->pending_epoch;

	if (caused && l->heard <= newest && l->heard <= epoch)
		l->heard = (epoch < newest ? epoch : newest) + 1;
	if (epoch >= l->say_epoch && !l->voice)
		l->say_at_us = 0;
}

static bool
is_due(uint64_t at_us, uint64_t now_us)
{
	return at_us != 0 && now_us >= at_us;
}

uint64_t
client_congestion_at_us(const struct client_congestion *l)
{
	uint64_t say = l->say_at_us != 0 ? l->say_at_us : UINT64_MAX;

	return l->hears_at_us != 0 && l->hears_at_us < say ? l->hears_at_us : say;
}

void
client_congestion_asked(struct client_congestion *l, uint64_t at_us)
{
	if (l->hears_at_us == 0)
		l->hears_at_us = at_us;
}

bool
client_congestion_hears(struct client_congestion *l, uint64_t now_us)
{
	if (!is_due(l->hears_at_us, now_us))
		return false;
	l->hears_at_us = 0;
	return l->clear >= CLEAR;
}

bool
client_congestion_says(struct client_congestion *l, uint64_t now_us)
{
	if (!is_due(l->say_at_us, now_us))
		return false;
	l->say_at_us = 0;
	l->unsaid[l->say_kind] = l->say_epoch + 1;
	return true;
}

void
client_congestion_forget(struct client_congestion *l)
{
	*l = (struct client_congestion){ 0 };
}
