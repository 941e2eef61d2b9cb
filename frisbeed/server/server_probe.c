/* server_probe.c: answers to the probes of "frisbee --doctor".  The shell calls this,
 * in the session's thread, for each packet on the second port that is a probe; the rest
 * of the engine does not know about it. */
#include "frisbeed/server/server_probe.h"

#include <string.h>

enum {
	FULL_US = 5000000
}; /* after this time the bytes of a burst are available again */

void
server_probe_init(struct server_probe *s, const uint8_t srcip[4],
    const uint8_t group[4], uint16_t port, uint32_t session, uint64_t now_us)
{
	*s = (struct server_probe){ .port = port,
		.session = session,
		.tokens = SERVER_PROBE_BURST_BYTES,
		.filled_us = now_us };
	memcpy(s->srcip, srcip, 4);
	memcpy(s->group, group, 4);
}

void
server_probe_moved(struct server_probe *s, const uint8_t srcip[4])
{
	memcpy(s->srcip, srcip, 4);
}

void
server_probe_sent(struct server_probe *s, uint32_t blocks)
{
	s->blocks = blocks;
}

void
server_probe_mute(struct server_probe *s, bool mute)
{
	s->mute = mute;
}

static struct server_probe_asker *
asker_of(struct server_probe *s, uint64_t now_us, const struct probe *p)
{
	struct server_probe_asker *oldest = &s->askers[0];

	for (unsigned i = 0; i < SERVER_PROBE_ASKERS; i++) {
		struct server_probe_asker *a = &s->askers[i];
		if (a->at_us != 0 && a->id == p->id && memcmp(a->ip, p->srcip, 4) == 0)
			return a;
		if (a->at_us < oldest->at_us)
			oldest = a;
	}
	*oldest = (struct server_probe_asker){ .id = p->id, .at_us = now_us + 1 };
	memcpy(oldest->ip, p->srcip, 4);
	return oldest;
}

static bool
may_send(struct server_probe *s, uint64_t now_us, size_t len)
{
	uint64_t cost = len + SERVER_PROBE_COST_BYTES, since = now_us - s->filled_us;

	if (since > FULL_US)
		since = FULL_US;
	uint64_t fresh = since * SERVER_PROBE_BYTES_S / 1000000;
	if (fresh > 0) {
		s->filled_us = now_us;
		s->tokens = s->tokens + fresh < SERVER_PROBE_BURST_BYTES
		                ? s->tokens + fresh
		                : SERVER_PROBE_BURST_BYTES;
	}
	if (s->tokens < cost)
		return false;
	s->tokens -= cost;
	return true;
}

unsigned
server_probe_input(struct server_probe *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], bool by_group, struct server_probe_answer out[2])
{
	struct probe p;
	struct err e;
	unsigned n = 0;

	if (probe_get(&p, pkt, len, &e) != 0 || p.echo ||
	    memcmp(p.srcip, from, 4) != 0 ||
	    (p.session != 0 && p.session != s->session))
		return 0;
	struct server_probe_asker *a = asker_of(s, now_us, &p);
	a->at_us = now_us + 1;
	a->heard++;
	for (unsigned flag = PROBE_GROUP; flag <= PROBE_DIRECT; flag <<= 1) {
		if (!(p.flags & flag) || !may_send(s, now_us, len))
			continue;
		*(flag == PROBE_GROUP ? &a->by_group : &a->direct) += 1;
		struct probe echo = { .echo = true,
			.session = s->session,
			.id = p.id,
			.number = p.number,
			.flags = (uint16_t)(flag |
					    (by_group ? PROBE_CAME_BY_GROUP : 0) |
					    (s->mute ? PROBE_MUTE : 0)),
			.heard = a->heard,
			.by_group = a->by_group,
			.direct = a->direct,
			.blocks = s->blocks,
			.port = s->port };
		memcpy(echo.srcip, s->srcip, 4);
		memcpy(echo.group, s->group, 4);
		out[n].to_group = flag == PROBE_GROUP;
		out[n].len = len;
		n += probe_put(&echo, out[n].pkt, len);
	}
	return n;
}
