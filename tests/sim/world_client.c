/* world_client.c: the machine of a client: its disk, its start, and its end.  The other files of
 * the world call it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A chunk damaged four times would mean that the server's own copy is damaged. */
enum { DAMAGED_MOST = 3 };
/* FED_NS: a client that can take blocks must get one at least this often.  HOPELESS: a link
 * that loses a larger share than this loses too much for a load to end in the time that a run
 * may take. */
#define FED_NS (UINT64_C(5000000000))
static const double HOPELESS = 0.8;

static uint32_t
bytes_of(const struct world *w, uint32_t chunk)
{
	uint64_t left = w->image_bytes - (uint64_t)chunk * CHUNK_BYTES;

	return left < CHUNK_BYTES ? (uint32_t)left : CHUNK_BYTES;
}

/* What the digests find to be damaged is asked for again: some blocks of it, or all. */
static bool
damage(struct world *w, struct node *nd, uint32_t buf, uint32_t blocks)
{
	struct shadow *sh = &nd->shadow[buf];
	struct blockmap bad = { { 0 } };

	if (w->sc->damage == 0 || random_fraction(&w->rng) >= w->sc->damage ||
	    sh->damaged == DAMAGED_MOST)
		return false;
	sh->damaged++;
	uint32_t n = random_next(&w->rng) % 4 == 0 ? blocks
	                                          : 1 + random_next(&w->rng) % 60;
	uint32_t first = (uint32_t)(random_next(&w->rng) % blocks);
	if (n == blocks)
		first = 0;
	bad = blockmap_range(first, n < blocks - first ? n : blocks - first);
	/* Parity was decoded. */
	memset(sh->parity, 0, sizeof sh->parity);
	struct blockmap all = blockmap_range(0, blocks);
	sh->have = blockmap_minus(all, &bad);
	/* world_check_store() checks that only these blocks are stored again. */
	w->out->damaged += blockmap_count(&bad);
	if (client_again(nd->engine, w->now_ns / US, buf, &bad) != 0)
		world_fail(w, "chunk %u was given up", sh->chunk);
	return true;
}

/* The disk takes the chunks as they come; with `first` none before chunk 0. */
static void
write_chunk(struct world *w, struct node *nd, uint32_t chunk, uint32_t buf)
{
	uint32_t n = w->sc->buffers;
	bool waits = w->sc->first && !nd->done[0];

	nd->writing[(nd->writing_head + nd->nwriting++) % n] =
	    (struct writing){ buf, UINT64_MAX };
	if (waits)
		return;
	if (nd->disk_free_ns < w->now_ns)
		nd->disk_free_ns = w->now_ns;
	for (uint32_t i = chunk == 0 ? 0 : nd->nwriting - 1; i < nd->nwriting; i++) {
		struct writing *x = &nd->writing[(nd->writing_head + i) % n];
		if (x->done_ns != UINT64_MAX)
			continue;
		nd->disk_free_ns += nd->chunk_ns;
		x->done_ns = nd->disk_free_ns;
	}
}

static void
take_chunks(struct world *w, struct node *nd)
{
	uint32_t chunk, buf, bytes;

	while (client_take(nd->engine, &chunk, &buf, &bytes)) {
		struct shadow *sh = &nd->shadow[buf];
		uint32_t blocks = (bytes_of(w, chunk) - 1) / WIRE_BLOCK_BYTES + 1;
		if (!sh->used || sh->taken || sh->chunk != chunk || nd->done[chunk] ||
		    !world_whole(nd, buf, blocks) || bytes != bytes_of(w, chunk))
			world_fail(w, "chunk %u was handed out incomplete", chunk);
		if (damage(w, nd, buf, blocks))
			continue;
		world_trace(w, "client %u: chunk %u complete",
		    (unsigned)(nd - w->nodes) + 1, chunk);
		nd->done[chunk] = 1;
		nd->reader_hears = true;
		nd->ndone++;
		sh->taken = true;
		write_chunk(w, nd, chunk, buf);
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
		world_relay_has(w, nd, nd->shadow[buf].chunk);
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
	struct client_counters counters = client_counters(nd->engine);
	const struct wire_stats *st = &counters.wire;
	uint32_t port = (uint32_t)(nd - w->nodes) + 1;

	world_trace(w, "client %u: %s", port, how);
	w->out->rerequests += st->rerequests;
	w->out->idle_timeouts += st->idle_timeouts;
	w->out->dropped += st->dropped_no_buffer;
	w->out->partial_drops += st->partial_drops;
	double needed = (double)w->nchunks * WIRE_CHUNK_BLOCKS * w->sc->clients;
	w->out->useless += (st->dup_finished + st->dup_in_progress) / needed;
	w->out->unneeded += (double)counters.parity_unused / needed;
	if (nd->drops > st->partial_drops)
		world_fail(w, "client %u: a partial chunk vanished", port);
	nd->gone = true;
	net_down(&w->net, port);
	client_free(nd->engine);
	nd->engine = NULL;
	w->left -= !nd->lost;
}

bool
world_is_old(const struct world *w, uint32_t client)
{
	const struct scenario *sc = w->sc;

	return client >= sc->clients - sc->old_clients ||
	       (sc->bad_old && client < sc->bad_clients);
}

/* Is the chunk on the disk of a client that resumes? */
static bool
is_written(void *arg, uint32_t chunk)
{
	const struct world *w = arg;

	return chunk % w->sc->lacks_every != 0;
}

static void
client_begin(struct world *w, struct node *nd, uint32_t port)
{
	const struct scenario *sc = w->sc;
	struct client_config cfg = { .clientid = (uint32_t)random_next(&w->rng) >> 1,
		.seed = random_next(&w->rng),
		.any_file = sc->odd_bytes != 0,
		.buffers = sc->buffers,
		.readahead = sc->readahead,
		.in_progress = sc->in_progress,
		.redo_us = sc->redo_us != 0 ? sc->redo_us : 1000000,
		.tick_us = 30000,
		.idle_ticks = 3,
		.join_us = 500000,
		.sequential = sc->sequential,
		.chunk0_first = sc->first,
		.has_server = sc->server_known,
		.ext = sc->ext && !world_is_old(w, port - 1),
		.parity = sc->parity };

	if (sc->lacks_every > 0) {
		cfg.has = is_written;
		cfg.has_arg = w;
		cfg.resumes = true;
		nd->nwritten = w->nchunks - (w->nchunks - 1) / sc->lacks_every - 1;
	}
	nd->fed_ns = w->now_ns;
	nd->chooses = w->rival.engine != NULL;
	nd->image = nd->chooses ? 0 : OWN_IMAGE;
	memcpy(cfg.srcip, nd->ip, 4);
	memcpy(cfg.server, world_server_of(w, port)->cfg.srcip, 4);
	nd->engine = client_new(&cfg, w->now_ns / US);
	assert(nd->engine != NULL);
	w->net.ports[port].up = true;
	w->net.ports[port].second = cfg.ext;
	if (port <= sc->bad_clients)
		net_set_link(&w->net, port, &nd->link);
	if (port <= sc->narrow_clients && sc->narrow_us == 0)
		w->net.ports[port].longest = WIRE_PACKET_MAX;
}

/* Notes that a client begins to load, and checks that it had written nothing if it begins
 * again, with the image of another server. */
static void
note_image(struct world *w, struct node *nd, uint32_t port)
{
	uint32_t images = client_images(nd->engine);

	if (images == nd->images)
		return;
	nd->images = images;
	if (images == 1)
		return;
	if (nd->nwriting + nd->nwritten > 0)
		world_fail(w, "client %u writes two images", port);
	nd->image = nd->chooses ? 0 : OWN_IMAGE;
	nd->ndone = nd->drops = 0;
	memset(nd->done, 0, w->nchunks);
	memset(nd->shadow, 0, w->sc->buffers * sizeof *nd->shadow);
}

static void
client_hears(struct world *w, struct node *nd, uint32_t port)
{
	struct client_store st;

	while (net_next(&w->net, port) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, port);
		bool heard = !w->sc->unheard ||
		             world_from_server(w, pkt->from);
		bool stores = heard && client_input(nd->engine, w->now_ns / US,
					   pkt->bytes, pkt->len, pkt->from, &st);
		note_image(w, nd, port);
		if (stores) {
			nd->fed_ns = w->now_ns;
			if (st.which != 0 || st.zeros != NULL)
				world_check_store(w, nd, &st);
			world_reader_hears(w, nd, &st);
		}
		net_drop(&w->net, pkt);
	}
}

static void
client_speaks(struct world *w, struct node *nd, uint32_t port)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t len;
	unsigned n = 0;

	while ((len = client_output(nd->engine, w->now_ns / US, pkt)) > 0) {
		world_transmit(w, port, nd->ip, pkt, len);
		if (w->sc->foe_does == FOE_ECHO)
			nd->fed_ns = w->now_ns; /* who asks has done what it can */
		if (++n > 10000) {
			world_fail(w, "client %u speaks for ever", port);
			return;
		}
	}
	nd->deadline_us = client_deadline(nd->engine, w->now_ns / US);
	if (nd->deadline_us <= w->now_ns / US)
		world_fail(w, "client %u has a deadline and nothing to say", port);
}

/* Checks that a client gets something at least every FED_NS, if it hears more than half of
 * what is sent and has room for it, and if at least half of what it sends is heard.  The last
 * condition is needed because a JOIN is sent some 13 times in 5 s, and of ten links that lose
 * 0.9 of what is sent, two or three lose all of these. */
static void
check_fed(struct world *w, struct node *nd, uint32_t port)
{
	bool could = client_wants_blocks(nd->engine) && nd->nwriting == 0 &&
	             world_is_served(w);

	bool promised = nd->heard_share > 0.5 && nd->link.loss_up <= 0.5;

	if (!could || !promised || w->sc->max_clean == 0)
		nd->fed_ns = w->now_ns;
	else if (w->now_ns - nd->fed_ns > FED_NS)
		world_fail(w, "client %u got nothing for too long", port);
}

void
world_step_client(struct world *w, uint32_t port)
{
	struct node *nd = &w->nodes[port - 1];

	if (nd->engine == NULL)
		client_begin(w, nd, port);
	if (port <= w->sc->narrow_clients && w->now_ns >= w->sc->narrow_us * US)
		w->net.ports[port].longest = WIRE_PACKET_MAX;
	client_hears(w, nd, port);
	disk_step(w, nd);
	take_chunks(w, nd);
	world_reader_step(w, nd);
	client_speaks(w, nd, port);
	check_fed(w, nd, port);
	world_relay_step(w, port);
	enum client_state state = client_state(nd->engine);
	if (w->sc->ext && !client_wants_blocks(nd->engine))
		w->net.ports[port].deaf = true;
	if (nd->crashes && nd->ndone >= w->nchunks / 2)
		client_gone(w, nd, "crashes");
	else if (state == CLIENT_LEFT)
		client_gone(w, nd, "leaves");
	else if (state == CLIENT_REFUSED && w->server.image_ns != 0) {
		w->out->refused++;
		client_gone(w, nd, "refuses the new image");
	} else if (state == CLIENT_GAVE_UP || state == CLIENT_REFUSED)
		world_fail(w, "client %u: %s", port, client_error(nd->engine));
	world_reschedule(w, port);
}

static uint64_t
start_ns(struct world *w, uint32_t i)
{
	const struct scenario *sc = w->sc;
	uint64_t late_us;

	switch (sc->start) {
	case START_GROUPS: /* four, a third of the spread apart */
		return i * 4 / sc->clients * sc->spread_us * US / 3;
	case START_UNIFORM:
		return (uint64_t)(random_fraction(&w->rng) * (double)sc->spread_us) * US;
	default: /* machines are not that exact */
		late_us = sc->start == START_LATE ? sc->spread_us : 0;
		return (random_next(&w->rng) % 10000 + late_us) * US;
	}
}

bool
world_is_clean(const struct world *w, uint32_t client)
{
	return client >= w->sc->bad_clients && client >= w->sc->crashes;
}

/* Draws what is wrong with the link of a bad client. */
static struct net_link
draw_link(struct world *w)
{
	uint64_t rate = w->sc->rate_bits, port = w->sc->net.client_bits;
	double x = random_fraction(&w->rng);

	if (rate > port)
		rate = port;
	switch (random_next(&w->rng) % 6) {
	case 0:
		return (struct net_link){ .bits = rate / 5 + (uint64_t)(x * rate) };
	case 1:
		return (struct net_link){ .loss = 0.01 + 0.4 * x };
	case 2:
		return (struct net_link){ .loss = 0.01 + 0.4 * x,
			.burst_us = 1000 + 200000 * random_fraction(&w->rng) };
	case 3:
		return (struct net_link){ .loss_up = 0.1 + 0.9 * x };
	case 4:
		return (struct net_link){ .loss = x < 0.5 ? 1 : 2 * x - 1 };
	default: /* shorter than a burst of 20 blocks, 22 kB, or longer */
		return (struct net_link){
			.queue_bytes = 16000 + (uint32_t)(x * 20000)
		};
	}
}

static void
set_bad(struct world *w, struct node *nd, uint32_t i)
{
	const struct scenario *sc = w->sc;
	struct net_link drawn = draw_link(w);
	uint64_t rate = sc->rate_bits;

	nd->absent = sc->bad_absent && !world_is_clean(w, i);
	nd->heard_share = 1;
	if (i >= sc->bad_clients)
		return;
	nd->link = sc->bad_drawn ? drawn : sc->bad;
	nd->heard_share -= nd->link.loss;
	if (nd->link.bits > 0 && nd->link.bits < rate)
		nd->heard_share *= (double)nd->link.bits / (double)rate;
	nd->lost = nd->link.loss >= HOPELESS || nd->link.loss_up >= HOPELESS;
}

void
world_setup_clients(struct world *w)
{
	const struct scenario *sc = w->sc;

	w->nodes = calloc(sc->clients, sizeof *w->nodes);
	assert(w->nodes != NULL);
	w->left = 0;
	for (uint32_t i = 0; i < sc->clients; i++) {
		struct node *nd = &w->nodes[i];
		double spread = sc->chunk_spread * (2 * random_fraction(&w->rng) - 1);
		uint64_t us = i < sc->slow_clients ? sc->slow_chunk_us : sc->chunk_us;
		memcpy(nd->ip,
		    (uint8_t[]){ 10, 0, (uint8_t)((i + 2) >> 8), (uint8_t)(i + 2) }, 4);
		nd->start_ns = start_ns(w, i);
		nd->chunk_ns = (uint64_t)((double)us * (1 + spread)) * US + 1;
		nd->crashes = i < sc->crashes;
		set_bad(w, nd, i);
		w->left += !nd->absent && !nd->lost;
		nd->shadow = calloc(sc->buffers, sizeof *nd->shadow);
		nd->writing = calloc(sc->buffers, sizeof *nd->writing);
		nd->done = calloc(w->nchunks, 1);
		assert(nd->shadow != NULL && nd->writing != NULL && nd->done != NULL);
	}
}
