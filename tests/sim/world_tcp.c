/* world_tcp.c: somebody else's stream of TCP, which goes to the first client's port beside what
 * the server sends.  It sends as much as its window allows, and the window follows CUBIC (RFC
 * 9438): slow start, seven tenths after a loss, then the curve or as Reno does, whichever is more.
 * Losses are noticed after a round trip, and count once in a window.  world.c calls this, in the
 * program's only thread. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "tests/sim/world_impl.h"

enum {
	TCP_TO = 1,           /* the port of the first client */
	TCP_BYTES = 1472,     /* of a packet, without UDP's envelope */
	TCP_WIRE_BYTES = 1538,
	TCP_MOST = 65536,     /* packets on their way */
	TCP_SILENT_US = 200000, /* it begins again after this time without an answer */
};
static const double FIRST_WINDOW = 10, LEFT = 0.7, CURVE = 0.4, RENO = 0.53, LEAST = 2;

struct tcp {
	uint32_t port;
	double window, threshold; /* packets */
	double before;            /* the window before the last loss */
	uint64_t lost_ns;         /* when that was; 0: there was none */
	uint64_t deaf_ns;         /* losses until then are known */
	struct answer_due {
		uint64_t at_ns, sent_ns;
		bool lost;
	} *way; /* ring */
	uint32_t head, n;
	uint64_t begun_ns, got; /* packets that were answered until the first client has all */
};

void
world_setup_tcp(struct world *w, uint32_t port)
{
	struct tcp *t = calloc(1, sizeof *t);

	if (w->sc->tcp_us == 0) {
		free(t);
		return;
	}
	assert(t != NULL);
	t->way = calloc(TCP_MOST, sizeof *t->way);
	assert(t->way != NULL);
	t->port = port;
	t->window = FIRST_WINDOW;
	t->threshold = TCP_MOST;
	w->tcp = t;
	t->begun_ns = w->sc->tcp_us * US;
	world_clock_set(w, port, t->begun_ns);
}

bool
world_is_tcp(const struct world *w, uint32_t port)
{
	return w->tcp != NULL && w->tcp->port == port;
}

static void
lost(struct tcp *t, uint64_t now_ns, uint64_t sent_ns)
{
	if (sent_ns < t->deaf_ns)
		return;
	t->before = t->window;
	t->window = t->window * LEFT > LEAST ? t->window * LEFT : LEAST;
	t->threshold = t->window;
	t->lost_ns = t->deaf_ns = now_ns;
}

static void
answered(struct tcp *t, uint64_t now_ns, uint64_t sent_ns)
{
	double since = (double)(now_ns - t->lost_ns) / 1e9;
	double round = (double)(now_ns - sent_ns) / 1e9;

	if (t->window < t->threshold) {
		t->window += 1;
		return;
	}
	double k = cbrt(t->before * (1 - LEFT) / CURVE);
	double curve = CURVE * pow(since - k, 3) + t->before;
	double reno = t->before * LEFT + RENO * since / round;
	double aim = curve > reno ? curve : reno;
	if (aim > t->window)
		t->window += (aim - t->window) / t->window;
}

static void
hear(struct world *w, struct tcp *t)
{
	for (; t->n > 0 && t->way[t->head].at_ns <= w->now_ns; t->n--) {
		const struct answer_due *a = &t->way[t->head];
		t->head = (t->head + 1) % TCP_MOST;
		if (a->lost)
			lost(t, w->now_ns, a->sent_ns);
		else
			answered(t, w->now_ns, a->sent_ns);
		t->got += !a->lost && w->nodes[0].finish_ns == 0;
	}
}

static void
speak(struct world *w, struct tcp *t)
{
	uint64_t way_ns = w->sc->net.latency_us * US * 2, last = w->now_ns + way_ns;

	if (t->n > 0)
		last = t->way[(t->head + t->n - 1) % TCP_MOST].at_ns;
	while (t->n < TCP_MOST && t->n < t->window) {
		uint64_t passed = net_pass(&w->net, TCP_TO, TCP_BYTES, w->now_ns);
		last = passed > 0 && passed + way_ns > last ? passed + way_ns : last;
		t->way[(t->head + t->n++) % TCP_MOST] =
		    (struct answer_due){ last, w->now_ns, passed == 0 };
	}
}

void
world_step_tcp(struct world *w)
{
	struct tcp *t = w->tcp;

	hear(w, t);
	speak(w, t);
	world_clock_set(w, t->port,
	    t->n > 0 ? t->way[t->head].at_ns : w->now_ns + TCP_SILENT_US * US);
}

void
world_end_tcp(struct world *w)
{
	const struct scenario *sc = w->sc;
	struct tcp *t = w->tcp;
	uint64_t bits = sc->net.client_bits != 0 ? sc->net.client_bits : sc->net.port_bits;

	if (t == NULL)
		return;
	double s = (double)(w->nodes[0].finish_ns - t->begun_ns) / 1e9;
	w->out->tcp = (double)t->got * TCP_WIRE_BYTES * 8 / (s * (double)bits / 2);
	free(t->way);
	free(t);
}
