/* server_read.c: which chunks the server reads for its children, and when (server_impl.h).
 * Called by the other parts of the server, in the engine's thread. */
#include "dolly/engine/server_impl.h"

enum { READ_AHEAD = 4 }; /* chunks that are being read at a time */

/* Whoever lacks the first chunk can mostly install no other one, and shall not wait for
 * it until all others were read. */
static uint32_t
next_chunk(const struct dolly_server *s, bool leaves)
{
	uint32_t first = spread_next_wanted(s->spread, 0, leaves);

	return first == 0 ? 0 : spread_next_wanted(s->spread, s->reading.cursor, leaves);
}

void
server_read_more(struct dolly_server *s)
{
	struct server_reading *r = &s->reading;

	while (s->beginning.begun && r->now < READ_AHEAD && s->failure.kind == ERR_NONE) {
		/* A leaf does not take the place of another leaf's chunks. */
		bool room = spread_room(s->spread);
		uint32_t c = next_chunk(s, room);
		if (c == SPREAD_NONE && room)
			c = server_next_digest(s);
		if (c == SPREAD_NONE || (!room && !spread_make_room(s->spread)))
			return;
		uint32_t slot = spread_begin(s->spread, c, s->cfg.spread.chunk_bytes);
		r->cursor = c > 0 ? c + 1 : r->cursor;
		r->now++;
		server_wish(s,
		    &(struct wish){ .kind = WISH_READ,
			.slot = slot,
			.chunk = c,
			.bytes = spread_bytes(s->spread, slot) });
	}
}

void
dolly_server_read(struct dolly_server *s, uint32_t slot, uint32_t length,
    const uint8_t *digest, const struct err *e)
{
	struct server_reading *r = &s->reading;
	struct err changed;

	r->now--;
	if (e == NULL && digest != NULL &&
	    server_note_digest(s, spread_chunk(s->spread, slot), digest, &changed) != 0)
		e = &changed;
	if (e != NULL) {
		server_fail(s, e);
		return;
	}
	if (server_digests_are_due(s))
		server_say_digests(s);
	spread_set_length(s->spread, slot, length);
	(void)spread_arrived(s->spread, slot, length);
	server_read_more(s);
}
