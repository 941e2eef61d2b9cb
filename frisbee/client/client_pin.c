/* Whose packets count, and what may end a load: client_pin.h.  The engine's files call
 * this while they handle a packet or look for one to send, in the engine's only
 * thread. */
#include "frisbee/client/client_pin.h"

#include <stdio.h>
#include <string.h>

#include "common/wire/addr.h"
#include "frisbee/client/client_impl.h"

enum {
	/* Without any packet of a proved sender for so long, another one may follow. */
	LOST_US = 2000000,
	/* Of one that is not proved: without blocks for so long; and when to ask whether
	 * there is another one. */
	QUIET_US = 300000,
	QUIET_ASK_US = 1000000,
	SPREAD_US = 100000, /* not all clients ask at once */
	/* A claim that was repeated for so long is believed.  It is asked about so
	 * often, forgotten when it is not repeated for so long, and not listened to so
	 * shortly after something contradicted it. */
	CONFIRM_US = 1000000,
	CONFIRM_JOINING_US = 400000,
	CLAIM_ASK_US = 200000,
	CLAIM_FORGET_US = 3000000,
	CALM_US = 300000,
};

void
client_pin_set(struct client *c, uint64_t now_us, const uint8_t from[4])
{
	struct client_pin *p = &c->pin;

	*p = (struct client_pin){ .number = p->number + 1,
		/* Any file has nothing that proves it, and who is named is believed. */
		.proved = c->cfg.any_file || c->cfg.has_server,
		.heard_us = now_us,
		.blocks_us = now_us };
	memcpy(p->addr, from, 4);
	c->claim = (struct client_claim){ 0 };
}

bool
client_pin_hears(struct client *c, uint64_t now_us, const uint8_t from[4])
{
	if (c->pin.number == 0 || memcmp(from, c->pin.addr, 4) != 0)
		return false;
	c->pin.heard_us = now_us;
	return true;
}

bool
client_pin_may_move(const struct client *c, uint64_t now_us)
{
	const struct client_pin *p = &c->pin;

	if (c->cfg.has_server)
		return false;
	if (p->proved)
		return now_us >= p->heard_us + LOST_US;
	return p->doubted || now_us >= p->blocks_us + QUIET_US;
}

static uint64_t
spread_us(const struct client *c)
{
	return c->cfg.seed % SPREAD_US;
}

uint64_t
client_pin_ask_at_us(const struct client *c)
{
	const struct client_pin *p = &c->pin;
	uint64_t at = p->proved    ? p->heard_us + LOST_US
	              : p->doubted ? 0
	                           : p->blocks_us + QUIET_ASK_US;

	if (c->cfg.has_server)
		return CLIENT_NEVER; /* nobody else will do */
	at += spread_us(c);
	return at > c->join_at_us ? at : c->join_at_us;
}

void
client_pin_ask_later(struct client *c, uint64_t now_us)
{
	uint64_t at = c->pin.heard_us + LOST_US + spread_us(c);

	if (c->pin.proved && at > now_us && c->join_at_us > at)
		c->join_at_us = at;
}

static void
refuse(struct client *c)
{
	char addr[ADDR_TEXT_MAX];

	c->state = CLIENT_REFUSED;
	snprintf(c->error, sizeof c->error, "%s %s", addr_text(c->claim.addr, addr),
	    c->claim.why);
}

void
client_claim_hear(
    struct client *c, uint64_t now_us, const uint8_t from[4], const char *why)
{
	struct client_claim *k = &c->claim;
	bool joining = c->state == CLIENT_JOINING;

	if (k->denied && now_us < k->denied_us + CALM_US)
		return;
	if (k->why == NULL || now_us >= k->last_us + CLAIM_FORGET_US)
		k->since_us = k->ask_us = now_us;
	k->why = why;
	memcpy(k->addr, from, 4);
	k->last_us = now_us;
	if (now_us >= k->since_us + (joining ? CONFIRM_JOINING_US : CONFIRM_US))
		refuse(c);
}

void
client_claim_deny(struct client *c, uint64_t now_us)
{
	c->claim = (struct client_claim){ .denied = true, .denied_us = now_us };
}

uint64_t
client_claim_ask_at_us(const struct client *c)
{
	return c->claim.why != NULL ? c->claim.ask_us : CLIENT_NEVER;
}

size_t
client_claim_output(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_claim *k = &c->claim;

	if (now_us < client_claim_ask_at_us(c))
		return 0;
	if (now_us >= k->last_us + CLAIM_FORGET_US) {
		k->why = NULL;
		return 0;
	}
	k->ask_us = now_us + CLAIM_ASK_US;
	return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
}
