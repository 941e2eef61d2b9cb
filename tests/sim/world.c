/* world.c: begins, ends and sums up a run (world.h, world_impl.h).  runs.c and paper.c call
 * it, in the program's only thread. */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world_impl.h"

enum { GREEDY_US = 5000 }; /* between two messages of each greedy machine */

void
world_fail(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->out->failed[0] != '\0')
		return;
	int n = snprintf(
	    w->out->failed, sizeof w->out->failed, "%.6f s: ", (double)w->now_ns / 1e9);
	va_start(ap, fmt);
	vsnprintf(w->out->failed + n, sizeof w->out->failed - (size_t)n, fmt, ap);
	va_end(ap);
}

void
world_trace(const struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->trace)
		return;
	printf("%12.6f ", (double)w->now_ns / 1e9);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void
step_greedy(struct world *w, uint32_t port)
{
	struct greedy *g = &w->greedy[port - w->sc->clients - 1];
	uint8_t pkt[WIRE_PACKET_MAX];

	g->session = w->server.cfg.ext.session;
	size_t n = greedy_speaks(g, pkt);
	net_send(&w->net, port, g->ip, pkt, n, w->now_ns);
	world_clock_set(w, port, w->now_ns + GREEDY_US * US);
}

static void
setup_greedy(struct world *w)
{
	const struct scenario *sc = w->sc;

	w->ngreedy = sc->greedy_old + sc->greedy_new;
	w->greedy = calloc(w->ngreedy + 1, sizeof *w->greedy);
	assert(w->greedy != NULL);
	for (uint32_t i = 0; i < w->ngreedy; i++)
		w->greedy[i] = (struct greedy){ .old = i < sc->greedy_old,
			.ip = { 10, 1, 0, (uint8_t)(i + 1) },
			.id = (uint32_t)random_next(&w->rng) >> 1,
			.nchunks = w->nchunks };
}

/* The time that a block takes at the allowed rate. */
static double
block_us(const struct scenario *sc)
{
	uint64_t bits = sc->rate_bits != 0          ? sc->rate_bits
	                : sc->net.client_bits != 0 ? sc->net.client_bits
	                                           : sc->net.port_bits;

	return WIRE_BLOCK_COST_BITS * 1e6 / (double)bits;
}

static void
setup(struct world *w, uint64_t seed)
{
	const struct scenario *sc = w->sc;
	uint32_t greedy_end = sc->clients + 1 + sc->greedy_old + sc->greedy_new;
	uint32_t rival_port = greedy_end + sc->foes;
	uint32_t relay_port = rival_port + (sc->rival_us > 0);
	uint32_t tcp_port = relay_port + sc->relay, ports = tcp_port + (sc->tcp_us > 0);
	struct net_config net = sc->net;

	w->rng = seed;
	w->nchunks = sc->chunks;
	w->image_bytes = (uint64_t)sc->chunks * CHUNK_BYTES;
	if (sc->odd_bytes != 0)
		w->image_bytes -= CHUNK_BYTES - sc->odd_bytes;
	net.burst_us = sc->loss_burst > 1 ? sc->loss_burst * block_us(sc) : 0;
	net_init(&w->net, &net, ports, random_next(&w->rng));
	w->net.touched = world_touched;
	w->net.arg = w;
	world_clock_init(w, ports);
	world_setup_clients(w);
	if (!sc->readers_idle)
		world_setup_readers(w, seed);
	world_setup_server(w);
	setup_greedy(w);
	world_setup_rival(w, rival_port);
	world_setup_relay(w, relay_port);
	for (uint32_t i = 0; i < ports; i++)
		world_reschedule(w, i);
	for (uint32_t i = sc->clients + 1; i < greedy_end; i++)
		world_clock_set(w, i, i * US);
	world_setup_foes(w, greedy_end);
	world_setup_tcp(w, tcp_port);
}

static void
teardown(struct world *w)
{
	for (uint32_t i = 0; i < w->sc->clients; i++) {
		struct node *nd = &w->nodes[i];
		client_free(nd->engine);
		free(nd->shadow);
		free(nd->writing);
		free(nd->done);
	}
	world_free_readers(w);
	free(w->nodes);
	free(w->greedy);
	free(w->foes);
	world_free_host(&w->server);
	world_free_host(&w->rival);
	world_free_host(&w->relay);
	world_clock_fini(w);
	net_fini(&w->net);
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
note_multiple(struct multiples *m, double times)
{
	m->mean += times; /* the sum, for now */
	m->worst = times > m->worst ? times : m->worst;
}

/* Sums up the clients' times as multiples of the time that each takes alone. */
static void
sum_multiples(const struct world *w, struct outcome *out)
{
	const struct scenario *sc = w->sc;
	struct multiples *const all[] = { &out->own, &out->own_slow, &out->own_fast };
	uint32_t n[3] = { 0 };

	for (uint32_t i = 0; i < sc->clients; i++) {
		const struct node *nd = &w->nodes[i];
		double alone = (double)sc->alone_extra_us +
		               (double)nd->chunk_ns * w->nchunks / (double)US;
		if (alone < (double)sc->alone_net_us)
			alone = (double)sc->alone_net_us;
		if (nd->finish_ns == 0)
			continue;
		double took = (double)(nd->finish_ns - nd->start_ns) / (double)US;
		unsigned class = i < sc->slow_clients ? 1 : 2;
		note_multiple(all[0], took / alone);
		note_multiple(all[class], took / alone);
		n[0]++;
		n[class]++;
	}
	for (unsigned k = 0; k < 3; k++)
		all[k]->mean /= n[k] > 0 ? n[k] : 1;
}

/* Sums up the clients' times, sorts them, and returns their number. */
static uint32_t
sum_times(const struct world *w, struct outcome *out, uint64_t *times)
{
	uint32_t n = 0;
	double slow = 0, fast = 0;

	for (uint32_t i = 0; i < w->sc->clients; i++) {
		const struct node *nd = &w->nodes[i];
		if (nd->finish_ns == 0)
			continue;
		times[n] = (nd->finish_ns - nd->start_ns) / US;
		out->mean_us += (double)times[n];
		*(i < w->sc->slow_clients ? &slow : &fast) += (double)times[n++];
	}
	if (w->sc->slow_clients > 0)
		out->slow_mean_us = slow / w->sc->slow_clients;
	if (w->sc->clients > w->sc->slow_clients)
		out->fast_mean_us = fast / (w->sc->clients - w->sc->slow_clients);
	qsort(times, n, sizeof *times, by_value);
	return n;
}

/* Sums up the times of clients with which nothing is wrong. */
static void
sum_clean(const struct world *w, struct outcome *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->sc->clients; i++) {
		const struct node *nd = &w->nodes[i];
		if (!world_is_clean(w, i) || nd->finish_ns == 0)
			continue;
		uint64_t us = (nd->finish_ns - nd->start_ns) / US;
		out->clean_mean_us += (double)us;
		out->clean_worst_us = us > out->clean_worst_us ? us
		                                               : out->clean_worst_us;
		n++;
	}
	out->clean_mean_us /= n > 0 ? n : 1;
	out->least_heard = 1;
	for (uint32_t i = 0; i < w->sc->clients; i++)
		if (!w->nodes[i].lost && w->nodes[i].heard_share < out->least_heard)
			out->least_heard = w->nodes[i].heard_share;
}

/* How many clients must end, and end well. */
static uint32_t
clients_due(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->sc->clients; i++)
		n += !w->nodes[i].absent && !w->nodes[i].lost && !w->nodes[i].crashes;
	return n;
}

static void
sum_sent(struct world *w, struct host *h)
{
	struct outcome *out = w->out;

	world_keep_stats(w, h);
	out->blocks_sent += h->before.blocks_sent;
	out->blocks_resent += h->before.blocks_resent;
	out->parity_sent += h->before.parity_sent;
	out->data_packets_sent += h->before.data_packets_sent;
	out->left_out += h->before.blocks_left_out;
}

static void
sum_up(struct world *w)
{
	struct outcome *out = w->out;
	uint64_t *times = calloc(w->sc->clients, sizeof *times);

	assert(times != NULL);
	uint32_t n = sum_times(w, out, times);
	if (w->sc->alone_net_us > 0)
		sum_multiples(w, out);
	sum_clean(w, out);
	out->finished = n;
	out->mean_us /= n > 0 ? n : 1;
	out->median_us = n > 0 ? times[n / 2] : 0;
	out->best_us = n > 0 ? times[0] : 0;
	out->worst_us = n > 0 ? times[n - 1] : 0;
	free(times);
	world_sum_readers(w);
	world_end_tcp(w);
	sum_sent(w, &w->server);
	sum_sent(w, &w->rival);
	sum_sent(w, &w->relay);
	out->end_us = w->now_ns / US;
	out->image_blocks = (w->image_bytes - 1) / WIRE_BLOCK_BYTES + 1;
	/* More clients have not all answered before a short image ends, nor have a few in 50 ms. */
	if (w->sc->pack_blocks > 0 && out->data_packets_sent == 0 && w->sc->ext &&
	    w->sc->buffers >= 8 && w->sc->clients <= 1000 && out->end_us >= 50000 &&
	    w->sc->old_clients + w->sc->greedy_new + w->sc->greedy_old +
		    w->sc->foes + w->sc->bad_clients + (w->sc->rival_us > 0) ==
		0)
		world_fail(w, "no packets of several blocks were sent");
	out->net = w->net.stats;
	/* One client alone gets what was damaged, and no more. */
	if (w->sc->damage > 0 && w->sc->clients == 1 && w->sc->net.loss == 0 &&
	    out->blocks_sent + out->parity_sent > out->image_blocks + out->damaged)
		world_fail(w, "%llu blocks were damaged, and more came again",
		    (unsigned long long)out->damaged);
	uint32_t due = clients_due(w);
	if (out->failed[0] == '\0' && n + out->refused < due)
		world_fail(w, "only %u of %u clients finished", n, due);
}

void
world_run(const struct scenario *sc, uint64_t seed, bool traced, struct outcome *out)
{
	struct world w = { .sc = sc, .out = out, .trace = traced };
	/* This is long enough for the worst of the cases: a client that is not done by then
	 * hangs. */
	uint64_t limit_ns = (UINT64_C(600) + sc->chunks * UINT64_C(20)) * 1000000000;

	memset(out, 0, sizeof *out);
	setup(&w, seed);
	while (w.left > 0 && out->failed[0] == '\0') {
		const struct heap_item *next = w.clock.items[0];
		uint32_t port = (uint32_t)next->number;
		if (next->time > limit_ns) {
			world_fail(&w, "%u clients never end", w.left);
			break;
		}
		w.now_ns = next->time > w.now_ns ? next->time : w.now_ns;
		struct host *h = world_host_at(&w, port);
		if (h != NULL)
			world_step_server(&w, h);
		else if (world_is_tcp(&w, port))
			world_step_tcp(&w);
		else if (world_is_foe(&w, port))
			world_step_foe(&w, port);
		else if (port > sc->clients)
			step_greedy(&w, port);
		else
			world_step_client(&w, port);
	}
	w.net.touched = NULL;
	sum_up(&w);
	teardown(&w);
}
