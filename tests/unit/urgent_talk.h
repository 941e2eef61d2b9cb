/* urgent_talk.h: a server's engine, clients with the extension that wait for blocks, and what is
 * sent for them.  A client's id is the last byte of its address. */
#ifndef TESTS_UNIT_URGENT_TALK_H
#define TESTS_UNIT_URGENT_TALK_H

#include "tests/t.h"
#include "tests/unit/server_talk.h"

static inline void
say_urgent_as(struct server *s, uint64_t now, const uint8_t ip[4], struct wirext_run run)
{
	struct wirext_msg m = { .kind = WIREXT_URGENT, .session = 9 };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, ip, 4);
	m.u.urgent.clientid = ip[3];
	m.u.urgent.n = 1;
	m.u.urgent.at[0] = run;
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), ip);
}

static inline void
say_urgent(struct server *s, uint64_t now, uint32_t chunk, unsigned first, unsigned count)
{
	say_urgent_as(s, now, ip_a,
	    (struct wirext_run){ chunk, (uint16_t)first, (uint16_t)count });
}

/* A message of the base protocol from this address. */
static inline struct wire_msg
request_of(const uint8_t ip[4], enum wire_subtype subtype)
{
	struct wire_msg m = from_a(subtype);

	memcpy(m.srcip, ip, 4);
	return m;
}

static inline void
join_ext(struct server *s, uint64_t now, const uint8_t ip[4])
{
	struct wire_msg m = request_of(ip, WIRE_JOIN);
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.join.clientid = ip[3];
	size_t len = wire_put(&m, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, 0);
	server_input(s, now, pkt, len, ip);
}

static inline void
leave_ext(struct server *s, uint64_t now, const uint8_t ip[4])
{
	struct wire_msg m = request_of(ip, WIRE_LEAVE);

	m.u.leave.clientid = ip[3];
	input(s, now, &m, ip);
}

/* An engine with one client, at ip_a. */
static inline struct server *
begin(uint64_t *now)
{
	struct server *s = make_ext(0);

	join_ext(s, 0, ip_a);
	*now = 0;
	return s;
}

/* Of so many milliseconds: how many blocks of each kind go, and the first urgent one. */
struct went {
	uint32_t urgent, others, before; /* others before the first urgent one */
};

static inline struct went
run(struct server *s, uint64_t *now, unsigned ms)
{
	struct went w = { 0 };
	struct server_out out;

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		for (read_all(s); server_output(s, *now, &out); read_all(s)) {
			if (out.kind == SERVER_OUT_URGENT) {
				w.urgent += out.count;
				T_CHECK(out.block + out.count <= out.content);
			} else if (out.kind == SERVER_OUT_BLOCK || out.kind == SERVER_OUT_DATA) {
				w.others += out.count;
				w.before += w.urgent == 0 ? out.count : 0;
			}
		}
	}
	return w;
}

#endif /* TESTS_UNIT_URGENT_TALK_H */
