/* server_announce.c: when STATE is sent, and what it says.  The server's engine tells it
 * what it hears, and asks it after the replies what to send. */
#include "frisbeed/server/server_announce.h"

enum {
	STATE_US = 1000000,
	/* A client that misses the end of a session is quickly told; ten short packets a
	 * second disturb nobody on a network that carries nothing else. */
	STATE_IDLE_US = 100000,
	/* Nobody answers any more: whoever is still there lacks nothing. */
	IDLE_PATIENCE_US = 10000000,
	/* A client that has not heard that chunks take turns, or no longer do, takes the
	 * next chunk for the end of this one, and asks for what still comes.  All copies
	 * are lost together only in an outage. */
	SETS_TOLD = 5,
	SETS_TOLD_US = 25000,
};

void
server_announce_init(struct server_announce *a)
{
	*a = (struct server_announce){ .idle_told = UINT64_MAX };
}

void
server_announce_heard(struct server_announce *a, uint64_t now_us)
{
	a->used = true;
	a->heard_us = now_us;
}

void
server_announce_alone(struct server_announce *a)
{
	a->heard_us = 0;
}

void
server_announce_now(struct server_announce *a)
{
	a->pending = true;
}

void
server_announce_stale(struct server_announce *a)
{
	a->stale = true;
	a->pending = a->used;
}

uint64_t
server_announce_at(
    const struct server_announce *a, uint64_t now_us, const struct server_scene *now)
{
	bool answers = now_us - a->heard_us <= IDLE_PATIENCE_US;

	if (a->pending)
		return 0;
	if (a->stale)
		return a->used ? a->said_us + STATE_IDLE_US : UINT64_MAX;
	if (now->clients == 0 && (a->heard_us == 0 || !answers))
		return UINT64_MAX;
	/* Who lacks something now says so soon. */
	if (now->idle && a->idle_told != now->sent)
		return 0;
	if (now->in_sets != a->sets_told)
		return 0;
	if (a->sets_again > 0)
		return a->said_us + SETS_TOLD_US;
	return a->said_us + (now->idle && answers ? STATE_IDLE_US : STATE_US);
}

struct wirext_map
server_announce_map(const struct server_announce *a, uint32_t nchunks,
    const uint8_t bits[WIREXT_MAP_CHUNKS / 8])
{
	uint32_t n = nchunks - a->first;

	return (struct wirext_map){
		a->first, n < WIREXT_MAP_CHUNKS ? n : WIREXT_MAP_CHUNKS, bits
	};
}

static void
note_sets(struct server_announce *a, bool sets)
{
	if (sets != a->sets_told)
		a->sets_again = SETS_TOLD;
	a->sets_told = sets;
	a->sets_again -= a->sets_again > 0;
}

void
server_announce_say(struct server_announce *a, uint64_t now_us,
    const struct server_scene *now, uint32_t nchunks, const struct wirext_map *coming,
    struct wirext_msg *m)
{
	uint32_t next = coming->first + coming->count;

	*m = (struct wirext_msg){ .kind = WIREXT_STATE };
	m->u.state.flags = (now->idle || now->held ? WIREXT_IDLE : 0) |
	                   (a->stale ? WIREXT_STALE : 0) |
	                   (now->in_sets ? WIREXT_INTERLEAVED : 0);
	m->u.state.clients = now->clients;
	m->u.state.chunks = nchunks;
	m->u.state.coming = *coming;
	a->first = next < nchunks ? next : 0;
	a->pending = false;
	note_sets(a, now->in_sets);
	a->idle_told = now->idle ? now->sent : UINT64_MAX;
	a->said_us = now_us;
}
