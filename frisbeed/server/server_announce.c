/* server_announce.c: when STATE is sent, and what it contains.  The server's engine
 * notes what it hears, and asks for STATE after the replies, in its only thread. */
#include "frisbeed/server/server_announce.h"

enum {
	STATE_US = 1000000,
	/* A client that missed the end of a session learns it soon, and ten short
	 * packets a second do not disturb an idle network. */
	STATE_IDLE_US = 100000,
	/* If no client answers for so long, those that are still there lack nothing. */
	IDLE_PATIENCE_US = 10000000,
	/* A client that has not heard that interleaving begins or ends takes a block of
	 * another chunk for the end of this one, and requests what still comes.  Five
	 * copies within 0.1 s are lost together only in an outage. */
	INTERLEAVE_REPEATS = 5,
	INTERLEAVE_REPEAT_US = 25000,
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
server_announce_ask(struct server_announce *a)
{
	a->pending = a->asks = true;
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
	/* A client that lacks something now sends a NACK soon after this. */
	if (now->idle && a->idle_told != now->sent)
		return 0;
	if (now->interleave != a->interleave_told)
		return 0;
	if (a->interleave_again > 0)
		return a->said_us + INTERLEAVE_REPEAT_US;
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
note_interleave(struct server_announce *a, bool interleave)
{
	if (interleave != a->interleave_told)
		a->interleave_again = INTERLEAVE_REPEATS;
	a->interleave_told = interleave;
	a->interleave_again -= a->interleave_again > 0;
}

void
server_announce_say(struct server_announce *a, uint64_t now_us,
    const struct server_scene *now, uint32_t nchunks, const struct wirext_map *coming,
    struct wirext_msg *m)
{
	uint32_t next = coming->first + coming->count;

	*m = (struct wirext_msg){ .kind = WIREXT_STATE };
	m->u.state.flags = (now->idle || now->silent ? WIREXT_IDLE : 0) |
	                   (a->stale ? WIREXT_STALE : 0) |
	                   (now->interleave ? WIREXT_INTERLEAVED : 0) |
	                   (now->held ? WIREXT_HELD : 0) |
	                   (a->asks ? WIREXT_ASKS : 0);
	m->u.state.clients = now->clients;
	m->u.state.chunks = nchunks;
	m->u.state.coming = *coming;
	a->first = next < nchunks ? next : 0;
	a->pending = a->asks = false;
	note_interleave(a, now->interleave);
	a->idle_told = now->idle ? now->sent : UINT64_MAX;
	a->said_us = now_us;
}
