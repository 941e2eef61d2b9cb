/* The extension's side of the client: it does not ask for chunks one by one; the server
 * sends what anybody wants and says what still comes.  Who lacks something that does
 * not come says so, after a random time in which another may say it first. */
#include <string.h>

#include "frisbee/client_ext_impl.h"

void
client_ext_message(const struct client *c, struct wirext_msg *m, enum wirext_kind kind)
{
	m->kind = kind;
	m->session = c->ext.session;
	memcpy(m->srcip, c->cfg.srcip, 4);
}

static bool
handle_pack(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    struct client_store *store)
{
	struct client_blocks in = { .chunk = m->u.pack.chunk,
		.first = m->u.pack.first,
		.count = m->u.pack.count,
		.content = m->u.pack.content,
		.data = m->u.pack.data };

	return client_take_blocks(c, now_us, &in, store);
}

bool
client_ext_input(struct client *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store)
{
	struct wirext_msg m;
	struct err e;

	if (c->state != CLIENT_LOADING || c->ext.coming == NULL ||
	    wirext_get(&m, pkt, len, &e) != 0 || memcmp(m.srcip, from, 4) != 0)
		return false;
	bool server = !c->cfg.has_server || memcmp(from, c->cfg.server, 4) == 0;
	switch (m.kind) {
	case WIREXT_STATE:
		if (server && c->ext.on)
			client_ext_hear_state(c, now_us, &m);
		return false;
	case WIREXT_PACK:
		return server && m.session == c->ext.session &&
		       handle_pack(c, now_us, &m, store);
	case WIREXT_TRY:
		if (server && c->ext.on && m.session == c->ext.session)
			client_packs_hear_try(c, now_us, &m);
		return false;
	case WIREXT_FITS:
		return false; /* for the server */
	case WIREXT_PARITY:
		return server && client_ext_hear_parity(c, now_us, &m, store);
	case WIREXT_WANT:
		if (m.session == c->ext.session)
			client_ext_hear_want(c, &m.u.want.map);
		return false;
	case WIREXT_GO:
	case WIREXT_ROOM:
		if (m.session == c->ext.session)
			client_ext_note_go(c, now_us, m.u.go.blocks);
		return false;
	case WIREXT_TIME:
		if (server && m.session == c->ext.session)
			client_load_signal(&c->ext.load, now_us, m.u.time.time_us,
			    m.u.time.epoch, m.u.time.sent);
		return false;
	case WIREXT_LOAD:
		if (m.session == c->ext.session)
			client_ext_hear_load(c, &m);
		return false;
	case WIREXT_NAK:
		if (m.session == c->ext.session)
			client_ext_hear_reports(c, now_us, &m);
		return false;
	}
	return false;
}

static uint64_t
next_look_us(const struct client *c, uint64_t now_us)
{
	uint64_t at = now_us + c->cfg.tick_us;
	const uint64_t soon[] = { c->ext.want_at_us, c->ext.report_at_us,
		c->ext.go_at_us };

	for (unsigned i = 0; i < sizeof soon / sizeof soon[0]; i++)
		if (soon[i] > now_us && soon[i] < at)
			at = soon[i];
	for (uint32_t i = 0; i < c->nfilling; i++) {
		uint64_t settled = c->buffers[c->filling[i]].settled_us;
		if (settled > now_us && settled < at)
			at = settled;
	}
	return at;
}

size_t
client_ext_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t said = client_ext_complain(c, now_us, pkt);
	if (said > 0 || now_us < c->scan_at_us)
		return said;
	client_ext_listen_for_state(c, now_us);
	if (!c->ext.on)
		return 0;
	/* The answer to a request of the base protocol can be lost whole. */
	if (!c->ext.parity && now_us >= client_idle_at_us(c))
		client_go_idle(c, now_us);
	client_chunks_settle(&c->chunks, now_us, c->guard_us);
	size_t len = client_ext_go(c, now_us, pkt);
	if (len > 0)
		return len;
	len = c->ext.parity ? client_ext_report(c, now_us, pkt)
	                    : client_ask_missing(c, now_us, pkt);
	if (len == 0)
		len = client_ext_want(c, now_us, pkt);
	if (len == 0)
		len = client_ext_join_again(c, now_us, pkt);
	if (len == 0)
		c->scan_at_us = next_look_us(c, now_us);
	return len;
}
