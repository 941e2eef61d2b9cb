/* sim: the real engines of frisbeed and frisbee on a simulated network.
 *
 *	sim				every case, a few seeds: the test
 *	sim --seeds N			every case with seeds 1..N
 *	sim --case NAME --seed N	one run; --trace prints its packets
 *
 * Checked at every step: a block is stored once, into a buffer that belongs to
 * its chunk; a buffer that the shell has is not touched; a chunk is complete
 * when it is taken, and taken once; every client ends; the server sends no
 * block that nobody has asked for since it sent it last, and not faster than
 * its pacing allows.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client.h"
#include "frisbeed/server.h"
#include "tests/sim/sim.h"

enum { CLIENTS_MAX = 80, BUFFERS_MAX = 64, MAP_BYTES = WIRE_MAP_BYTES, NEVER_S = 3000 };

struct scenario {
	const char *name;
	int clients;
	uint64_t image_bytes;
	double loss, duplicate, reorder;
	enum { AT_ONCE, GROUPS, UNIFORM } start;
	uint32_t buffers;
	uint64_t chunk_us;		/* decoding and writing one, each client */
	bool crash, restart, any_file;
};

#define CHUNKS(n) ((uint64_t)(n) << 20)

static const struct scenario scenarios[] = {
	{ "alone", 1, CHUNKS(24), 0, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "alone-1", 1, CHUNKS(24), .01, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "alone-10", 1, CHUNKS(24), .1, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "eight", 8, CHUNKS(24), 0, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "eight-messy", 8, CHUNKS(12), .02, .01, .02, UNIFORM, 64, 1000, 0, 0, 0 },
	{ "eighty", 80, CHUNKS(24), 0, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "eighty-groups", 80, CHUNKS(24), 0, 0, 0, GROUPS, 64, 1000, 0, 0, 0 },
	{ "eighty-uniform", 80, CHUNKS(24), 0, 0, 0, UNIFORM, 64, 1000, 0, 0, 0 },
	{ "eighty-1", 80, CHUNKS(12), .01, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "eighty-10", 80, CHUNKS(8), .1, 0, 0, AT_ONCE, 64, 1000, 0, 0, 0 },
	{ "crash", 8, CHUNKS(12), .01, 0, 0, AT_ONCE, 64, 1000, 1, 0, 0 },
	{ "restart", 8, CHUNKS(12), 0, 0, 0, AT_ONCE, 64, 1000, 0, 1, 0 },
	{ "slow-disks", 4, CHUNKS(16), 0, 0, 0, AT_ONCE, 4, 300000, 0, 0, 0 },
	{ "one-buffer", 2, CHUNKS(6), .01, 0, 0, UNIFORM, 1, 20000, 0, 0, 0 },
	{ "odd-file", 3, CHUNKS(3) + 307200, .02, 0, .01, UNIFORM, 8, 1000, 0, 0, 1 },
	{ "tiny-file", 2, 1, .05, 0, 0, AT_ONCE, 8, 1000, 0, 0, 1 },
};

enum { NSCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* 70 Mbit/s on links of 100, as in the Frisbee paper. */
enum { RATE_BITS = 70000000, TOTAL_NODES = CLIENTS_MAX + 1, SERVER_NODE = 0 };

struct node {
	struct client *engine;		/* NULL: not yet there, or gone */
	uint64_t start_at, done_at;	/* UINT64_MAX: not yet */
	bool crashed, finished;
	/* The shell's side of every buffer. */
	struct { uint32_t chunk; bool shell; uint64_t free_at; uint8_t map[MAP_BYTES]; } buf[BUFFERS_MAX];
	uint8_t *taken;			/* by chunk */
	uint64_t disk_free_at;
};

struct world {
	const struct scenario *sc;
	uint64_t seed, now;
	bool trace;
	struct net *net;
	struct server *server;
	struct server_config server_cfg;
	uint64_t server_back_at;	/* after a crash; 0: it runs */
	bool restarted;
	struct { uint32_t buf; uint64_t at; bool busy; } read;
	struct server_run queue[SERVER_AHEAD_MAX];
	uint32_t qhead, qtail;
	uint8_t *asked;			/* 1 bit a block: asked for since it was sent */
	uint32_t nchunks;
	struct node node[CLIENTS_MAX];
	uint64_t sent, resent, control;
	uint64_t window_at, window_blocks;	/* pacing: blocks in this second */
	char bad[200];
};

static void __attribute__((format(printf, 2, 3)))
broken(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->bad[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(w->bad, sizeof w->bad, fmt, ap);
	va_end(ap);
}

static void
ip_of(int node, uint8_t ip[4])
{
	ip[0] = 10, ip[1] = 0, ip[2] = (uint8_t)(node / 250), ip[3] = (uint8_t)(node % 250 + 1);
}

static void
server_begin(struct world *w)
{
	struct server_config *c = &w->server_cfg;

	*c = (struct server_config){ .image_bytes = w->sc->image_bytes,
		.whole_chunks = !w->sc->any_file, .run_blocks = 32, .ahead = 16 };
	ip_of(SERVER_NODE, c->srcip);
	server_rate_to_burst(RATE_BITS, &c->burst, &c->gap_us);
	w->server = server_new(c, w->now);
	if (w->server == NULL)
		abort();
	w->nchunks = server_chunks(w->server);
	w->read.busy = false;
	w->qhead = w->qtail = 0;
}

static void
client_begin(struct world *w, int i)
{
	struct client_config c = { .clientid = (uint32_t)i + 1, .seed = w->seed * 1000 + (uint64_t)i,
		.any_file = w->sc->any_file, .buffers = w->sc->buffers, .readahead = 2, .in_progress = 8,
		.redo_us = 1000000, .tick_us = 30000, .idle_ticks = 3, .join_us = 500000 };

	ip_of(i + 1, c.srcip);
	w->node[i].engine = client_new(&c, w->now);
	w->node[i].taken = calloc(w->nchunks, 1);
	if (w->node[i].engine == NULL || w->node[i].taken == NULL)
		abort();
}

/* The server may send what somebody asked for and it could hear. */
static void
note_request(struct world *w, const struct wire_msg *m)
{
	uint32_t chunk = m->subtype == WIRE_REQ ? m->u.req.chunk : m->u.preq.chunk;

	if (chunk >= w->nchunks)
		return;
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++) {
		bool in = m->subtype == WIRE_REQ ? b >= m->u.req.first && b - m->u.req.first < m->u.req.count :
		    m->u.preq.map[b / 8] >> b % 8 & 1;
		if (in)
			w->asked[(size_t)chunk * MAP_BYTES + b / 8] |= (uint8_t)(1u << b % 8);
	}
}

static void
to_server(struct world *w, const struct net_packet *p)
{
	struct wire_msg m;
	struct err e;
	uint8_t from[4];

	if (w->server == NULL)
		return;
	ip_of(p->from, from);
	if (wire_get(&m, p->data, p->len, &e) == 0 && (m.subtype == WIRE_REQ || m.subtype == WIRE_PREQ))
		note_request(w, &m);
	server_input(w->server, w->now, p->data, p->len, from);
}

static void
store_block(struct world *w, int i, const struct client_store *st)
{
	struct node *n = &w->node[i];
	uint8_t bit = (uint8_t)(1u << st->block % 8);

	if (st->buf >= w->sc->buffers)
		broken(w, "client %d: buffer %u of %u", i, st->buf, w->sc->buffers);
	else if (n->buf[st->buf].shell)
		broken(w, "client %d: stores into buffer %u, which the shell has", i, st->buf);
	else if (n->taken[st->chunk])
		broken(w, "client %d: stores chunk %u again", i, st->chunk);
	if (w->bad[0] != '\0')
		return;
	if (n->buf[st->buf].chunk != st->chunk) {
		memset(n->buf[st->buf].map, 0, MAP_BYTES);
		n->buf[st->buf].chunk = st->chunk;
	}
	if (n->buf[st->buf].map[st->block / 8] & bit)
		broken(w, "client %d: block %u of chunk %u stored twice", i, st->block, st->chunk);
	n->buf[st->buf].map[st->block / 8] |= bit;
}

static void
take_chunks(struct world *w, int i)
{
	struct node *n = &w->node[i];
	uint32_t chunk, buf, bytes;

	while (client_take(n->engine, &chunk, &buf, &bytes)) {
		uint64_t left = w->sc->image_bytes - ((uint64_t)chunk << 20);
		uint64_t want = left < 1 << 20 ? left : 1 << 20;
		uint32_t blocks = (uint32_t)((want + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES), have = 0;
		for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
			have += n->buf[buf].map[b / 8] >> b % 8 & 1;
		if (n->buf[buf].chunk != chunk || have != blocks || bytes != want)
			broken(w, "client %d: chunk %u taken with %u of %u blocks, %u bytes", i, chunk, have,
			    blocks, bytes);
		if (n->taken[chunk]++)
			broken(w, "client %d: chunk %u taken twice", i, chunk);
		uint64_t begin = n->disk_free_at > w->now ? n->disk_free_at : w->now;
		n->disk_free_at = begin + w->sc->chunk_us;
		n->buf[buf].shell = true;
		n->buf[buf].free_at = n->disk_free_at;
		n->buf[buf].chunk = UINT32_MAX;
	}
}

static void
release_buffers(struct world *w, int i)
{
	struct node *n = &w->node[i];
	bool busy = false;

	for (uint32_t b = 0; b < w->sc->buffers; b++) {
		if (n->buf[b].shell && n->buf[b].free_at <= w->now) {
			n->buf[b].shell = false;
			client_release(n->engine, w->now, b);
		}
		busy |= n->buf[b].shell;
	}
	if (!busy && client_state(n->engine) == CLIENT_COMPLETE && !n->finished) {
		struct wire_stats none = { 0 };
		n->finished = true;
		n->done_at = w->now;
		client_finish(n->engine, w->now, &none);
	}
}

static void
send_from(struct world *w, int from, const void *pkt, size_t len)
{
	struct wire_msg m;
	struct err e;

	if (wire_get(&m, pkt, len, &e) != 0)
		broken(w, "node %d sends what cannot be read: %s", from, e.text);
	w->control += m.subtype != WIRE_BLOCK;
	if (w->trace)
		printf("%10.3f ms  node %d  subtype %d  %s %u\n", (double)w->now / 1000, from, m.subtype,
		    m.subtype == WIRE_BLOCK && m.u.block.block % 256 != 0 ? "block of" : "chunk",
		    m.subtype == WIRE_BLOCK ? m.u.block.chunk : m.subtype == WIRE_REQ ? m.u.req.chunk :
		    m.subtype == WIRE_PREQ ? m.u.preq.chunk : 0);
	net_send(w->net, w->now, from, pkt, len);
}

static void
run_client(struct world *w, int i)
{
	struct node *n = &w->node[i];
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t len;

	if (n->engine == NULL)
		return;
	take_chunks(w, i);
	release_buffers(w, i);
	while ((len = client_output(n->engine, w->now, pkt)) > 0)
		send_from(w, i + 1, pkt, len);
	if (client_state(n->engine) == CLIENT_REFUSED)
		broken(w, "client %d: %s", i, client_error(n->engine));
}

static void
check_block(struct world *w, const struct server_out *o)
{
	uint8_t *at = &w->asked[(size_t)o->chunk * MAP_BYTES + o->block / 8];
	uint8_t bit = (uint8_t)(1u << o->block % 8);

	if (!(*at & bit))
		broken(w, "server: block %u of chunk %u, which nobody asked for", o->block, o->chunk);
	*at &= (uint8_t)~bit;
	w->sent++;
	if (w->now - w->window_at >= 1000000) {
		w->window_at = w->now;
		w->window_blocks = 0;
	}
	if (++w->window_blocks > RATE_BITS / WIRE_BLOCK_COST_BITS + 4 * w->server_cfg.burst)
		broken(w, "server: more than the rate in a second");
}

static void
run_server(struct world *w)
{
	struct server_run run;
	struct server_out o;
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	if (w->server == NULL)
		return;
	if (w->read.busy && w->read.at <= w->now) {
		w->read.busy = false;
		server_read_done(w->server, w->read.buf);
	}
	while (server_read_next(w->server, &run))
		w->queue[w->qtail++ % SERVER_AHEAD_MAX] = run;
	if (!w->read.busy && w->qhead != w->qtail) {
		w->read.busy = true;
		w->read.buf = w->queue[w->qhead++ % SERVER_AHEAD_MAX].buf;
		w->read.at = w->now + 100 + net_random(w->net, 200);
	}
	while (server_output(w->server, w->now, &o)) {
		if (o.kind == SERVER_OUT_PACKET) {
			send_from(w, SERVER_NODE, o.pkt, o.len);
			continue;
		}
		check_block(w, &o);
		wire_put_block_header(pkt, w->server_cfg.srcip, o.chunk, o.block);
		send_from(w, SERVER_NODE, pkt, sizeof pkt);
	}
	w->resent = server_stats(w->server)->blocks_resent;
}

static uint64_t
earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
next_event(struct world *w)
{
	uint64_t at = net_next(w->net);

	if (w->server != NULL) {
		at = earliest(at, server_deadline(w->server, w->now));
		if (w->read.busy)
			at = earliest(at, w->read.at);
	} else {
		at = earliest(at, w->server_back_at);
	}
	for (int i = 0; i < w->sc->clients; i++) {
		const struct node *n = &w->node[i];
		if (n->engine == NULL) {
			at = n->crashed || n->done_at != UINT64_MAX ? at : earliest(at, n->start_at);
			continue;
		}
		at = earliest(at, client_deadline(n->engine, w->now));
		for (uint32_t b = 0; b < w->sc->buffers; b++)
			if (n->buf[b].shell)
				at = earliest(at, n->buf[b].free_at);
	}
	return at;
}

/* Crashes: the first client at half a second; the server at a second, for one. */
static void
accidents(struct world *w)
{
	struct node *n = &w->node[0];

	if (w->sc->crash && !n->crashed && w->now >= 500000) {
		n->crashed = true;
		net_set_up(w->net, 1, false);
		client_free(n->engine);
		n->engine = NULL;
	}
	if (w->sc->restart && !w->restarted && w->now >= 1000000 && w->server != NULL) {
		w->restarted = true;
		server_free(w->server);
		w->server = NULL;
		w->server_back_at = w->now + 1000000;
	}
	if (w->server == NULL && w->now >= w->server_back_at)
		server_begin(w);
}

static bool
all_ended(const struct world *w)
{
	for (int i = 0; i < w->sc->clients; i++)
		if (!w->node[i].crashed && w->node[i].done_at == UINT64_MAX)
			return false;
	return true;
}

static void
step(struct world *w)
{
	struct net_packet p;
	struct client_store st;
	uint8_t from[4];

	accidents(w);
	for (int i = 0; i < w->sc->clients; i++)
		if (w->node[i].engine == NULL && !w->node[i].crashed && w->node[i].start_at <= w->now &&
		    w->node[i].done_at == UINT64_MAX)
			client_begin(w, i);
	while (w->bad[0] == '\0' && net_take(w->net, w->now, &p)) {
		ip_of(p.from, from);
		if (p.to == SERVER_NODE) {
			to_server(w, &p);
		} else if (w->node[p.to - 1].engine != NULL) {
			if (client_input(w->node[p.to - 1].engine, w->now, p.data, p.len, from, &st))
				store_block(w, p.to - 1, &st);
			take_chunks(w, p.to - 1);
		}
	}
	run_server(w);
	for (int i = 0; i < w->sc->clients; i++)
		run_client(w, i);
}

struct outcome {
	double mean_s, slowest_s, dup_percent, control_per_s;
};

static void
place_starts(struct world *w)
{
	/* Groups and the uniform spread take as long as a load alone. */
	uint64_t span = w->sc->image_bytes * 8 / (RATE_BITS / 1000000);

	for (int i = 0; i < w->sc->clients; i++) {
		struct node *n = &w->node[i];
		n->done_at = UINT64_MAX;
		for (int b = 0; b < BUFFERS_MAX; b++)
			n->buf[b].chunk = UINT32_MAX;
		n->start_at = w->sc->start == AT_ONCE ? net_random(w->net, 20000) :
		    w->sc->start == GROUPS ? (uint64_t)(i % 4) * span / 4 + net_random(w->net, 20000) :
		    net_random(w->net, span + 1);
	}
}

static void
summarise(const struct world *w, struct outcome *o)
{
	int n = 0;

	*o = (struct outcome){ 0 };
	for (int i = 0; i < w->sc->clients; i++) {
		if (w->node[i].crashed)
			continue;
		double s = (double)(w->node[i].done_at - w->node[i].start_at) / 1e6;
		o->mean_s += s;
		o->slowest_s = s > o->slowest_s ? s : o->slowest_s;
		n++;
	}
	o->mean_s /= n;
	o->dup_percent = 100.0 * (double)w->resent / (double)(w->sent != 0 ? w->sent : 1);
	o->control_per_s = (double)w->control / ((double)w->now / 1e6);
}

/* One run: 0 good. */
static int
simulate(const struct scenario *sc, uint64_t seed, bool trace, struct outcome *o)
{
	struct net_config nc = { .bits_per_us = 100, .latency_us = 50, .queue_bytes = 1 << 18,
		.loss = sc->loss, .duplicate = sc->duplicate, .reorder = sc->reorder };
	struct world *w = calloc(1, sizeof *w);

	if (w == NULL)
		abort();
	w->sc = sc, w->seed = seed, w->trace = trace;
	w->net = net_new(&nc, sc->clients + 1, seed);
	server_begin(w);
	w->asked = calloc(w->nchunks, MAP_BYTES);
	place_starts(w);
	while (w->bad[0] == '\0' && !all_ended(w)) {
		uint64_t at = next_event(w);
		if (at == UINT64_MAX || at > (uint64_t)NEVER_S * 1000000)
			broken(w, "at %.1f s some clients have not ended", (double)w->now / 1e6);
		else
			w->now = at > w->now ? at : w->now;
		step(w);
	}
	summarise(w, o);
	int bad = w->bad[0] != '\0';
	if (bad)
		printf("FAIL %s: %s\n     again: sim --case %s --seed %" PRIu64 "\n", sc->name, w->bad, sc->name,
		    seed);
	for (int i = 0; i < sc->clients; i++) {
		client_free(w->node[i].engine);
		free(w->node[i].taken);
	}
	server_free(w->server);
	net_free(w->net);
	free(w->asked);
	free(w);
	return bad;
}

static int
run_case(const struct scenario *sc, uint64_t first, uint64_t last, bool trace)
{
	struct outcome o, sum = { 0 };
	int bad = 0;

	for (uint64_t seed = first; seed <= last; seed++) {
		bad += simulate(sc, seed, trace, &o);
		sum.mean_s += o.mean_s;
		sum.slowest_s = o.slowest_s > sum.slowest_s ? o.slowest_s : sum.slowest_s;
		sum.dup_percent += o.dup_percent;
		sum.control_per_s += o.control_per_s;
	}
	double n = (double)(last - first + 1);
	double alone = (double)sc->image_bytes / WIRE_BLOCK_BYTES * WIRE_BLOCK_COST_BITS / RATE_BITS;
	printf("%-16s %2d clients: mean %6.2f s (wire time %.2f), slowest %6.2f s, sent again %5.1f %%, "
	    "%5.0f control packets/s%s\n", sc->name, sc->clients, sum.mean_s / n, alone, sum.slowest_s,
	    sum.dup_percent / n, sum.control_per_s / n, bad ? "  FAIL" : "");
	fflush(stdout);
	return bad != 0;
}

int
main(int argc, char **argv)
{
	const char *only = NULL;
	uint64_t first = 1, last = 1;
	bool trace = false;
	int ran = 0, failed = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0)
			trace = true;
		else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc)
			only = argv[++i];
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			first = last = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
			last = strtoull(argv[++i], NULL, 10);
		else
			return fprintf(stderr, "usage: sim [--seeds N | --seed N] [--case NAME] [--trace]\n"), 2;
	}
	for (int i = 0; i < NSCENARIOS; i++)
		if (only == NULL || strcmp(only, scenarios[i].name) == 0) {
			ran++;
			failed += run_case(&scenarios[i], first, last, trace);
		}
	printf("%d cases, %d failed\n", ran, failed);
	return ran == 0 || failed != 0;
}
