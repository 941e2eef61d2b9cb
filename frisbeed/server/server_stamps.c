/* server_stamps.c: time signals.  If the rate adapts, the server's engine asks for one
 * before each block, in its only thread. */
#include "frisbeed/server/server_stamps.h"

/* There are four signals in each epoch of the rate, so a client notices a queue within
 * a quarter of an epoch.  They are 40 short packets a second. */
enum { STAMP_US = 25000 };

bool
server_stamps_due(
    const struct server_stamps *t, uint64_t now_us, uint64_t sent, uint32_t since)
{
	/* If no block was sent since the last signal, none can have been lost. */
	return sent != t->sent && (now_us >= t->at_us + STAMP_US || t->epoch < since);
}

void
server_stamps_say(struct server_stamps *t, uint64_t now_us, uint64_t sent,
    uint32_t epoch, struct wirext_msg *m)
{
	*t = (struct server_stamps){ now_us, sent, epoch };
	*m = (struct wirext_msg){ .kind = WIREXT_TIME };
	m->u.time.epoch = epoch;
	m->u.time.sent = sent;
	m->u.time.time_us = now_us;
}
