#include "tests/sim/world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/blockmap.h"
#include "common/net/wirext.h"
#include "tests/sim/greedy.h"

enum {
	SERVER = 0, /* its port; client i has port i + 1 */
	RUN_BLOCKS = 32,
	AHEAD = 64,
	GREEDY_US = 5000,           /* a message of each so often */
	SENDER_BACKLOG_NS = 200000, /* the sender waits when so much is queued */
	CHUNK_BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES,
};
static const uint64_t NEVER = UINT64_MAX, US = 1000;

/* What a buffer must hold, by our own book-keeping. */
struct shadow {
	bool used, taken;
	uint32_t chunk;
	struct blockmap have;
	uint8_t parity[WIRE_CHUNK_BLOCKS]; /* 1 + index of what lies there; 0: none */
};

struct writing {
	uint32_t buf;
	uint64_t done_ns;
};

struct node {
	struct client *engine;
	uint8_t ip[4];
	uint64_t start_ns, finish_ns;
	uint64_t chunk_ns;     /* its disk */
	struct shadow *shadow; /* by buffer */
	uint8_t *done;         /* by chunk */
	uint32_t ndone, drops;
	struct writing *writing; /* FIFO of at most `buffers` */
	uint32_t writing_head, nwriting, nwritten;
	uint64_t disk_free_ns;
	bool crashes, gone, joined;
};

/* No more than `most` blocks in any stretch of window_ns. */
struct pace {
	uint64_t window_ns;
	uint64_t *sent_ns; /* ring of the last `most` */
	size_t most, n;
};

struct reading {
	uint32_t buf;
	uint64_t done_ns;
};

struct world {
	const struct scenario *sc;
	struct outcome *out;
	bool trace;
	struct net net;
	uint64_t rng, now_ns;

	struct server *server; /* NULL: it is down */
	struct server_config server_cfg;
	struct server_stats before; /* of servers that died */
	uint32_t restarts;
	uint64_t restart_ns;        /* dies then, or comes back; 0: neither */
	uint64_t image_ns;          /* another file from then on; 0: never */
	uint64_t second, in_second; /* chatter in that second */
	struct reading reading[AHEAD];
	uint32_t reading_head, nreading;
	uint64_t disk_free_ns, next_stall_ns;
	struct blockmap *asked; /* by chunk: since the block was sent last */
	struct pace pace[2];    /* over a second, and over a few bursts */

	struct node *nodes;    /* clients */
	struct greedy *greedy; /* on the ports behind theirs */
	uint32_t ngreedy;
	uint32_t nchunks, left;
	uint64_t image_bytes;

	/* Heap of ports by their next event. */
	uint64_t *key;
	uint32_t *heap, *where;
};

__attribute__((format(printf, 2, 3))) static void
fail(struct world *w, const char *fmt, ...)
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

__attribute__((format(printf, 2, 3))) static void
trace(const struct world *w, const char *fmt, ...)
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

/* --- the heap --- */

static bool
sooner(const struct world *w, uint32_t a, uint32_t b)
{
	return w->key[a] < w->key[b] || (w->key[a] == w->key[b] && a < b);
}

static void
place(struct world *w, uint32_t i, uint32_t port)
{
	w->heap[i] = port;
	w->where[port] = i;
}

static void
heap_update(struct world *w, uint32_t port, uint64_t key)
{
	uint32_t i = w->where[port], n = w->net.nports;

	w->key[port] = key;
	while (i > 0 && sooner(w, port, w->heap[(i - 1) / 2])) {
		place(w, i, w->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && sooner(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!sooner(w, w->heap[child], port))
			break;
		place(w, i, w->heap[child]);
	}
	place(w, i, port);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
deadline_ns(uint64_t us)
{
	return us == NEVER ? NEVER : us * US;
}

static uint64_t
client_next_ns(const struct world *w, const struct node *nd, uint32_t port)
{
	if (nd->gone)
		return NEVER;
	if (nd->engine == NULL)
		return nd->start_ns;
	uint64_t at = earlier(net_next(&w->net, port),
	    deadline_ns(client_deadline(nd->engine, w->now_ns / US)));
	if (nd->nwriting > 0)
		at = earlier(at, nd->writing[nd->writing_head].done_ns);
	return at;
}

static uint64_t
server_next_ns(const struct world *w)
{
	if (w->server == NULL)
		return w->restart_ns;
	uint64_t due = deadline_ns(server_deadline(w->server, w->now_ns / US));
	uint64_t backlog = net_backlog_ns(&w->net, SERVER, w->now_ns);

	if (due != NEVER && backlog > SENDER_BACKLOG_NS &&
	    due < w->now_ns + backlog / 2)
		due = w->now_ns + backlog / 2;
	uint64_t at = earlier(due, net_next(&w->net, SERVER));
	if (w->image_ns != 0 && w->sc->restart_us == 0)
		at = earlier(at, w->image_ns);
	if (w->nreading > 0)
		at = earlier(at, w->reading[w->reading_head].done_ns);
	if (w->restart_ns != 0)
		at = earlier(at, w->restart_ns);
	return at;
}

static void
reschedule(struct world *w, uint32_t port)
{
	if (port > w->sc->clients)
		return; /* step_greedy() does */
	heap_update(w, port,
	    port == SERVER ? server_next_ns(w)
			   : client_next_ns(w, &w->nodes[port - 1], port));
}

/* Something arrives at a port: it may be sooner than what it waited for. */
static void
touched(void *arg, unsigned port)
{
	struct world *w = arg;
	uint64_t at = net_next(&w->net, port);

	if (at < w->key[port])
		heap_update(w, port, at);
}

/* --- sending --- */

/* Who asks, or leaves, has joined: the server counts its clients. */
static void
check_joined(struct world *w, uint32_t port, const struct wire_msg *m)
{
	struct node *nd = &w->nodes[port - 1];

	if (m->subtype == WIRE_JOIN || m->subtype == WIRE_JOIN2)
		nd->joined = true;
	else if (!nd->joined)
		fail(w, "client %u speaks before it joins", port);
}

static bool
readable_ext(struct world *w, uint32_t port, const void *pkt, size_t len)
{
	struct wirext_msg m;
	struct err e;

	if (!wirext_is(pkt, len))
		return false;
	if (wirext_get(&m, pkt, len, &e) != 0)
		fail(w, "port %u sends what cannot be read: %s", port, e.text);
	else if (port != SERVER && !w->nodes[port - 1].joined)
		fail(w, "client %u speaks before it joins", port);
	else if (port != SERVER && m.kind != WIREXT_WANT && m.kind != WIREXT_NAK &&
		 m.kind != WIREXT_GO && m.kind != WIREXT_LOAD &&
		 m.kind != WIREXT_ROOM && m.kind != WIREXT_FITS)
		fail(w, "client %u speaks like a server", port);
	trace(w, "port %u: kind %u of the extension", port, (unsigned)m.kind);
	return true;
}

static void
transmit(
    struct world *w, uint32_t port, const uint8_t ip[4], const void *pkt, size_t len)
{
	const uint8_t *b = pkt;
	struct wire_msg m;
	struct err e;

	if (readable_ext(w, port, pkt, len))
		;
	else if (wire_get(&m, pkt, len, &e) != 0)
		fail(w, "port %u sends what cannot be read: %s", port, e.text);
	else if (port != SERVER)
		check_joined(w, port, &m);
	uint64_t h = w->out->hash ^ w->now_ns ^ (uint64_t)port << 48;

	for (size_t i = 0; i < len && i < 40; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	w->out->hash = h;
	net_send(&w->net, port, ip, pkt, len, w->now_ns);
}

/* --- the server --- */

/* Every message but joins and leaves. */
static void
count_chatter(struct world *w)
{
	uint64_t second = w->now_ns / 1000000000;

	w->out->chatter++;
	w->in_second = second == w->second ? w->in_second + 1 : 1;
	w->second = second;
	if (w->out->busiest < w->in_second)
		w->out->busiest = w->in_second;
}

static void
note_wanted(struct world *w, const struct wirext_map *wanted)
{
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	for (uint32_t c = 0; c < w->nchunks; c++)
		if (wanted == NULL || wirext_map_test(wanted, c))
			blockmap_add(&w->asked[c], &all);
}

static void
note_asked_ext(struct world *w, const struct packet *pkt)
{
	struct wirext_msg m;
	struct err e;

	if (wirext_get(&m, pkt->bytes, pkt->len, &e) != 0)
		fail(w, "the server got a bad packet: %s", e.text);
	/* These belong to joining. */
	if (m.kind == WIREXT_FITS)
		w->out->fits++;
	else
		count_chatter(w);
	if (m.kind == WIREXT_WANT)
		note_wanted(w, &m.u.want.map);
}

static void
note_asked(struct world *w, const struct packet *pkt)
{
	struct wire_msg m;
	struct err e;
	struct blockmap map;
	uint32_t flags;

	w->out->control++;
	if (wirext_is(pkt->bytes, pkt->len)) {
		note_asked_ext(w, pkt);
		return;
	}
	if (w->sc->ext && wirext_get_offer(pkt->bytes, pkt->len, &flags))
		note_wanted(w, NULL);
	if (wire_get(&m, pkt->bytes, pkt->len, &e) != 0) {
		fail(w, "the server got a bad packet: %s", e.text);
		return;
	}
	if (m.subtype == WIRE_REQ)
		map = blockmap_range(m.u.req.first, m.u.req.count);
	else if (m.subtype == WIRE_PREQ)
		map = blockmap_get(m.u.preq.map);
	else
		return;
	count_chatter(w);
	if (m.u.req.chunk >= w->nchunks)
		fail(w, "a client asked for chunk %u", m.u.req.chunk);
	else
		blockmap_add(&w->asked[m.u.req.chunk], &map);
	trace(w, "server: hears %u.%u.%u.%u ask for %u blocks of chunk %u",
	    pkt->from[0], pkt->from[1], pkt->from[2], pkt->from[3],
	    blockmap_count(&map), m.u.req.chunk);
}

static void
check_pace(struct world *w, struct pace *p)
{
	if (p->most == 0)
		return;
	size_t i = p->n++ % p->most;
	if (p->n > p->most && w->now_ns - p->sent_ns[i] < p->window_ns)
		fail(w, "more than %zu blocks within %.3f s", p->most,
		    (double)p->window_ns / 1e9);
	p->sent_ns[i] = w->now_ns;
}

static void
setup_pace(struct world *w, struct pace *p, uint64_t window_us)
{
	const struct server_config *cfg = &w->server_cfg;

	p->window_ns = window_us * US;
	p->most = (window_us / cfg->gap_us + 2) * cfg->burst;
	p->sent_ns = calloc(p->most, sizeof *p->sent_ns);
	assert(p->sent_ns != NULL);
}

/* Has the server heard of one? */
static bool
old_client_is_there(const struct world *w)
{
	for (uint32_t i = w->sc->clients - w->sc->old_clients; i < w->sc->clients; i++)
		if (w->nodes[i].engine != NULL &&
		    client_chunks(w->nodes[i].engine) > 0 && w->restarts == 0)
			return true;
	return false;
}

/* How much of a chunk is not empty. */
static uint32_t
content_of(const struct world *w, uint32_t chunk)
{
	uint64_t rng = chunk * UINT64_C(77) + 5;
	uint32_t most = (uint32_t)(w->sc->empty * WIRE_CHUNK_BLOCKS);

	if (most == 0)
		return WIRE_CHUNK_BLOCKS;
	return WIRE_CHUNK_BLOCKS - (uint32_t)(sim_random(&rng) % (most + 1));
}

static void
check_sent(struct world *w, uint32_t chunk, uint32_t block)
{
	if (chunk >= w->nchunks || !blockmap_test(&w->asked[chunk], block))
		fail(w, "the server sends block %u of chunk %u, for which nobody asked",
		    block, chunk);
	else
		blockmap_clear(&w->asked[chunk], block);
	check_pace(w, &w->pace[0]);
	check_pace(w, &w->pace[1]);
	trace(w, "server: block %u of chunk %u", block, chunk);
}

/* Which one it is; zeros in the empty end of a chunk. */
static void
fill_block(const struct world *w, uint8_t *to, uint32_t chunk, uint32_t block)
{
	if (block >= content_of(w, chunk))
		return;
	memcpy(to, &chunk, 4);
	memcpy(to + 4, &block, 4);
	to[8] = 1;
}

static void
send_block(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	check_sent(w, out->chunk, out->block);
	wire_put_block_header(pkt, w->server_cfg.srcip, out->chunk, out->block);
	fill_block(w, pkt + WIRE_BLOCK_HEADER_BYTES, out->chunk, out->block);
	transmit(w, SERVER, w->server_cfg.srcip, pkt, sizeof pkt);
}

static void
send_pack(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIREXT_PACKET_MAX] = { 0 }, *data = pkt + WIREXT_PACK_HEADER_BYTES;

	if (out->count == 0 || out->count > w->sc->pack_blocks ||
	    out->content != content_of(w, out->chunk))
		fail(w, "%u blocks of chunk %u, of %u, in one packet", out->count,
		    out->chunk, out->content);
	if (w->sc->old_clients > 0 && old_client_is_there(w))
		fail(w, "an old client cannot hear this");
	for (uint32_t i = 0; i < out->count; i++) {
		check_sent(w, out->chunk, out->block + i);
		fill_block(w, data + i * WIRE_BLOCK_BYTES, out->chunk, out->block + i);
	}
	wirext_put_pack_header(pkt, w->server_cfg.srcip, w->server_cfg.ext.session,
	    out->chunk, out->block, out->count, out->content);
	transmit(w, SERVER, w->server_cfg.srcip, pkt,
	    WIREXT_PACK_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
}

static void
send_parity(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };
	uint32_t id = UINT32_C(1) << 31 | out->group << 8 | out->index;

	check_pace(w, &w->pace[0]);
	check_pace(w, &w->pace[1]);
	wirext_put_parity_header(pkt, w->server_cfg.srcip, w->server_cfg.ext.session,
	    out->chunk, out->group, out->index, out->content);
	memcpy(pkt + WIRE_BLOCK_HEADER_BYTES, &out->chunk, 4);
	memcpy(pkt + WIRE_BLOCK_HEADER_BYTES + 4, &id, 4);
	trace(w, "server: parity %u of group %u of chunk %u", out->index, out->group,
	    out->chunk);
	transmit(w, SERVER, w->server_cfg.srcip, pkt, sizeof pkt);
}

static uint64_t
reading_ns(struct world *w, uint32_t blocks)
{
	const struct scenario *sc = w->sc;
	uint64_t ns = sc->read_latency_us * US;

	if (sc->read_bytes_per_s != 0)
		ns += (uint64_t)blocks * WIRE_BLOCK_BYTES * 1000000000 /
		      sc->read_bytes_per_s;
	if (sc->stall_every_us != 0 && w->now_ns >= w->next_stall_ns) {
		ns += sc->stall_us * US;
		w->next_stall_ns = w->now_ns + sc->stall_every_us * US;
	}
	return ns;
}

static void
server_read(struct world *w)
{
	struct server_run run;

	while (server_read_next(w->server, &run)) {
		server_content(w->server, run.chunk, content_of(w, run.chunk));
		uint64_t ns = reading_ns(w, run.count);
		if (ns == 0) {
			server_read_done(w->server, run.buf);
			continue;
		}
		w->disk_free_ns = (w->disk_free_ns > w->now_ns ? w->disk_free_ns
							       : w->now_ns) +
		                  ns;
		assert(w->nreading < AHEAD);
		w->reading[(w->reading_head + w->nreading++) % AHEAD] =
		    (struct reading){ run.buf, w->disk_free_ns };
	}
}

static void
keep_server_stats(struct world *w)
{
	if (w->server == NULL)
		return;
	const struct server_stats *s = server_stats(w->server);
	w->before.blocks_sent += s->blocks_sent;
	w->before.blocks_resent += s->blocks_resent;
	w->before.parity_sent += s->parity_sent;
	w->before.packs_sent += s->packs_sent;
	w->before.blocks_left_out += s->blocks_left_out;
	if (s->bad_packets != 0)
		fail(w, "the server refused %llu packets",
		    (unsigned long long)s->bad_packets);
}

static void
server_dies(struct world *w)
{
	trace(w, "server: dies");
	keep_server_stats(w);
	server_free(w->server);
	w->server = NULL;
	w->nreading = 0;
	memset(w->asked, 0, w->nchunks * sizeof *w->asked);
	w->restart_ns = w->now_ns + w->sc->down_us * US;
	if (w->sc->down_us > 0)
		net_down(&w->net, SERVER);
}

static void
server_returns(struct world *w)
{
	trace(w, "server: starts anew");
	w->restarts++;
	w->server_cfg.ext.session++;
	if (w->image_ns != 0)
		memset(w->server_cfg.ext.identity, 2, WIREXT_IDENTITY_BYTES);
	w->server = server_new(&w->server_cfg, w->now_ns / US);
	assert(w->server != NULL);
	w->net.ports[SERVER].up = true;
	w->restart_ns = 0;
}

static void
step_server(struct world *w)
{
	struct server_out out;

	if (w->image_ns != 0 && w->server != NULL && w->now_ns >= w->image_ns &&
	    w->sc->restart_us == 0) {
		server_image_changed(w->server);
		w->image_ns = NEVER;
	}

	if (w->server != NULL && w->restart_ns != 0 && w->now_ns >= w->restart_ns)
		server_dies(w);
	if (w->server == NULL && w->now_ns >= w->restart_ns)
		server_returns(w);
	if (w->server == NULL) {
		reschedule(w, SERVER);
		return;
	}
	while (net_next(&w->net, SERVER) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, SERVER);
		note_asked(w, pkt);
		server_input(
		    w->server, w->now_ns / US, pkt->bytes, pkt->len, pkt->from);
		net_drop(pkt);
	}
	for (; w->nreading > 0 && w->reading[w->reading_head].done_ns <= w->now_ns;
	     w->nreading--) {
		server_read_done(w->server, w->reading[w->reading_head].buf);
		w->reading_head = (w->reading_head + 1) % AHEAD;
	}
	server_read(w);
	while (net_backlog_ns(&w->net, SERVER, w->now_ns) <= SENDER_BACKLOG_NS &&
	       server_output(w->server, w->now_ns / US, &out)) {
		if (out.kind == SERVER_OUT_BLOCK)
			send_block(w, &out);
		else if (out.kind == SERVER_OUT_PARITY)
			send_parity(w, &out);
		else if (out.kind == SERVER_OUT_PACK)
			send_pack(w, &out);
		else
			transmit(w, SERVER, w->server_cfg.srcip, out.pkt, out.len);
		if (out.kind != SERVER_OUT_PACKET && out.run_ends)
			server_read(w);
	}
	server_read(w);
	reschedule(w, SERVER);
}

/* --- clients --- */

static uint32_t
bytes_of(const struct world *w, uint32_t chunk)
{
	uint64_t left = w->image_bytes - (uint64_t)chunk * CHUNK_BYTES;

	return left < CHUNK_BYTES ? (uint32_t)left : CHUNK_BYTES;
}

/* Different ones of the group, and where a block of it is missing. */
static void
check_parity(
    struct world *w, struct shadow *sh, const struct client_store *st, uint32_t id)
{
	uint32_t group = id >> 8 & 0xff, index = id & 0xff;

	if (group != st->block % WIREXT_GROUPS || sh->parity[st->block] != 0)
		fail(w, "parity of chunk %u in the wrong place", st->chunk);
	for (uint32_t p = group; p < WIRE_CHUNK_BLOCKS; p += WIREXT_GROUPS)
		if (sh->parity[p] == index + 1)
			fail(w, "the same parity of chunk %u twice", st->chunk);
	sh->parity[st->block] = (uint8_t)(index + 1);
}

static void
check_data(struct world *w, const struct client_store *st, uint32_t block)
{
	const uint8_t *data = st->data + (size_t)(block - st->block) * WIRE_BLOCK_BYTES;
	uint8_t want[9] = { 0 };

	fill_block(w, want, st->chunk, block);
	if (memcmp(data, want, sizeof want) != 0)
		fail(
		    w, "block %u of chunk %u stored with other data", block, st->chunk);
}

static struct shadow *
shadow_of(struct world *w, struct node *nd, const struct client_store *st)
{
	struct shadow *sh = &nd->shadow[st->buf];

	if (sh->taken)
		fail(w, "buffer %u is stored to while the shell has it", st->buf);
	if (nd->done[st->chunk])
		fail(w, "chunk %u is stored a second time", st->chunk);
	if (sh->used && sh->chunk == st->chunk)
		return sh;
	nd->drops += sh->used;
	for (uint32_t i = 0; i < w->sc->buffers; i++)
		if (i != st->buf && nd->shadow[i].used &&
		    nd->shadow[i].chunk == st->chunk)
			fail(w, "chunk %u in two buffers", st->chunk);
	*sh = (struct shadow){ .used = true, .chunk = st->chunk };
	return sh;
}

static void
store_one(struct world *w, struct shadow *sh, uint32_t chunk, uint32_t block)
{
	if (blockmap_test(&sh->have, block))
		fail(w, "block %u of chunk %u stored twice", block, chunk);
	sh->parity[block] = 0;
	blockmap_set(&sh->have, block);
}

/* Those that did not come must be empty. */
static void
check_zeros(struct world *w, struct shadow *sh, const struct client_store *st)
{
	for (uint32_t b = blockmap_next(st->zeros, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(st->zeros, b + 1)) {
		if (b < content_of(w, st->chunk))
			fail(w, "block %u of chunk %u is not empty", b, st->chunk);
		store_one(w, sh, st->chunk, b);
	}
}

static void
check_store(struct world *w, struct node *nd, const struct client_store *st)
{
	uint32_t id[2] = { 0 };

	if (st->buf >= w->sc->buffers || st->chunk >= w->nchunks ||
	    st->block >= WIRE_CHUNK_BLOCKS) {
		fail(w, "a store out of bounds");
		return;
	}
	struct shadow *sh = shadow_of(w, nd, st);
	if (st->which != 0)
		memcpy(id, st->data, sizeof id);
	if (st->zeros != NULL)
		check_zeros(w, sh, st);
	if (id[1] >> 31 != 0) {
		if (id[0] != st->chunk)
			fail(w, "parity of another chunk than %u", st->chunk);
		check_parity(w, sh, st, id[1]);
		return;
	}
	for (uint32_t i = 0; st->which >> i != 0; i++) {
		if (!(st->which >> i & 1))
			continue;
		check_data(w, st, st->block + i);
		store_one(w, sh, st->chunk, st->block + i);
	}
}

/* Is the chunk all there, and does the engine know where parity lies? */
static bool
whole(const struct node *nd, uint32_t buf, uint32_t blocks)
{
	const struct shadow *sh = &nd->shadow[buf];
	const uint8_t *at = client_parity(nd->engine, buf);
	uint32_t n = blockmap_count(&sh->have);

	for (uint32_t p = 0; p < WIRE_CHUNK_BLOCKS; p++) {
		if (sh->parity[p] != (at != NULL ? at[p] : 0))
			return false;
		n += sh->parity[p] != 0;
	}
	return n == blocks;
}

/* What the digests find to be damaged is asked for again: some blocks of it, or all. */
static bool
damage(struct world *w, struct node *nd, uint32_t buf, uint32_t blocks)
{
	struct shadow *sh = &nd->shadow[buf];
	struct blockmap bad = { { 0 } };

	if (w->sc->damage == 0 || sim_fraction(&w->rng) >= w->sc->damage)
		return false;
	uint32_t n = sim_random(&w->rng) % 4 == 0 ? blocks
	                                          : 1 + sim_random(&w->rng) % 60;
	uint32_t first = (uint32_t)(sim_random(&w->rng) % blocks);
	if (n == blocks)
		first = 0;
	bad = blockmap_range(first, n < blocks - first ? n : blocks - first);
	/* Parity was decoded. */
	memset(sh->parity, 0, sizeof sh->parity);
	struct blockmap all = blockmap_range(0, blocks);
	sh->have = blockmap_minus(all, &bad);
	/* check_store() sees that only those are stored again. */
	w->out->damaged += blockmap_count(&bad);
	client_again(nd->engine, w->now_ns / US, buf, &bad);
	return true;
}

static void
take_chunks(struct world *w, struct node *nd)
{
	uint32_t chunk, buf, bytes;

	while (client_take(nd->engine, &chunk, &buf, &bytes)) {
		struct shadow *sh = &nd->shadow[buf];
		uint32_t blocks = (bytes_of(w, chunk) - 1) / WIRE_BLOCK_BYTES + 1;
		if (!sh->used || sh->taken || sh->chunk != chunk || nd->done[chunk] ||
		    !whole(nd, buf, blocks) || bytes != bytes_of(w, chunk))
			fail(w, "chunk %u was handed out incomplete", chunk);
		if (damage(w, nd, buf, blocks))
			continue;
		trace(w, "client %u: chunk %u complete", (unsigned)(nd - w->nodes) + 1,
		    chunk);
		nd->done[chunk] = 1;
		nd->ndone++;
		sh->taken = true;
		if (nd->disk_free_ns < w->now_ns)
			nd->disk_free_ns = w->now_ns;
		nd->disk_free_ns += nd->chunk_ns;
		nd->writing[(nd->writing_head + nd->nwriting++) % w->sc->buffers] =
		    (struct writing){ buf, nd->disk_free_ns };
	}
}

static void
disk_step(struct world *w, struct node *nd)
{
	static const struct wire_stats none;

	while (nd->nwriting > 0 && nd->writing[nd->writing_head].done_ns <= w->now_ns) {
		uint32_t buf = nd->writing[nd->writing_head].buf;
		nd->writing_head = (nd->writing_head + 1) % w->sc->buffers;
		nd->nwriting--;
		nd->shadow[buf] = (struct shadow){ .used = false };
		client_release(nd->engine, w->now_ns / US, buf);
		if (++nd->nwritten == w->nchunks) {
			nd->finish_ns = w->now_ns;
			client_finish(nd->engine, w->now_ns / US, &none);
		}
	}
}

static void
client_gone(struct world *w, struct node *nd, const char *how)
{
	const struct wire_stats *st = client_stats(nd->engine);
	uint32_t port = (uint32_t)(nd - w->nodes) + 1;

	trace(w, "client %u: %s", port, how);
	w->out->rerequests += st->rerequests;
	w->out->idle_timeouts += st->idle_timeouts;
	w->out->dropped += st->dropped_no_buffer;
	w->out->partial_drops += st->partial_drops;
	double needed = (double)w->nchunks * WIRE_CHUNK_BLOCKS * w->sc->clients;
	w->out->useless += (st->dup_finished + st->dup_in_progress) / needed;
	w->out->unneeded += (double)client_parity_unneeded(nd->engine) / needed;
	if (nd->drops > st->partial_drops)
		fail(w, "client %u: a partial chunk vanished", port);
	nd->gone = true;
	net_down(&w->net, port);
	client_free(nd->engine);
	nd->engine = NULL;
	w->left--;
}

static void
client_begin(struct world *w, struct node *nd, uint32_t port)
{
	const struct scenario *sc = w->sc;
	struct client_config cfg = { .clientid = (uint32_t)sim_random(&w->rng) >> 1,
		.seed = sim_random(&w->rng),
		.any_file = sc->odd_bytes != 0,
		.buffers = sc->buffers,
		.readahead = sc->readahead,
		.in_progress = sc->in_progress,
		.redo_us = 1000000,
		.tick_us = 30000,
		.idle_ticks = 3,
		.join_us = 500000,
		.sequential = sc->sequential,
		.ext = sc->ext && port <= sc->clients - sc->old_clients,
		.parity = sc->parity };

	memcpy(cfg.srcip, nd->ip, 4);
	nd->engine = client_new(&cfg, w->now_ns / US);
	assert(nd->engine != NULL);
	w->net.ports[port].up = true;
	w->net.ports[port].second = cfg.ext;
	if (port <= sc->narrow_clients && sc->narrow_us == 0)
		w->net.ports[port].longest = WIRE_PACKET_MAX;
}

static void
client_hears(struct world *w, struct node *nd, uint32_t port)
{
	struct client_store st;

	while (net_next(&w->net, port) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, port);
		if (client_input(nd->engine, w->now_ns / US, pkt->bytes, pkt->len,
			pkt->from, &st))
			check_store(w, nd, &st);
		net_drop(pkt);
	}
}

static void
client_speaks(struct world *w, struct node *nd, uint32_t port)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t len;
	unsigned n = 0;

	while ((len = client_output(nd->engine, w->now_ns / US, pkt)) > 0) {
		transmit(w, port, nd->ip, pkt, len);
		if (++n > 10000) {
			fail(w, "client %u speaks for ever", port);
			return;
		}
	}
	if (client_deadline(nd->engine, w->now_ns / US) <= w->now_ns / US)
		fail(w, "client %u has a deadline and nothing to say", port);
}

static void
step_client(struct world *w, uint32_t port)
{
	struct node *nd = &w->nodes[port - 1];

	if (nd->engine == NULL)
		client_begin(w, nd, port);
	if (port <= w->sc->narrow_clients && w->now_ns >= w->sc->narrow_us * US)
		w->net.ports[port].longest = WIRE_PACKET_MAX;
	client_hears(w, nd, port);
	disk_step(w, nd);
	take_chunks(w, nd);
	client_speaks(w, nd, port);
	enum client_state state = client_state(nd->engine);
	if (w->sc->ext && !client_wants_blocks(nd->engine))
		w->net.ports[port].deaf = true;
	if (nd->crashes && nd->ndone >= w->nchunks / 2)
		client_gone(w, nd, "crashes");
	else if (state == CLIENT_LEFT)
		client_gone(w, nd, "leaves");
	else if (state == CLIENT_REFUSED && w->image_ns != 0) {
		w->out->refused++;
		client_gone(w, nd, "refuses the new image");
	} else if (state == CLIENT_GAVE_UP || state == CLIENT_REFUSED)
		fail(w, "client %u: %s", port, client_error(nd->engine));
	reschedule(w, port);
}

/* --- those that ask for everything --- */

static void
step_greedy(struct world *w, uint32_t port)
{
	struct greedy *g = &w->greedy[port - w->sc->clients - 1];
	uint8_t pkt[WIRE_PACKET_MAX];

	g->session = w->server_cfg.ext.session;
	size_t n = greedy_speaks(g, pkt);
	net_send(&w->net, port, g->ip, pkt, n, w->now_ns);
	heap_update(w, port, w->now_ns + GREEDY_US * US);
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
			.id = (uint32_t)sim_random(&w->rng) >> 1,
			.nchunks = w->nchunks };
}

/* --- the run --- */

static uint64_t
start_ns(struct world *w, uint32_t i)
{
	const struct scenario *sc = w->sc;

	switch (sc->start) {
	case START_GROUPS: /* four, a third of the spread apart */
		return i * 4 / sc->clients * sc->spread_us * US / 3;
	case START_UNIFORM:
		return (uint64_t)(sim_fraction(&w->rng) * (double)sc->spread_us) * US;
	default: /* machines are not that exact */
		return sim_random(&w->rng) % 10000 * US;
	}
}

static void
setup_clients(struct world *w)
{
	const struct scenario *sc = w->sc;

	w->nodes = calloc(sc->clients, sizeof *w->nodes);
	assert(w->nodes != NULL);
	w->left = sc->clients;
	for (uint32_t i = 0; i < sc->clients; i++) {
		struct node *nd = &w->nodes[i];
		double spread = sc->chunk_spread * (2 * sim_fraction(&w->rng) - 1);
		uint64_t us = i < sc->slow_clients ? sc->slow_chunk_us : sc->chunk_us;
		memcpy(nd->ip,
		    (uint8_t[]){ 10, 0, (uint8_t)((i + 2) >> 8), (uint8_t)(i + 2) }, 4);
		nd->start_ns = start_ns(w, i);
		nd->chunk_ns = (uint64_t)((double)us * (1 + spread)) * US + 1;
		nd->crashes = i < sc->crashes;
		nd->shadow = calloc(sc->buffers, sizeof *nd->shadow);
		nd->writing = calloc(sc->buffers, sizeof *nd->writing);
		nd->done = calloc(w->nchunks, 1);
		assert(nd->shadow != NULL && nd->writing != NULL && nd->done != NULL);
	}
}

static void
setup_server(struct world *w)
{
	const struct scenario *sc = w->sc;
	struct server_config *cfg = &w->server_cfg;

	*cfg = (struct server_config){ .image_bytes = w->image_bytes,
		.whole_chunks = sc->odd_bytes == 0,
		.srcip = { 10, 0, 0, 1 },
		.run_blocks = RUN_BLOCKS,
		.ahead = AHEAD,
		.burst = sc->burst,
		.gap_us = sc->gap_us,
		.dynamic = sc->dynamic };
	if (sc->rate_bits != 0)
		server_rate_to_burst(sc->rate_bits, &cfg->burst, &cfg->gap_us);
	if (cfg->gap_us != 0) {
		setup_pace(w, &w->pace[0], 1000000);
		setup_pace(w, &w->pace[1], 10 * cfg->gap_us);
	}
	cfg->ext = (struct server_ext_config){ .on = sc->ext && cfg->whole_chunks,
		.parity = sc->parity,
		.port = 5008,
		.session = 1,
		.pack_blocks = sc->pack_blocks,
		.identity = { 1 } };
	w->image_ns = sc->new_image_us * US;
	w->server = server_new(cfg, 0);
	w->restart_ns = sc->restart_us * US;
	w->asked = calloc(w->nchunks, sizeof *w->asked);
	assert(w->server != NULL && w->asked != NULL);
	w->net.ports[SERVER].up = true;
	w->net.ports[SERVER].second = sc->ext;
}

static void
setup(struct world *w, uint64_t seed)
{
	const struct scenario *sc = w->sc;
	uint32_t ports = sc->clients + 1 + sc->greedy_old + sc->greedy_new;

	w->rng = seed;
	w->nchunks = sc->chunks;
	w->image_bytes = (uint64_t)sc->chunks * CHUNK_BYTES;
	if (sc->odd_bytes != 0)
		w->image_bytes -= CHUNK_BYTES - sc->odd_bytes;
	net_init(&w->net, &sc->net, ports, sim_random(&w->rng));
	w->net.touched = touched;
	w->net.arg = w;
	w->key = calloc(ports, sizeof *w->key);
	w->heap = calloc(ports, sizeof *w->heap);
	w->where = calloc(ports, sizeof *w->where);
	assert(w->key != NULL && w->heap != NULL && w->where != NULL);
	setup_clients(w);
	setup_server(w);
	setup_greedy(w);
	for (uint32_t i = 0; i < ports; i++) {
		w->key[i] = NEVER;
		place(w, i, i);
	}
	for (uint32_t i = 0; i < ports; i++)
		reschedule(w, i);
	for (uint32_t i = sc->clients + 1; i < ports; i++)
		heap_update(w, i, i * US);
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
	free(w->nodes);
	free(w->greedy);
	server_free(w->server);
	free(w->asked);
	free(w->pace[0].sent_ns);
	free(w->pace[1].sent_ns);
	free(w->key);
	free(w->heap);
	free(w->where);
	net_fini(&w->net);
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
sum_up(struct world *w)
{
	struct outcome *out = w->out;
	uint64_t *times = calloc(w->sc->clients, sizeof *times);
	uint32_t n = 0;
	double slow = 0, fast = 0;

	assert(times != NULL);
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
	out->finished = n;
	out->mean_us /= n > 0 ? n : 1;
	out->median_us = n > 0 ? times[n / 2] : 0;
	out->best_us = n > 0 ? times[0] : 0;
	out->worst_us = n > 0 ? times[n - 1] : 0;
	free(times);
	keep_server_stats(w);
	out->end_us = w->now_ns / US;
	out->image_blocks = (w->image_bytes - 1) / WIRE_BLOCK_BYTES + 1;
	out->blocks_sent = w->before.blocks_sent;
	out->blocks_resent = w->before.blocks_resent;
	out->parity_sent = w->before.parity_sent;
	out->packs_sent = w->before.packs_sent;
	out->left_out = w->before.blocks_left_out;
	if (w->sc->pack_blocks > 0 && out->packs_sent == 0 && w->sc->ext &&
	    w->sc->buffers >= 8 &&
	    w->sc->old_clients + w->sc->greedy_new + w->sc->greedy_old == 0)
		fail(w, "no packets of several blocks were sent");
	out->net = w->net.stats;
	/* One client alone gets what was damaged, and no more. */
	if (w->sc->damage > 0 && w->sc->clients == 1 && w->sc->net.loss == 0 &&
	    out->blocks_sent + out->parity_sent > out->image_blocks + out->damaged)
		fail(w, "%llu blocks were damaged, and more came again",
		    (unsigned long long)out->damaged);
	if (out->failed[0] == '\0' &&
	    n + out->refused != w->sc->clients - w->sc->crashes)
		fail(w, "only %u of %u clients finished", n, w->sc->clients);
}

void
world_run(const struct scenario *sc, uint64_t seed, bool traced, struct outcome *out)
{
	struct world w = { .sc = sc, .out = out, .trace = traced };
	/* Long enough for the worst of the cases; who is not done then hangs. */
	uint64_t limit_ns = (UINT64_C(600) + sc->chunks * UINT64_C(20)) * 1000000000;

	memset(out, 0, sizeof *out);
	setup(&w, seed);
	while (w.left > 0 && out->failed[0] == '\0') {
		uint32_t port = w.heap[0];
		if (w.key[port] > limit_ns) {
			fail(&w, "%u clients never end", w.left);
			break;
		}
		w.now_ns = w.key[port] > w.now_ns ? w.key[port] : w.now_ns;
		if (port == SERVER)
			step_server(&w);
		else if (port > sc->clients)
			step_greedy(&w, port);
		else
			step_client(&w, port);
	}
	sum_up(&w);
	teardown(&w);
}
