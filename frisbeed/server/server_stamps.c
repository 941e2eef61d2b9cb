/* server_stamps.c: time signals.  The server's engine asks for one before each block that
 * may be sent, when it looks for its rate. */
#include "frisbeed/server/server_stamps.h"

/* Four of them in each of the rate's epochs: a client knows within a quarter of an epoch
 * that there is a queue, and they are 40 short packets a second. */
enum { STAMP_US = 25000 };

bool
server_stamps_due(
    const struct server_stamps *t, uint64_t now_us, uint64_t sent, uint32_t since)
{
	/* Without blocks in between there is nothing that could be lost. */
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
