/* The session with a server that speaks the extension: its beginning, another run of
 * the server's, its announcements of what comes, and their absence. */
#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum {
	/* Without announcements for so long, nothing is believed to come; and then
	 * the extension is given up. */
	DOUBT_US = 1600000,
	LOST_US = 4000000,
	LOST_OPEN_US = 15000000, /* ... where something was heard on the second port */
	NEAR_BEGIN = 8, /* of a chunk; what is before it was lost */
};

void
client_ext_begin(struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	uint32_t bytes = (c->chunks.n + 7) / 8;

	c->ext.coming = malloc(bytes);
	if (c->ext.coming == NULL)
		return; /* the base protocol needs no more memory */
	/* Joining wants everything, or it is said soon what is wanted. */
	memset(c->ext.coming, client_wants_all(c) ? 0xff : 0, bytes);
	c->ext.look = !client_wants_all(c);
	c->ext.want_all = c->cfg.resumes && !c->cfg.in_order;
	c->ext.on = true;
	c->ext.parity = c->cfg.parity && (a->flags & WIREXT_CAN_PARITY) != 0;
	c->ext.port = a->port;
	c->ext.session = a->session;
	memcpy(c->ext.identity, a->identity, sizeof a->identity);
	c->ext.clients = a->clients;
	c->ext.state_us = c->ext.seen_us = now_us;
	c->ext.unpaced = (a->flags & WIREXT_UNPACED) != 0;
	c->ext.horizon = c->ext.unpaced ? WIREXT_FIRST_UNPACED : WIREXT_FIRST;
	c->ext.window = 2 * WIREXT_FIRST_UNPACED;
}

/* Another run of the server's; it knows nothing of what we want. */
static void
adopt_session(struct client *c, uint32_t session)
{
	if (c->ext.session == session)
		return;
	c->ext.session = session;
	c->ext.horizon = c->position.seen;
	client_load_forget(&c->load);
	client_packs_forget(&c->packs);
	c->ext.look = true;
	memset(c->ext.coming, 0, (c->chunks.n + 7) / 8);
	for (uint32_t i = 0; i < c->bufs.nfilling; i++)
		client_nacked_unanswered(&c->bufs.at[c->bufs.filling[i]].nacked);
}

bool
client_ext_same(const struct client *c, const struct wirext_answer *a)
{
	return a == NULL || c->ext.coming == NULL ||
	       memcmp(a->identity, c->ext.identity, WIREXT_IDENTITY_BYTES) == 0;
}

void
client_ext_answered(struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	if (c->ext.coming == NULL)
		return;
	c->ext.answered = true;
	if (a == NULL) {
		/* A server that does not know the extension has taken over. */
		c->ext.on &= !c->ext.doubting;
		return;
	}
	if (a->session == c->ext.session)
		return;
	adopt_session(c, a->session);
	c->ext.port = a->port;
	c->ext.state_us = now_us;
	c->ext.doubting = false;
}

void
client_ext_hear_state(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	if (memcmp(m->u.state.identity, c->ext.identity, WIREXT_IDENTITY_BYTES) != 0) {
		client_hear_claim(c, now_us, m->srcip, CLIENT_OTHER_IMAGE);
		return;
	}
	if (m->u.state.flags & WIREXT_STALE) {
		client_hear_claim(c, now_us, m->srcip,
		    "says that its image file was changed while it was being loaded");
		return;
	}
	client_claim_deny(&c->claim, now_us);
	adopt_session(c, m->session);
	c->heard_us = c->ext.state_us = now_us;
	c->ext.doubting = false;
	c->ext.clients = m->u.state.clients;
	bool idle = (m->u.state.flags & WIREXT_IDLE) != 0;
	/* Nothing was sent between two of these, so nothing is on its way: the wait for what
	 * comes late, which may have grown long, is over. */
	if (idle && c->ext.idle)
		client_bufs_settle_all(&c->bufs, now_us);
	c->ext.idle = idle;
	client_position_sets(
	    &c->position, (m->u.state.flags & WIREXT_IN_SETS) != 0);
	c->ext.most_lack -= c->ext.most_lack / 8;
	const struct wirext_map *map = &m->u.state.coming;
	for (uint32_t i = map->first; i - map->first < map->count && i < c->chunks.n;
	     i++)
		client_ext_set_coming(c, i, wirext_map_test(map, i));
	c->ext.look = true;
	if (c->ext.idle)
		client_end_pass(c, now_us);
	c->scan_at_us = now_us;
}

void
client_ext_set_coming(struct client *c, uint32_t chunk, bool coming)
{
	uint8_t bit = (uint8_t)(1 << chunk % 8);

	if (coming)
		c->ext.coming[chunk / 8] |= bit;
	else
		c->ext.coming[chunk / 8] &= (uint8_t)~bit;
}

/* A pass that we see from near its beginning is all that was wanted of the chunk;
 * of one that we came late for, the server still wants the beginning. */
void
client_ext_pass_begins(struct client *c, uint32_t chunk, uint32_t block)
{
	if (c->ext.on && block < NEAR_BEGIN)
		client_ext_set_coming(c, chunk, false);
}

/* No announcements for some time: what is wanted is said again, and the server asked
 * for its new port, should it have one.  If it answers that nothing has changed, the
 * second port is closed to us, and the base protocol must do. */
void
client_ext_listen_for_state(struct client *c, uint64_t now_us)
{
	uint64_t silent = now_us - c->ext.state_us;
	uint64_t lost_us = c->packs.round != 0 ? LOST_OPEN_US : LOST_US;

	if (silent >= lost_us && c->ext.answered) {
		c->ext.on = false;
		return;
	}
	if (silent < DOUBT_US || c->ext.doubting)
		return;
	c->ext.doubting = true;
	c->ext.answered = false;
	c->ext.look = true;
	memset(c->ext.coming, 0, (c->chunks.n + 7) / 8);
	c->join_at_us = now_us + client_hold_random(&c->hold, c->cfg.join_us);
}

/* Ask it until it answers. */
size_t
client_ext_join_again(struct client *c, uint64_t now_us, void *pkt)
{
	if (!c->ext.doubting || c->ext.answered || now_us < c->join_at_us)
		return 0;
	return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
}

size_t
client_ext_listen(struct client *c, uint64_t now_us, void *pkt)
{
	client_ext_listen_for_state(c, now_us);
	return c->ext.on ? client_ext_join_again(c, now_us, pkt) : 0;
}
