/* client_ext.c: reads and writes the messages of the extension.  Their content
 * belongs to the parts: client_credit.h, client_nack.h, client_congestion.h,
 * client_mtu.h, client_session.h.  The engine calls this for packets of the second
 * port, in its only thread. */
#include <string.h>

#include "frisbee/client/client_ext_impl.h"

void
client_ext_message(struct client *c, struct wirext_msg *m, enum wirext_kind kind)
{
	m->kind = kind;
	m->session = c->session.session;
	memcpy(m->srcip, c->cfg.srcip, 4);
	m->told = (struct wirext_told){ .is = true,
		.chunks = c->bufs.ntaken,
		.doing = c->membership.state == CLIENT_COMPLETE ? WIREXT_DOING_FLUSHING
		         : c->membership.starved                ? WIREXT_DOING_DISK
		                                 : WIREXT_DOING_LOADING };
	client_membership_told(&c->membership);
}

/* Tell the server that everything has arrived and is being written, if that takes
 * long: no other message is sent then. */
size_t
client_ext_say_flushing(struct client *c, uint64_t now_us, void *pkt)
{
	struct wirext_msg m;

	if (now_us < client_ext_flushing_at_us(c))
		return 0;
	client_membership_flushing(&c->membership, now_us);
	client_ext_message(c, &m, WIREXT_CREDIT);
	m.u.credit.clientid = c->cfg.clientid;
	m.u.credit.blocks = 0;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

uint64_t
client_ext_flushing_at_us(const struct client *c)
{
	return c->session.known && !c->session.closed
	           ? client_membership_flushing_at_us(&c->membership)
	           : CLIENT_NEVER;
}

/* An MTU_PROBE: a packet of a certain length, which names the clients that are to
 * answer. */
static void
hear_mtu_probe(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	uint32_t n = m->u.mtu_probe.n, mine = 0;

	while (mine < n && m->u.mtu_probe.id[mine] != c->cfg.clientid)
		mine++;
	if (mine < n)
		client_mtu_probed(&c->mtu, now_us, &c->backoff, m->u.mtu_probe.number,
		    m->u.mtu_probe.blocks, n);
}

size_t
client_ext_say_mtu_ack(struct client *c, uint64_t now_us, void *pkt)
{
	if (!c->session.on || !client_mtu_says(&c->mtu, now_us))
		return 0;
	struct wirext_msg m = { .kind = WIREXT_MTU_ACK, .session = c->session.session };
	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.mtu_ack.clientid = c->cfg.clientid;
	m.u.mtu_ack.number = c->mtu.round;
	m.u.mtu_ack.blocks = c->mtu.blocks;
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* Pass on the blocks of a DATA or an URGENT_DATA. */
static bool
handle_blocks(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    bool (*take)(struct client *, uint64_t now_us, const struct client_blocks *,
	struct client_store *),
    struct client_store *store)
{
	const struct client_blocks in = { .chunk = m->u.data.chunk,
		.first = m->u.data.first,
		.count = m->u.data.count,
		.content = m->u.data.content,
		.data = m->u.data.data };

	return take(c, now_us, &in, store);
}

static bool
is_clients(enum wirext_kind kind)
{
	return kind == WIREXT_WANT || kind == WIREXT_CREDIT || kind == WIREXT_CREDIT_AT ||
	       kind == WIREXT_CONGESTION || kind == WIREXT_NACK || kind == WIREXT_MTU_ACK ||
	       kind == WIREXT_URGENT || kind == WIREXT_HEARS;
}

/* A message of another client of the session. */
static void
hear_client(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	if (client_heed_ignores(&c->heed, now_us, m->srcip))
		return;
	switch (m->kind) {
	case WIREXT_WANT:
		client_nack_hear_want(c, now_us, m);
		break;
	case WIREXT_CREDIT:
	case WIREXT_CREDIT_AT:
		client_credit_heard(&c->credit, now_us, c->position.received,
		    m->u.credit.blocks, c->session.unpaced, m->srcip);
		break;
	case WIREXT_CONGESTION:
		client_congestion_heard(&c->congestion, m->u.congestion.epoch,
		    m->u.congestion.queue || m->u.congestion.step);
		break;
	case WIREXT_NACK:
		client_nack_hear_reports(c, now_us, m);
		break;
	default:
		break; /* MTU_ACK and URGENT are for the server */
	}
}

/* A message of the pinned server in the current session.  STATE may begin another
 * session. */
static bool
hear_server(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    struct client_store *store)
{
	if (m->kind == WIREXT_STATE) {
		if (c->session.on)
			client_ext_hear_state(c, now_us, m);
		return false;
	}
	if (m->session != c->session.session)
		return false;
	client_claim_deny(&c->claim, now_us);
	switch (m->kind) {
	case WIREXT_DATA:
		return handle_blocks(c, now_us, m, client_take_blocks, store);
	case WIREXT_URGENT_DATA:
		return handle_blocks(c, now_us, m, client_take_urgent, store);
	case WIREXT_PARITY:
		return client_ext_hear_parity(c, now_us, m, store);
	case WIREXT_MTU_PROBE:
		if (c->session.on)
			hear_mtu_probe(c, now_us, m);
		return false;
	case WIREXT_TIME:
		client_congestion_signal(&c->congestion, now_us, m->u.time.time_us,
		    m->u.time.epoch, m->u.time.sent);
		return false;
	default:
		return false;
	}
}

bool
client_ext_input(struct client *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store)
{
	struct wirext_msg m;
	struct err e;

	if (c->membership.state != CLIENT_LOADING || !c->session.known ||
	    wirext_get(&m, pkt, len, &e) != 0 || memcmp(m.srcip, from, 4) != 0)
		return false;
	if (!is_clients(m.kind)) {
		if (client_pin_hears(&c->pin, now_us, from))
			return hear_server(c, now_us, &m, store);
		client_ext_hear_other(c, &m);
		return false;
	}
	if (m.session == c->session.session)
		hear_client(c, now_us, &m);
	return false;
}
