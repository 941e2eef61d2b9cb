#include "frisbee/client_load.h"

enum {
	BASE_US = 5000000, /* clocks drift: a shortest way is believed for so long */
	QUEUE_US = 300,    /* less than that is no queue */
	SURPLUS = 256,     /* blocks read before a signal that was sent earlier */
	FEW = 16,          /* blocks between two signals tell nothing */
	FORGET = 256,      /* the longest queue is forgotten in so many signals */
	SMOOTH = 16,       /* the share of losses is one of so many */
};
static const double QUEUE_SHARE = 0.3, /* of the longest queue */
    MUCH = 0.04;                       /* to lose, without a queue */

static void
note_delay(struct client_load *l, uint64_t now_us, uint64_t time_us)
{
	int64_t way_us = (int64_t)(now_us - time_us);

	if (!l->begun) {
		l->base_us[0] = l->base_us[1] = way_us;
		l->base_from_us = now_us;
	} else if (now_us - l->base_from_us >= BASE_US) {
		l->base_us[1] = l->base_us[0];
		l->base_us[0] = way_us;
		l->base_from_us = now_us;
	}
	if (l->base_us[0] > way_us)
		l->base_us[0] = way_us;
	int64_t base = l->base_us[0] < l->base_us[1] ? l->base_us[0] : l->base_us[1];
	l->last_delay_us = l->delay_us;
	l->delay_us = (uint64_t)way_us - (uint64_t)base;
	l->most_delay_us -= l->most_delay_us / FORGET;
	if (l->most_delay_us < l->delay_us)
		l->most_delay_us = l->delay_us;
}

/* Blocks lost since the last signal. */
static uint64_t
count_lost(struct client_load *l, uint64_t of, uint64_t seen)
{
	uint64_t got = seen - l->seen;

	if (got <= of) {
		l->seen = seen;
		return of - got;
	}
	/* Some belong to the next stretch. */
	l->seen = got - of < SURPLUS ? seen - (got - of) : seen - SURPLUS;
	return 0;
}

/* Is there a queue that can be the reason of losses? */
static bool
queued_up(const struct client_load *l)
{
	uint64_t delay = l->delay_us > l->last_delay_us ? l->delay_us
	                                                : l->last_delay_us;

	return delay > QUEUE_US &&
	       (double)delay > QUEUE_SHARE * (double)l->most_delay_us;
}

bool
client_load_signal(struct client_load *l, uint64_t now_us, uint64_t time_us,
    uint32_t epoch, uint64_t sent, uint64_t seen)
{
	uint64_t of = sent - l->sent;
	uint32_t began = l->last_epoch;
	bool follows = l->begun && sent >= l->sent && of <= UINT32_MAX;

	note_delay(l, now_us, time_us);
	l->begun = true;
	l->sent = sent;
	l->last_epoch = epoch;
	if (!follows) {
		l->seen = seen;
		return false;
	}
	uint64_t lost = count_lost(l, of, seen);
	if (of < FEW)
		return false;
	l->share += ((double)lost / (double)of - l->share) / SMOOTH;
	l->queue = lost > 0 && queued_up(l);
	if (lost == 0 || (!l->queue && l->share < MUCH))
		return false;
	l->epoch = began;
	l->of = (uint32_t)of;
	l->lost = l->queue ? (uint32_t)lost : (uint32_t)(l->share * (double)of);
	return true;
}
