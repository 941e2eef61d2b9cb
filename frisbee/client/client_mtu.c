/* client_mtu.c: how many blocks in one packet reach this client.  The engine calls
 * this when packets arrive or fail to arrive, and when it looks for a message to
 * send, in its only thread. */
#include "frisbee/client/client_mtu.h"

enum {
	/* The other probes of a round arrive right after the first one. */
	SETTLE_US = 5000,
	/* The clients that are probed together spread their answers over this time
	 * per client, so that they do not all arrive at once. */
	SPREAD_US = 500,
	/* A single silence or lost chunk mostly has other reasons.  This many in a
	 * row, without a long packet in between, hardly have. */
	DOUBTS = 4,
};

void
client_mtu_probed(struct client_mtu *p, uint64_t now_us, struct client_backoff *hold,
    uint32_t round, uint32_t blocks, uint32_t n)
{
	if (round != p->round || p->blocks == 0) {
		p->round = round;
		p->blocks = 0;
		p->at_us = now_us + SETTLE_US +
		           client_backoff_random(hold, n * (uint64_t)SPREAD_US);
	}
	if (p->blocks < blocks)
		p->blocks = blocks;
}

void
client_mtu_came(struct client_mtu *p, uint32_t blocks)
{
	if (blocks >= p->said)
		p->doubts = 0;
}

void
client_mtu_doubt(struct client_mtu *p, uint64_t now_us)
{
	if (p->said <= 1 || ++p->doubts < DOUBTS)
		return;
	p->round = 0;
	p->blocks = 1;
	p->at_us = now_us;
}

uint64_t
client_mtu_at_us(const struct client_mtu *p)
{
	return p->at_us != 0 ? p->at_us : UINT64_MAX;
}

bool
client_mtu_says(struct client_mtu *p, uint64_t now_us)
{
	if (now_us < client_mtu_at_us(p))
		return false;
	p->at_us = 0;
	p->said = p->blocks;
	return true;
}

void
client_mtu_forget(struct client_mtu *p)
{
	*p = (struct client_mtu){ 0 };
}
