/* client_output.c: what the client sends, and when. client_output() asks the parts
 * in a fixed order, and client_deadline() is the earliest of the times that they
 * name.  The shell calls both, in the engine's only thread. */
#include "frisbee/client/client_ext_impl.h"
#include "frisbee/client/client_policy.h"

static bool
wants_more(const struct client *c)
{
	return c->bufs.nfilling > 0 ||
	       (c->bufs.nfree > 0 && client_next_open(c, c->chunks.n) != c->chunks.n);
}

/* Does the client request what it needs by messages of the extension? */
static bool
speaks_ext(const struct client *c)
{
	return c->session.on && !client_partial(c);
}

/* Messages that do not request blocks. */
static size_t
other_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->membership.join_again)
		return client_put_first_join(c, now_us, pkt);
	if (client_claim_asks(&c->claim, now_us))
		return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
	size_t len = client_ext_say_mtu_ack(c, now_us, pkt);
	if (len == 0 && wants_more(c) && now_us >= client_ask_who_at_us(c))
		len = client_put_join(c, now_us, WIREXT_AGAIN, pkt);
	return len;
}

/* Requests of the base protocol; with the extension, only for chunks in parts. */
static size_t
base_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->session.on) {
		size_t len = client_ext_listen(c, now_us, pkt);
		if (len > 0)
			return len;
		if (!c->session.on) /* as if never negotiated */
			client_requests_alive(&c->requests, now_us);
	}
	if (client_partial(c) && now_us >= client_partial_quiet_us(c))
		client_end_pass(c, now_us);
	if (now_us >= client_requests_idle_at_us(&c->requests) ||
	    now_us >= client_requests_stuck_at_us(&c->requests)) {
		client_go_idle(c, now_us);
		client_schedule_now(&c->schedule, now_us);
	}
	if (now_us < c->schedule.at_us)
		return 0;
	client_chunks_settle(&c->chunks, now_us, c->position.guard_us);
	return client_policy_say(&client_base_policy, c, now_us, pkt);
}

/* Messages of the extension that request blocks. */
static size_t
ext_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t len = client_ext_complain(c, now_us, pkt);

	if (len > 0 || now_us < c->schedule.at_us)
		return len;
	client_ext_listen_for_state(c, now_us);
	if (!c->session.on) { /* as if never negotiated */
		client_requests_alive(&c->requests, now_us);
		return base_output(c, now_us, pkt);
	}
	/* A request of the base protocol, or its whole answer, may be lost. */
	if (now_us >= client_requests_idle_at_us(&c->requests))
		client_go_idle(c, now_us);
	client_chunks_settle(&c->chunks, now_us, c->position.guard_us);
	return client_policy_say(&client_ext_policy, c, now_us, pkt);
}

static size_t
loading_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t other = other_output(c, now_us, pkt);

	if (other > 0 || !wants_more(c))
		return other;
	return speaks_ext(c) ? ext_output(c, now_us, pkt) : base_output(c, now_us, pkt);
}

/* When -T ends the load. */
static uint64_t
silence_at_us(const struct client *c)
{
	return client_membership_silent_at_us(
	    &c->membership, c->cfg.silence_us, wants_more(c));
}

size_t
client_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->membership.leave_pending)
		return client_put_leave(c, pkt);
	if (now_us >= silence_at_us(c))
		client_membership_give_up(&c->membership, c->cfg.silence_us);
	switch (c->membership.state) {
	case CLIENT_JOINING:
		return client_join_output(c, now_us, pkt);
	case CLIENT_LOADING:
		return loading_output(c, now_us, pkt);
	case CLIENT_COMPLETE:
		return client_ext_say_flushing(c, now_us, pkt);
	default:
		return 0;
	}
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When there may be a message to send, while loading. */
static uint64_t
loading_at_us(const struct client *c)
{
	uint64_t at = client_claim_ask_at_us(&c->claim);

	if (c->session.on)
		at = earlier(at, client_mtu_at_us(&c->mtu));
	if (!wants_more(c))
		return at;
	at = earlier(at, earlier(c->schedule.at_us, client_ask_who_at_us(c)));
	return earlier(at, speaks_ext(c) ? client_congestion_at_us(&c->congestion)
					 : client_requests_idle_at_us(&c->requests));
}

uint64_t
client_deadline(const struct client *c, uint64_t now_us)
{
	uint64_t at = silence_at_us(c);

	if (c->membership.leave_pending ||
	    (c->membership.join_again && c->membership.state == CLIENT_LOADING))
		return now_us;
	if (c->membership.state == CLIENT_JOINING)
		at = earlier(at, c->membership.join_at_us);
	else if (c->membership.state == CLIENT_LOADING)
		at = earlier(at, loading_at_us(c));
	at = earlier(at, client_ext_flushing_at_us(c));
	return at > now_us ? at : now_us;
}
