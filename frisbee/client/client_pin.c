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
	/* Blocks, two chunks: what was counted of the pinned sender and of another one is
	 * halved as soon as both together have sent more than this. */
	LATELY = 2048,
	/* Another sender that has sent this many times as much of what is lacking, and a
	 * quarter of a chunk, is more likely to be the server.  A neighbour of a server
	 * that sends all the time cannot reach that without filling the link. */
	FAR_MORE = 4,
	FAR_MORE_BLOCKS = 256,
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

static const struct client_pin_other *
find(const struct client_pin *p, const uint8_t addr[4])
{
	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++)
		if (p->others[i].known && memcmp(p->others[i].addr, addr, 4) == 0)
			return &p->others[i];
	return NULL;
}

/* The place of this sender among the others; a new one takes that of the one that sent
 * least. */
static struct client_pin_other *
place_of(struct client_pin *p, const uint8_t addr[4])
{
	struct client_pin_other *least = &p->others[0];

	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++) {
		struct client_pin_other *o = &p->others[i];
		if (o->known && memcmp(o->addr, addr, 4) == 0)
			return o;
		if (least->known && (!o->known || o->missed < least->missed))
			least = o;
	}
	*least = (struct client_pin_other){ .known = true };
	memcpy(least->addr, addr, 4);
	return least;
}

/* Counting begins anew when another sender is pinned. */
static void
forget_counts(struct client_pin *p)
{
	p->needed = 0;
	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++)
		p->others[i].missed = 0;
}

void
client_pin_set(struct client_pin *p, uint64_t now_us, const uint8_t from[4])
{
	if (p->number > 0)
		place_of(p, p->addr)->given_up = true;
	if (find(p, from) != NULL)
		*place_of(p, from) = (struct client_pin_other){ .known = false };
	if (p->disputed && memcmp(p->other, from, 4) == 0)
		memcpy(p->other, p->addr, 4);
	forget_counts(p);
	p->number++;
	p->proved = p->believed;
	p->doubted = false;
	p->heard_us = p->blocks_us = now_us;
	memcpy(p->addr, from, 4);
}

void
client_pin_identify(struct client_pin *p, const uint8_t *identity)
{
	p->identified = identity != NULL;
	if (p->identified)
		memcpy(p->identity, identity, sizeof p->identity);
}

bool
client_pin_other_image(const struct client_pin *p, const uint8_t *identity)
{
	return p->identified && identity != NULL &&
	       memcmp(identity, p->identity, sizeof p->identity) != 0;
}

bool
client_pin_same_image(const struct client_pin *p, const uint8_t *identity)
{
	return p->identified && identity != NULL && !client_pin_other_image(p, identity);
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
client_pin_dispute(struct client_pin *p, const uint8_t from[4])
{
	if (p->number == 0 || p->disputed || memcmp(from, p->addr, 4) == 0)
		return;
	p->disputed = true;
	memcpy(p->other, from, 4);
}

void
client_pin_ignore(struct client_pin *p, const uint8_t from[4])
{
	p->ignored = true;
	memcpy(p->other, from, 4);
}

void
client_pin_rival(struct client_pin *p, const uint8_t from[4])
{
	if (!p->named && p->number > 0 && memcmp(from, p->addr, 4) != 0)
		place_of(p, from);
}

bool
client_pin_has_rival(const struct client_pin *p)
{
	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++)
		if (p->others[i].known)
			return true;
	return false;
}

/* What is older counts less. */
static void
age(struct client_pin *p, uint32_t missed)
{
	if (p->needed + missed <= LATELY)
		return;
	p->needed /= 2;
	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++)
		p->others[i].missed /= 2;
}

void
client_pin_needed(struct client_pin *p, uint32_t blocks)
{
	p->needed += blocks;
	age(p, 0);
}

void
client_pin_missed(struct client_pin *p, const uint8_t from[4], uint32_t blocks)
{
	if (find(p, from) == NULL)
		return;
	struct client_pin_other *o = place_of(p, from);
	o->missed += blocks;
	age(p, o->missed);
}

void
client_pin_doubt(struct client_pin *p)
{
	p->doubted |= !p->proved || client_pin_has_rival(p);
}

void
client_pin_excuse(struct client_pin *p, uint64_t now_us)
{
	p->heard_us = p->blocks_us = now_us;
}

/* Has this sender sent far more of what was lacking than the pinned one? */
static bool
outdoes(const struct client_pin *p, const struct client_pin_other *o)
{
	return o->known && o->missed >= FAR_MORE_BLOCKS && o->missed > FAR_MORE * p->needed;
}

static bool
is_outdone(const struct client_pin *p)
{
	for (unsigned i = 0; i < CLIENT_PIN_OTHERS; i++)
		if (outdoes(p, &p->others[i]))
			return true;
	return false;
}

/* When a proved sender is given up: beside another one, blocks must come from it. */
static uint64_t
given_up_us(const struct client_pin *p)
{
	bool blocks = client_pin_has_rival(p) && p->blocks_us < p->heard_us;

	return (blocks ? p->blocks_us : p->heard_us) + LOST_US;
}

bool
client_pin_may_move(const struct client_pin *p, uint64_t now_us, const uint8_t from[4])
{
	const struct client_pin_other *o = find(p, from);

	if (p->named)
		return false;
	if (o != NULL && outdoes(p, o))
		return true;
	if (o != NULL && o->given_up)
		return now_us >= p->blocks_us + LOST_US;
	if (p->doubted)
		return true;
	return now_us >= (p->proved ? given_up_us(p) : p->blocks_us + QUIET_US);
}

uint64_t
client_pin_ask_at_us(const struct client_pin *p)
{
	if (p->named)
		return UINT64_MAX; /* nobody else will do */
	if (p->doubted || is_outdone(p))
		return p->spread_us;
	if (p->proved)
		return client_pin_lost_at_us(p);
	return p->blocks_us + QUIET_ASK_US + p->spread_us;
}

uint64_t
client_pin_lost_at_us(const struct client_pin *p)
{
	return given_up_us(p) + p->spread_us;
}
