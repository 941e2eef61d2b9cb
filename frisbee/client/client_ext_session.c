/* client_ext_session.c: the session with a server that uses the extension: its
 * beginning, a restart of the server, its announcements, and what to do if they are
 * missing.  It notifies the parts, in the engine's only thread. */
#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum { NEAR_BEGIN = 8 }; /* blocks: a pass first heard behind these was joined late */

void
client_ext_begin(struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	/* A JOIN means that everything is wanted; if not, the client soon says which
	 * chunks it wants. */
	if (!client_nack_begin(&c->nack, c->chunks.n, client_wants_all(c),
		c->cfg.resumes && !c->cfg.in_order))
		return; /* the base protocol needs no more memory */
	client_session_begin(&c->session, now_us, a, c->cfg.parity);
	client_credit_begin(&c->credit, now_us, c->session.unpaced);
}

/* What was heard of a session is over: the server may not know what this client wants. */
static void
begin_anew(struct client *c)
{
	client_credit_new_session(&c->credit, c->position.received);
	client_congestion_forget(&c->congestion);
	client_mtu_forget(&c->mtu);
	client_nack_nothing_comes(&c->nack);
	for (uint32_t i = 0; i < c->bufs.nfilling; i++)
		client_nacked_unanswered(&c->bufs.at[c->bufs.filling[i]].nacked);
}

/* The server was restarted. */
static void
adopt_session(struct client *c, uint32_t session)
{
	if (client_session_adopt(&c->session, session))
		begin_anew(c);
}

void
client_ext_answered(struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	if (!client_session_answered(&c->session, a))
		return;
	adopt_session(c, a->session);
	client_session_moved(&c->session, now_us, a->port);
}

/* Whoever was pinned before may have named the same session, and may have lied about all
 * of it. */
void
client_ext_taken_over(
    struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	client_ext_answered(c, now_us, a);
	if (a == NULL || !c->session.known)
		return;
	client_session_moved(&c->session, now_us, a->port);
	begin_anew(c);
}

/* Which image does it announce, that which is being loaded? */
static void
hear_other_state(struct client *c, const struct wirext_msg *m)
{
	if (memcmp(m->u.state.identity, c->session.identity, WIREXT_IDENTITY_BYTES) != 0)
		client_pin_dispute(&c->pin, m->srcip);
	else if ((m->u.state.flags & WIREXT_STALE) == 0)
		client_pin_rival(&c->pin, m->srcip);
}

void
client_ext_hear_other(struct client *c, const struct wirext_msg *m)
{
	if (c->pin.named)
		return;
	if (m->kind == WIREXT_STATE)
		hear_other_state(c, m);
	else if (m->kind == WIREXT_DATA || m->kind == WIREXT_URGENT_DATA)
		client_blocks_of_other(
		    c, m->srcip, m->u.data.chunk, m->u.data.first, m->u.data.count);
	else if (m->kind == WIREXT_PARITY && client_lacks_some(c, m->u.parity.chunk))
		client_pin_missed(&c->pin, m->srcip, 1);
}

void
client_ext_hear_state(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	if (memcmp(m->u.state.identity, c->session.identity, WIREXT_IDENTITY_BYTES) !=
	    0) {
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
	client_membership_heard(&c->membership, now_us);
	bool idle = (m->u.state.flags & WIREXT_IDLE) != 0;
	if (idle && !c->session.idle)
		client_nack_server_is_idle(&c->nack);
	/* Nothing was sent between two STATEs that say so, so nothing is on its way: the wait
	 * for what comes late, which may have grown long, is over. */
	if (client_session_state(&c->session, now_us, m->u.state.clients, idle))
		client_bufs_settle_all(&c->bufs, now_us);
	client_position_interleave(
	    &c->position, (m->u.state.flags & WIREXT_INTERLEAVED) != 0);
	client_nack_hear_state(c, now_us, &m->u.state.coming);
	if (m->u.state.flags & WIREXT_ASKS)
		client_ext_asked(c, now_us);
	if (m->u.state.flags & WIREXT_HELD)
		client_credit_held(c, now_us);
	if (c->session.idle)
		client_end_pass(c, now_us);
	client_schedule_now(&c->schedule, now_us);
}

/* A pass that this client hears from near its beginning has all blocks that were wanted
 * of the chunk.  When the client has joined later, the server sends the beginning in
 * another pass. */
void
client_ext_pass_begins(struct client *c, uint32_t chunk, uint32_t block)
{
	client_nack_pass_begins(&c->nack, chunk);
	if (c->session.on && block < NEAR_BEGIN)
		client_nack_set_coming(&c->nack, chunk, false);
}

/* When no STATE has come for some time, the client says again what it wants, and asks the
 * server for its second port, which may have changed.  If the server answers that nothing
 * has changed, the second port is closed to this client, which then uses the base
 * protocol. */
void
client_ext_listen_for_state(struct client *c, uint64_t now_us)
{
	enum session_heard heard = client_session_listen(
	    &c->session, now_us, c->mtu.round != 0);

	if (heard != SESSION_DOUBTED)
		return;
	client_nack_nothing_comes(&c->nack);
	client_membership_join_at(&c->membership,
	    now_us + client_backoff_random(&c->backoff, c->cfg.join_us));
}

/* Ask the server by JOIN until it answers. */
size_t
client_ext_join_again(struct client *c, uint64_t now_us, void *pkt)
{
	if (!client_session_asks(&c->session) || now_us < c->membership.join_at_us)
		return 0;
	return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
}

size_t
client_ext_listen(struct client *c, uint64_t now_us, void *pkt)
{
	client_ext_listen_for_state(c, now_us);
	return c->session.on ? client_ext_join_again(c, now_us, pkt) : 0;
}
