/* server_life.c: when a session begins to send, and when it ends.  The server's engine
 * notes which clients come, request and leave, in its only thread. */
#include "frisbeed/server/server_life.h"

#include "common/wire/wire.h"

enum {
	/* Machines that are switched on together join within milliseconds of each
	 * other.  A client that misses the beginning of the first chunk completes its
	 * first chunk later than the others, and receives what it missed at the very
	 * end.  So the first block waits for the time of an eighth of a chunk, which a
	 * single client does not notice. */
	AWAIT_BLOCKS = WIRE_CHUNK_BLOCKS / 8,
	AWAIT_US = 20000, /* the most that the first block waits */
	/* A client that joined this long ago receives all that is sent: its reply has
	 * arrived, and switches have learned that it is a member of the group. */
	SETTLE_MS = 200,
	/* With -T < 0: after the last client has left, a slower machine of the same
	 * room may still join.  The configuration may name another time. */
	LINGER_US = 2000000,
};
/* With -T < 0, clients that died without LEAVE must not keep the session alive for
 * ever. */
static const uint64_t SILENCE_US = UINT64_C(1800) * 1000000;

void
server_life_init(struct server_life *l, int64_t idle_us, uint64_t linger_us,
    uint32_t wait_clients, uint64_t now_us)
{
	*l = (struct server_life){ .idle_us = idle_us,
		.linger_us = linger_us != 0 ? linger_us : LINGER_US,
		.wait_clients = wait_clients,
		.begun = wait_clients == 0,
		.asked_us = now_us,
		.left_us = now_us };
}

void
server_life_joined(struct server_life *l, uint64_t now_us)
{
	l->joined_us = now_us;
}

void
server_life_count(struct server_life *l, uint32_t clients)
{
	l->begun |= clients >= l->wait_clients;
}

void
server_life_await(struct server_life *l, uint64_t now_us, double blocks_per_s)
{
	uint64_t us = blocks_per_s > 0 ? (uint64_t)(AWAIT_BLOCKS * 1e6 / blocks_per_s) : 0;

	l->begin_us = now_us + (us < AWAIT_US ? us : AWAIT_US);
}

void
server_life_asked(struct server_life *l, uint64_t now_us)
{
	l->asked_us = now_us;
}

void
server_life_served(struct server_life *l)
{
	l->served = true;
}

void
server_life_left(struct server_life *l, uint64_t now_us)
{
	l->left_us = now_us;
}

uint64_t
server_life_begins_us(const struct server_life *l)
{
	return l->begun ? l->begin_us : UINT64_MAX;
}

uint64_t
server_life_ends_us(const struct server_life *l, uint32_t clients)
{
	if (l->idle_us == 0)
		return UINT64_MAX;
	if (l->idle_us > 0)
		return l->asked_us + (uint64_t)l->idle_us;
	if (!l->served)
		return UINT64_MAX;
	if (clients > 0)
		return l->asked_us + SILENCE_US;
	/* A client that sends a request after that is one whose JOIN was lost. */
	return (l->asked_us > l->left_us ? l->asked_us : l->left_us) + l->linger_us;
}

uint32_t
server_life_ready_ms(const struct server_life *l)
{
	return (uint32_t)(l->joined_us / 1000) + SETTLE_MS + 1;
}
