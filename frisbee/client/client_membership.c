/* client_membership.c: joining, hearing and leaving a server.  The engine calls this
 * when it has read or written such a message, in its only thread. */
#include "frisbee/client/client_membership.h"

#include <stdio.h>

enum {
	/* If a JOIN was sent within this time, an answer may belong to it: a round
	 * trip takes less. */
	FRESH_US = 100000,
	/* A client that is still writing this long after the last chunk tells the
	 * server, and repeats it: it sends nothing else then, and a server forgets
	 * silent clients. */
	FLUSHING_FIRST_US = 2000000,
	FLUSHING_EVERY_US = 5000000,
};

void
client_membership_begin(
    struct client_membership *m, uint64_t now_us, uint64_t start_delay_us)
{
	*m = (struct client_membership){ .start_us = now_us };
	m->heard_us = m->join_at_us = now_us + start_delay_us;
}

void
client_membership_heard(struct client_membership *m, uint64_t now_us)
{
	m->heard_us = now_us;
}

uint64_t
client_membership_silent_at_us(
    const struct client_membership *m, uint64_t silence_us, bool waits)
{
	bool listens = m->state == CLIENT_JOINING ||
	               (m->state == CLIENT_LOADING && waits);

	return listens && silence_us > 0 ? m->heard_us + silence_us : UINT64_MAX;
}

void
client_membership_give_up(struct client_membership *m, uint64_t silence_us)
{
	m->state = CLIENT_GAVE_UP;
	snprintf(m->error, sizeof m->error, "nothing from the server for %llu s",
	    (unsigned long long)(silence_us / 1000000));
}

void
client_membership_refuse(struct client_membership *m, const char *why)
{
	m->state = CLIENT_REFUSED;
	snprintf(m->error, sizeof m->error, "%s", why);
}

void
client_membership_joins(struct client_membership *m, uint64_t now_us, uint64_t delay_us)
{
	m->joined_us = now_us;
	m->join_at_us = now_us + delay_us;
	m->join_again = false;
}

void
client_membership_join_at(struct client_membership *m, uint64_t at_us)
{
	m->join_at_us = at_us;
}

void
client_membership_join_again(struct client_membership *m)
{
	m->join_again = true;
}

void
client_membership_cookie(struct client_membership *m, uint64_t now_us, uint64_t cookie)
{
	if (cookie != m->cookie && m->state == CLIENT_JOINING)
		m->join_at_us = now_us;
	m->cookie = cookie;
}

void
client_membership_answered(
    struct client_membership *m, uint64_t now_us, uint32_t blocks, uint64_t bytes)
{
	m->heard_us = now_us;
	m->blocks = blocks;
	m->bytes = bytes;
	m->join_again = false;
}

bool
client_membership_is_fresh(const struct client_membership *m, uint64_t now_us)
{
	return now_us - m->joined_us <= FRESH_US;
}

void
client_membership_load(struct client_membership *m)
{
	m->state = CLIENT_LOADING;
	m->images++;
}

void
client_membership_complete(struct client_membership *m)
{
	m->state = CLIENT_COMPLETE;
	m->complete_us = m->heard_us;
}

void
client_membership_goes_on(struct client_membership *m)
{
	m->state = CLIENT_LOADING;
}

void
client_membership_forget_image(struct client_membership *m)
{
	m->blocks = 0;
	m->bytes = 0;
}

uint32_t
client_membership_chunk_blocks(const struct client_membership *m, uint32_t chunk)
{
	uint32_t rest = m->blocks - chunk * WIRE_CHUNK_BLOCKS;

	return rest < WIRE_CHUNK_BLOCKS ? rest : WIRE_CHUNK_BLOCKS;
}

void
client_membership_starved(struct client_membership *m, bool starved)
{
	m->starved |= starved;
}

void
client_membership_told(struct client_membership *m)
{
	m->starved = false;
}

uint64_t
client_membership_flushing_at_us(const struct client_membership *m)
{
	return m->state == CLIENT_COMPLETE ? m->complete_us + FLUSHING_FIRST_US
	                                   : UINT64_MAX;
}

void
client_membership_flushing(struct client_membership *m, uint64_t now_us)
{
	m->complete_us = now_us - FLUSHING_FIRST_US + FLUSHING_EVERY_US;
}

void
client_membership_outcome(struct client_membership *m, bool whole)
{
	m->whole = whole;
}

void
client_membership_leave(struct client_membership *m)
{
	m->leave_pending = true;
}

void
client_membership_left(struct client_membership *m)
{
	m->leave_pending = false;
	m->state = CLIENT_LEFT;
}
