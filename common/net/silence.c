/* silence.c: the times at which a group is joined again.  The loops of loads and sessions call
 * this in their own threads. */
#include "common/net/silence.h"

/* The longest time between two joins, if the user gives none: switches forget a member after some
 * minutes, and usually ask every 125 s. */
enum { MOST_US = 30000000 };

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void
silence_begin(struct silence *s, uint64_t now_us, uint64_t most_us)
{
	*s = (struct silence){ .heard_us = now_us,
		.most_us = most_us != 0 ? most_us : MOST_US };
}

void
silence_broken(struct silence *s, uint64_t now_us)
{
	s->heard_us = now_us;
	s->wait_us = 0;
}

bool
silence_due(struct silence *s, uint64_t now_us, uint64_t patience_us)
{
	uint64_t at = s->wait_us != 0 ? s->again_us
	                              : s->heard_us + least(patience_us, s->most_us);

	if (now_us < at)
		return false;
	s->wait_us = least(s->wait_us != 0 ? 2 * s->wait_us : patience_us, s->most_us);
	s->again_us = now_us + s->wait_us;
	return true;
}
