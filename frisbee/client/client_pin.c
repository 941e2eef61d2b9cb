/* client_pin.c: whose packets count as the server's.  The files of the engine call
 * this while they handle a packet or look for one to send, in the engine's only
 * thread. */
#include "frisbee/client/client_pin.h"

#include <string.h>

enum {
	/* A proved sender that was silent for this time may be replaced.  A server that
	 * speaks the extension says STATE at least each second, so two of them in a row
	 * must have been lost. */
	LOST_US = 2000000,
	/* A sender that is not proved may be replaced if no blocks arrived for this
	 * time: another one that answers is then more likely to be the server. */
	QUIET_US = 300000,
	/* The client asks who else is there only after this time, since most servers
	 * that pause go on by themselves. */
	QUIET_ASK_US = 1000000,
	/* All clients notice a silence at the same time, and must not all ask at the
	 * same time. */
	SPREAD_US = 100000,
};

void
client_pin_begin(struct client_pin *p, bool named, bool any_file, uint64_t seed)
{
	/* Nothing in a file that is no image proves its sender; a server that the
	 * user named is believed. */
	*p = (struct client_pin){ .named = named,
		.believed = named || any_file,
		.spread_us = seed % SPREAD_US };
}

void
client_pin_set(struct client_pin *p, uint64_t now_us, const uint8_t from[4])
{
	p->number++;
	p->proved = p->believed;
	p->doubted = false;
	p->heard_us = p->blocks_us = now_us;
	memcpy(p->addr, from, 4);
}

bool
client_pin_hears(struct client_pin *p, uint64_t now_us, const uint8_t from[4])
{
	if (p->number == 0 || memcmp(from, p->addr, 4) != 0)
		return false;
	p->heard_us = now_us;
	return true;
}

void
client_pin_block(struct client_pin *p, uint64_t now_us)
{
	p->blocks_us = now_us;
}

void
client_pin_prove(struct client_pin *p, uint32_t number)
{
	p->proved |= number == p->number;
}

void
client_pin_doubt(struct client_pin *p)
{
	p->doubted |= !p->proved;
}

void
client_pin_excuse(struct client_pin *p, uint64_t now_us)
{
	p->heard_us = now_us;
}

bool
client_pin_may_move(const struct client_pin *p, uint64_t now_us)
{
	if (p->named)
		return false;
	if (p->proved)
		return now_us >= p->heard_us + LOST_US;
	return p->doubted || now_us >= p->blocks_us + QUIET_US;
}

uint64_t
client_pin_ask_at_us(const struct client_pin *p)
{
	if (p->named)
		return UINT64_MAX; /* nobody else will do */
	if (p->proved)
		return client_pin_lost_at_us(p);
	return (p->doubted ? 0 : p->blocks_us + QUIET_ASK_US) + p->spread_us;
}

uint64_t
client_pin_lost_at_us(const struct client_pin *p)
{
	return p->heard_us + LOST_US + p->spread_us;
}
