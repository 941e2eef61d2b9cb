/* server_digests.c: the digests of the chunks that the server has read, which it says to each node
 * over the node's own connection (server_impl.h).  Each node gets all of them, in the order in
 * which the chunks were first read.  Called by the other parts of the server, in the engine's
 * thread. */
#include "dolly/engine/server_impl.h"

enum {
	/* They are said when so many are new, or after this time: a message for each chunk would
	 * cost the server's link more than three times as much. */
	SAY_CHUNKS = 8,
	SAY_US = 1000000,
};

bool
server_make_digests(struct dolly_server *s)
{
	struct server_digests *d = &s->digests;
	uint32_t n = s->cfg.spread.chunks;

	d->told_us = s->now_us;
	d->of = calloc(n, sizeof *d->of);
	d->order = calloc(n, sizeof *d->order);
	return d->of != NULL && d->order != NULL && chunkmap_make(&d->known, n) &&
	       chunkmap_make(&d->wanted, n);
}

void
server_free_digests(struct dolly_server *s)
{
	struct server_digests *d = &s->digests;

	free(d->of);
	free(d->order);
	chunkmap_free(&d->known);
	chunkmap_free(&d->wanted);
}

int
server_note_digest(
    struct dolly_server *s, uint32_t chunk, const uint8_t *digest, struct err *e)
{
	struct server_digests *d = &s->digests;

	if (!chunkmap_has(&d->known, chunk)) {
		(void)chunkmap_take(&d->wanted, chunk);
		d->order[d->known.count] = chunk;
		chunkmap_add(&d->known, chunk);
		memcpy(d->of[chunk], digest, sizeof d->of[chunk]);
		return 0;
	}
	if (memcmp(d->of[chunk], digest, sizeof d->of[chunk]) == 0)
		return 0;
	return err_set(e, ERR_IO,
	    "chunk %u was read again, and is not what it was: what is served was changed meanwhile",
	    chunk);
}

/* The next digests of a node, of chunks that follow each other. */
static void
say_some(const struct server_digests *d, struct member *m, uint32_t upto)
{
	struct msg say = { .type = MSG_DIGESTS, .chunk = d->order[m->digests] };

	while (m->digests < upto && say.ndigests < MSG_DIGESTS_MAX &&
	       d->order[m->digests] == say.chunk + say.ndigests)
		memcpy(say.digests[say.ndigests++], d->of[d->order[m->digests++]],
		    MSG_DIGEST_BYTES);
	peer_say(m->peer, &say);
}

/* Says to a node what it lacks of the first `upto`, as far as its connection takes it. */
static void
say(const struct server_digests *d, struct member *m, uint32_t upto)
{
	if (m->peer == NULL || m->version < MSG_VERSION_DIGESTS)
		return;
	while (m->digests < upto && m->peer->out.len < MSG_CONTROL_MAX)
		say_some(d, m, upto);
}

void
server_say_digests(struct dolly_server *s)
{
	const struct server_digests *d = &s->digests;

	for (size_t i = 0; i < s->roster.n; i++)
		say(d, s->roster.members[i], d->told);
}

bool
server_digests_are_due(struct dolly_server *s)
{
	struct server_digests *d = &s->digests;

	if (d->known.count - d->told < SAY_CHUNKS && s->now_us - d->told_us < SAY_US)
		return false;
	d->told = d->known.count;
	d->told_us = s->now_us;
	return true;
}

/* A node waits for nothing else, so it gets what is new at once. */
void
server_hear_want(struct dolly_server *s, struct member *m, const struct msg *w)
{
	struct server_digests *d = &s->digests;

	for (unsigned i = 0; i < w->nranges; i++) {
		const struct msg_range *g = &w->ranges[i];
		for (uint32_t c = g->first; c < g->first + g->count && c < d->known.n; c++)
			if (!chunkmap_has(&d->known, c))
				chunkmap_add(&d->wanted, c);
	}
	say(d, m, d->known.count);
	server_read_more(s);
}

uint32_t
server_next_digest(struct dolly_server *s)
{
	struct server_digests *d = &s->digests;
	uint32_t c = 0;

	while ((c = chunkmap_next(&d->wanted, c)) != CHUNKMAP_NONE) {
		(void)chunkmap_take(&d->wanted, c);
		if (spread_find(s->spread, c) == SPREAD_NONE)
			return c;
	}
	return SPREAD_NONE;
}
