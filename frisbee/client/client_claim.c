/* client_claim.c: what may end a load.  The files of the engine call this while they
 * handle a packet or look for one to send, in the engine's only thread. */
#include "frisbee/client/client_claim.h"

#include <stdio.h>
#include <string.h>

#include "common/wire/addr.h"

enum {
	/* A claim that was repeated for this time is believed.  A server that goes on
	 * contradicts it within that: the client asks five times meanwhile, and each
	 * question and each answer may be lost. */
	CONFIRM_US = 1000000,
	ASK_US = 200000,
	/* While joining, nothing is lost if the load ends, and the user is waiting. */
	CONFIRM_JOINING_US = 400000,
	/* A claim that was not repeated for this time is forgotten: two forged packets
	 * that are minutes apart are no repetition. */
	FORGET_US = 3000000,
	/* A claim is not considered so shortly after it was contradicted. */
	CALM_US = 300000,
};

bool
client_claim_hear(struct client_claim *k, uint64_t now_us, const uint8_t from[4],
    const char *why, bool joining)
{
	if (k->denied && now_us < k->denied_us + CALM_US)
		return false;
	if (k->why == NULL || now_us >= k->last_us + FORGET_US)
		k->since_us = k->ask_us = now_us;
	k->why = why;
	memcpy(k->addr, from, 4);
	k->last_us = now_us;
	return now_us >= k->since_us + (joining ? CONFIRM_JOINING_US : CONFIRM_US);
}

void
client_claim_deny(struct client_claim *k, uint64_t now_us)
{
	*k = (struct client_claim){ .denied = true, .denied_us = now_us };
}

void
client_claim_forget(struct client_claim *k)
{
	*k = (struct client_claim){ 0 };
}

bool
client_claim_pends(const struct client_claim *k)
{
	return k->why != NULL;
}

uint64_t
client_claim_ask_at_us(const struct client_claim *k)
{
	return client_claim_pends(k) ? k->ask_us : UINT64_MAX;
}

bool
client_claim_asks(struct client_claim *k, uint64_t now_us)
{
	if (now_us < client_claim_ask_at_us(k))
		return false;
	if (now_us >= k->last_us + FORGET_US) {
		k->why = NULL;
		return false;
	}
	k->ask_us = now_us + ASK_US;
	return true;
}

const char *
client_claim_text(const struct client_claim *k, char *text, size_t cap)
{
	char addr[ADDR_TEXT_MAX];

	snprintf(text, cap, "%s %s", addr_text(k->addr, addr), k->why);
	return text;
}
