#include "frisbee/client_load.h"

enum {
	BASE_US = 5000000, /* clocks drift: a shortest way is believed for so long */
	QUEUE_US = 300,    /* less than that is no queue */
	FEWER = 64,        /* missing than before: one in so many is believed */
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
	int64_t base = l->base_us[0] < l->base_us[1] ? l->base_us[0] : l->base_us[1];
	for (unsigned i = CLIENT_LOAD_DELAYS - 1; i > 0; i--)
		l->delay_us[i] = l->delay_us[i - 1];
	l->delay_us[0] = (uint64_t)way_us - (uint64_t)base;
	l->most_delay_us -= l->most_delay_us / FORGET;
	if (l->most_delay_us < l->delay_us[0])
		l->most_delay_us = l->delay_us[0];
}

/* Blocks of those before the last signal but one that did not arrive.  Packets to two
 * ports may take two ways through the kernel: what is missing at one signal and there
 * at the next one is not lost. */
static uint64_t
count_lost(struct client_load *l, uint64_t seen)
{
	int64_t missing = (int64_t)(l->sent - seen) - l->offset;
	int64_t sure = missing < l->missing ? missing : l->missing;
	int64_t lost = sure - l->lost;

	l->missing = missing;
	/* Fewer than before: some that came later are among them, or were doubled. */
	l->lost += lost > 0 ? lost : lost / FEWER;
	return lost > 0 ? (uint64_t)lost : 0;
}

/* Is there a queue that can be the reason of losses? */
static bool
queued_up(const struct client_load *l)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < CLIENT_LOAD_DELAYS; i++)
		if (most < l->delay_us[i])
			most = l->delay_us[i];
	return most > QUEUE_US && (double)most > QUEUE_SHARE * (double)l->most_delay_us;
}

void
client_load_signal(struct client_load *l, uint64_t now_us, uint64_t time_us,
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

bool
client_load_judge(struct client_load *l, uint64_t now_us, uint64_t seen)
{
	if (l->pending_us == 0 || now_us <= l->pending_us)
		return false;
	uint32_t began = l->epochs[1];
	uint64_t of = l->last_of;
	l->pending_us = 0;
	l->last_of = l->of;
	l->of = 0;
	l->epochs[1] = l->epochs[0];
	l->epochs[0] = l->pending_epoch;
	if (!l->begun) {
		l->begun = true;
		l->offset = (int64_t)(l->sent - seen);
		l->missing = l->lost = 0;
		l->last_of = 0;
		return false;
	}
	uint64_t lost = count_lost(l, seen);
	if (of < FEW)
		return false;
	lost = lost < of ? lost : of;
	l->share += ((double)lost / (double)of - l->share) / SMOOTH;
	l->queue = lost > 0 && queued_up(l);
	if (lost == 0 || (!l->queue && l->share < MUCH))
		return false;
	l->say_epoch = began;
	l->say_of = (uint32_t)of;
	l->say_lost = l->queue ? (uint32_t)lost : (uint32_t)(l->share * (double)of);
	return true;
}
