/* Complaints about the rate: when the network is overloaded, one client says so. */
#include "frisbee/client/client_ext_impl.h"

enum {
	HOLD_LOAD_US = 20000, /* the longest that a complaint is held back */
	/* So many complain, whatever they hear: what one says alone is not believed. */
	VOICES = 8,
};

/* Another says so, and so do some of us: the server slows down for all. */
void
client_ext_hear_load(struct client *c, const struct wirext_msg *m)
{
	if (m->u.load.epoch >= c->ext.load.say_epoch && !c->ext.load.voice)
		c->ext.load.say_at_us = 0;
}

/* When the network is overloaded, somebody has to say so. */
size_t
client_ext_complain(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_load *l = &c->ext.load;
	struct wirext_msg m;

	l->clients = c->ext.clients;
	if (client_load_judge(l, now_us, c->ext.seen) && l->say_at_us == 0) {
		l->say_at_us = now_us + (c->ext.clients > 1
						? client_hold_draw_us(&c->hold,
							  HOLD_LOAD_US, c->ext.clients)
						: 0);
		l->voice = client_hold_random(&c->hold, l->clients + UINT64_C(1)) < VOICES;
	}
	if (l->say_at_us == 0 || now_us < l->say_at_us)
		return 0;
	l->say_at_us = 0;
	client_ext_message(c, &m, WIREXT_LOAD);
	m.u.load.clientid = c->cfg.clientid;
	m.u.load.epoch = l->say_epoch;
	m.u.load.lost = l->say_lost;
	m.u.load.of = l->say_of;
	m.u.load.queue = l->queue;
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}
