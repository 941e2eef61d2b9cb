/* server_contest.c: complaints to which others object.  The server's engine passes both
 * while few addresses are there, and asks before it believes one, in its only thread. */
#include "frisbeed/server/server_contest.h"

#include <string.h>

enum {
	/* What an address has said counts for this time: whoever complains all the time
	 * does so in each epoch, which has 0.1 s, and whoever is asked answers within 20
	 * ms. */
	LATELY_US = 1000000,
	/* The turns of those who complain and of those who object.  In a turn the rate
	 * can change five times, and a load has many turns. */
	TURN_US = 500000,
	ASK_US = 50000, /* between two questions */
	/* Who complains has lost something at the rate that it complains about.  When the rate
	 * has been lowered since, it hears everything: that says nothing about the rate before. */
	OWN_US = 300000,
};

static unsigned
voice_of(struct contest *c, const uint8_t ip[4])
{
	unsigned oldest = 0;
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < CONTEST_VOICES; i++) {
		uint64_t last = c->at[i].complained_us;
		if (memcmp(c->at[i].ip, ip, 4) == 0)
			return i;
		if (last < c->at[i].objected_us)
			last = c->at[i].objected_us;
		if (last < least) {
			least = last;
			oldest = i;
		}
	}
	memset(&c->at[oldest], 0, sizeof c->at[oldest]);
	memcpy(c->at[oldest].ip, ip, 4);
	return oldest;
}

static bool
lately(uint64_t at_us, uint64_t now_us)
{
	return at_us != 0 && now_us - at_us < LATELY_US;
}

bool
contest_complains(struct contest *c, uint64_t now_us, const uint8_t ip[4])
{
	unsigned i = voice_of(c, ip);
	bool first = !lately(c->at[i].complained_us, now_us);

	c->complained_us = c->at[i].complained_us = now_us;
	return first;
}

void
contest_objects(struct contest *c, uint64_t now_us, const uint8_t ip[4])
{
	unsigned i = voice_of(c, ip);
	uint64_t own_us = c->at[i].complained_us;

	if (own_us == 0 || now_us - own_us >= OWN_US)
		c->at[i].objected_us = now_us;
}

bool
contest_asks(struct contest *c, uint64_t now_us)
{
	if (c->asked_us != 0 && now_us - c->asked_us < ASK_US)
		return false;
	c->asked_us = now_us;
	return true;
}

/* How many of those that have spoken lately complained after this time, and not objected
 * since, beyond half of them; below 0: fewer than half. */
static int
beyond_half(const struct contest *c, uint64_t now_us, uint64_t after_us)
{
	int twice = 0;

	for (unsigned i = 0; i < CONTEST_VOICES; i++) {
		uint64_t no = c->at[i].objected_us, yes = c->at[i].complained_us;
		if (lately(yes, now_us) || lately(no, now_us))
			twice += yes > no && yes > after_us ? 1 : -1;
	}
	return twice;
}

bool
contest_heard(const struct contest *c, uint64_t now_us)
{
	for (unsigned i = 0; i < CONTEST_VOICES; i++)
		if (lately(c->at[i].objected_us, now_us) &&
		    c->at[i].objected_us > c->at[i].complained_us)
			return true;
	return false;
}

bool
contest_complained(const struct contest *c, uint64_t now_us)
{
	return lately(c->complained_us, now_us);
}

enum contest_verdict
contest_verdict(const struct contest *c, uint64_t now_us)
{
	int beyond = beyond_half(c, now_us, 0);
	bool objections = false;

	for (unsigned i = 0; i < CONTEST_VOICES; i++)
		objections |= lately(c->at[i].objected_us, now_us);
	if (!objections || !contest_complained(c, now_us))
		return CONTEST_OVER;
	if (beyond > 0)
		return CONTEST_AGREED;
	return beyond < 0 ? CONTEST_REJECTED : CONTEST_TIED;
}

bool
contest_turn(uint64_t now_us)
{
	return now_us / TURN_US % 2 == 1;
}

bool
contest_believes(const struct contest *c, uint64_t now_us, bool turn)
{
	int beyond = beyond_half(c, now_us, c->lowered_us);

	return beyond > 0 || (beyond == 0 && turn);
}

void
contest_lowered(struct contest *c, uint64_t now_us)
{
	c->lowered_us = now_us;
}
