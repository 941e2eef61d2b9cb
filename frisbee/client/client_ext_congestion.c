/* client_ext_congestion.c: complaints about the rate.  When the network is
 * congested, one client sends CONGESTION, and some more do, because the server may
 * not believe one alone. client_output() asks for them, in the engine's only thread. */
#include "frisbee/client/client_ext_impl.h"

enum {
	/* The longest time for which one of the clients below holds its complaint back.
	 * It is short, because a queue overflows soon. */
	CONGESTION_BACKOFF_US = 20000,
	/* About this many clients complain even if they heard others do so, because
	 * the server does not believe a single address. */
	VOICES = 8,
	/* All others wait up to this many times as long.  What the voices say comes late to
	 * them, behind the queue: with 80 clients, a third of the complaints came from
	 * clients that could not have heard the others yet. */
	OTHERS = 3,
	/* The server asks only while few clients are there. */
	HEARS_BACKOFF_US = 10000,
};

/* Tell the server, which asks, that this client hears everything. */
static size_t
say_hears(struct client *c, uint64_t now_us, void *pkt)
{
	struct wirext_msg m;

	if (!client_congestion_hears(&c->congestion, now_us))
		return 0;
	client_ext_message(c, &m, WIREXT_HEARS);
	m.u.hears.clientid = c->cfg.clientid;
	m.u.hears.epoch = c->congestion.epochs[0];
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

void
client_ext_asked(struct client *c, uint64_t now_us)
{
	client_congestion_asked(&c->congestion,
	    now_us + client_backoff_random(&c->backoff, HEARS_BACKOFF_US));
}

/* Put a complaint into pkt if the network is congested and it is time for one.
 * Returns its length, or 0. */
size_t
client_ext_complain(struct client *c, uint64_t now_us, void *pkt)
{
	uint32_t clients = c->session.clients;
	struct wirext_msg m;

	client_congestion_clients(&c->congestion, clients);
	if (client_congestion_judge(
		&c->congestion, now_us, c->position.received, c->position.gaps) &&
	    c->congestion.say_at_us == 0) {
		bool voice;
		uint64_t held = client_backoff_voice_us(&c->backoff,
		    CONGESTION_BACKOFF_US, clients, VOICES, OTHERS, &voice);
		client_congestion_say(&c->congestion, now_us + held, voice);
	}
	if (!client_congestion_says(&c->congestion, now_us))
		return say_hears(c, now_us, pkt);
	client_ext_message(c, &m, WIREXT_CONGESTION);
	m.u.congestion.clientid = c->cfg.clientid;
	m.u.congestion.epoch = c->congestion.say_epoch;
	m.u.congestion.lost = c->congestion.say_lost;
	m.u.congestion.of = c->congestion.say_of;
	m.u.congestion.queue = c->congestion.say_kind == CLIENT_CONGESTION_QUEUE;
	m.u.congestion.step = c->congestion.say_kind == CLIENT_CONGESTION_STEP;
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}
