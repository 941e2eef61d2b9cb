/* world_server.c: the machine of a server: its disk, its link, and its deaths.  world.c
 * calls it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_BLOCKS = 32 };

const char *
world_name(const struct world *w, const struct host *h)
{
	return h == &w->server ? "server" : h == &w->rival ? "rival" : "relay";
}

/* Has the server heard of a client that does not know the extension? */
static bool
old_client_is_there(const struct world *w, const struct host *h)
{
	for (uint32_t i = 0; i < w->sc->clients; i++)
		if (world_is_old(w, i) && w->nodes[i].engine != NULL && w->net.ports[i + 1].network ==
						      w->net.ports[h->port].network &&
		    client_chunks(w->nodes[i].engine) > 0 && h->restarts == 0)
			return true;
	return false;
}

static void
check_sent(struct world *w, struct host *h, uint32_t chunk, uint32_t block)
{
	world_check_asked(w, h, chunk, block);
	world_check_pace(w, h);
	world_trace(w, "%s: block %u of chunk %u", world_name(w, h), block, chunk);
}

static void
send_block(struct world *w, struct host *h, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	check_sent(w, h, out->chunk, out->block);
	wire_put_block_header(pkt, h->cfg.srcip, out->chunk, out->block);
	world_fill_block(w, h->image, pkt + WIRE_BLOCK_HEADER_BYTES, out->chunk,
	    out->block);
	world_transmit(w, h->port, h->cfg.srcip, pkt, sizeof pkt);
}

static void
send_pack(struct world *w, struct host *h, const struct server_out *out)
{
	uint8_t pkt[WIREXT_PACKET_MAX], *data = pkt + WIREXT_DATA_HEADER_BYTES;

	if (out->count == 0 || out->count > w->sc->pack_blocks ||
	    out->content != world_content(w, out->chunk))
		world_fail(w, "%u blocks of chunk %u, of %u, in one packet", out->count,
		    out->chunk, out->content);
	if (old_client_is_there(w, h))
		world_fail(w, "an old client cannot hear this");
	memset(pkt, 0, WIREXT_DATA_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
	for (uint32_t i = 0; i < out->count; i++) {
		check_sent(w, h, out->chunk, out->block + i);
		world_fill_block(w, h->image, data + i * WIRE_BLOCK_BYTES, out->chunk,
		    out->block + i);
	}
	wirext_put_data_header(pkt, WIREXT_DATA, h->cfg.srcip, h->cfg.ext.session, out->chunk,
	    out->block, out->count, out->content);
	world_transmit(w, h->port, h->cfg.srcip, pkt,
	    WIREXT_DATA_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
}

/* Sends blocks that somebody waits for, of a chunk that is here; they may lie in its empty
 * end, too. */
static void
send_urgent(struct world *w, struct host *h, const struct server_out *out)
{
	uint8_t pkt[WIREXT_PACKET_MAX], *data = pkt + WIREXT_DATA_HEADER_BYTES;

	if (out->count == 0 || out->count > (w->sc->pack_blocks > 1 ? w->sc->pack_blocks : 1))
		world_fail(w, "%u blocks of chunk %u in one packet", out->count, out->chunk);
	world_check_pace(w, h);
	memset(pkt, 0, WIREXT_DATA_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
	for (uint32_t i = 0; i < out->count; i++)
		world_fill_block(w, h->image, data + i * WIRE_BLOCK_BYTES, out->chunk,
		    out->block + i);
	world_trace(w, "%s: %u urgent blocks from %u of chunk %u", world_name(w, h),
	    out->count, out->block, out->chunk);
	wirext_put_data_header(pkt, WIREXT_URGENT_DATA, h->cfg.srcip, h->cfg.ext.session,
	    out->chunk, out->block, out->count, out->content);
	w->out->urgent_sent += out->count;
	world_transmit(w, h->port, h->cfg.srcip, pkt,
	    WIREXT_DATA_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
}

static void
send_parity(struct world *w, struct host *h, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };
	uint32_t id = UINT32_C(1) << 31 | out->group << 8 | out->index;

	world_check_pace(w, h);
	wirext_put_parity_header(pkt, h->cfg.srcip, h->cfg.ext.session, out->chunk,
	    out->group, out->index, out->content);
	world_label(
	    pkt + WIRE_BLOCK_HEADER_BYTES, out->chunk, id, h->image - OWN_IMAGE);
	world_trace(w, "%s: parity %u of group %u of chunk %u", world_name(w, h), out->index,
	    out->group, out->chunk);
	world_transmit(w, h->port, h->cfg.srcip, pkt, sizeof pkt);
}

static uint64_t
reading_ns(struct world *w, struct host *h, uint32_t blocks)
{
	const struct scenario *sc = w->sc;
	uint64_t ns = sc->read_latency_us * US;

	if (sc->read_bytes_per_s != 0)
		ns += (uint64_t)blocks * WIRE_BLOCK_BYTES * 1000000000 /
		      sc->read_bytes_per_s;
	if (sc->stall_every_us != 0 && w->now_ns >= h->next_stall_ns) {
		ns += sc->stall_us * US;
		h->next_stall_ns = w->now_ns + sc->stall_every_us * US;
	}
	return ns;
}

static void
server_read(struct world *w, struct host *h)
{
	struct server_run run;

	while (server_read_next(h->engine, &run)) {
		if (!world_has_arrived(h, run.chunk))
			world_fail(w, "chunk %u is read and has not come", run.chunk);
		server_content(h->engine, run.chunk, world_content(w, run.chunk));
		uint64_t ns = reading_ns(w, h, run.count);
		if (ns == 0) {
			server_read_done(h->engine, run.buf);
			continue;
		}
		h->disk_free_ns = (h->disk_free_ns > w->now_ns ? h->disk_free_ns
							       : w->now_ns) +
		                  ns;
		assert(h->nreading < WORLD_AHEAD);
		h->reading[(h->reading_head + h->nreading++) % WORLD_AHEAD] =
		    (struct reading){ run.buf, h->disk_free_ns };
	}
}

void
world_keep_stats(struct world *w, struct host *h)
{
	if (h->engine == NULL)
		return;
	struct server_stats s = server_stats(h->engine);
	h->before.blocks_sent += s.blocks_sent;
	h->before.blocks_resent += s.blocks_resent;
	h->before.parity_sent += s.parity_sent;
	h->before.data_packets_sent += s.data_packets_sent;
	h->before.blocks_left_out += s.blocks_left_out;
	if (s.bad_packets != 0 && w->sc->foes == 0)
		world_fail(w, "the server refused %llu packets",
		    (unsigned long long)s.bad_packets);
}

static void
on_complaint(void *arg, const uint8_t ip[4], double share_received, bool half)
{
	struct world *w = arg;

	w->out->complaints++;
	(void)half;
	world_trace(w, "server: %u.%u.%u.%u complains alone: it gets %.2f", ip[0],
	    ip[1], ip[2], ip[3], share_received);
}

/* Makes the engine of a server; the first server may know in which order readers read. */
static void
make_engine(struct world *w, struct host *h)
{
	h->engine = server_new(&h->cfg, w->now_ns / US);
	assert(h->engine != NULL);
	if (!w->sc->ordered || w->order == NULL || h != &w->server)
		return;
	struct wirext_run *runs = calloc(w->sc->reads, sizeof *runs);
	assert(runs != NULL);
	memcpy(runs, w->order, w->sc->reads * sizeof *runs);
	server_set_order(h->engine, runs, w->sc->reads);
}

static void
server_dies(struct world *w, struct host *h)
{
	world_trace(w, "%s: dies", world_name(w, h));
	world_keep_stats(w, h);
	server_free(h->engine);
	h->engine = NULL;
	h->nreading = 0;
	memset(h->asked, 0, w->nchunks * sizeof *h->asked);
	h->restart_ns = w->now_ns + w->sc->down_us * US;
	if (w->sc->down_us > 0)
		net_down(&w->net, h->port);
}

static void
server_returns(struct world *w, struct host *h)
{
	world_trace(w, "%s: starts anew", world_name(w, h));
	h->restarts++;
	h->cfg.ext.session++;
	if (h->image_ns != 0)
		memset(h->cfg.ext.identity, 2, WIREXT_IDENTITY_BYTES);
	make_engine(w, h);
	world_arrived_again(w, h);
	w->net.ports[h->port].up = true;
	h->restart_ns = 0;
}

/* Lets the server die or come back, or replaces its file, when it is time.  False: it is down. */
static bool
server_fate(struct world *w, struct host *h)
{
	if (h->image_ns != 0 && h->engine != NULL && w->now_ns >= h->image_ns &&
	    w->sc->restart_us == 0) {
		server_image_changed(h->engine);
		h->image_ns = NEVER;
	}

	if (w->now_ns >= h->mute_ns) {
		bool mute = w->net.ports[h->port].mute = !w->net.ports[h->port].mute;
		h->mute_ns = mute ? w->now_ns + w->sc->mute_for_us * US : NEVER;
	}
	if (h->engine != NULL && h->restart_ns != 0 && w->now_ns >= h->restart_ns)
		server_dies(w, h);
	if (h->engine == NULL && w->now_ns >= h->restart_ns)
		server_returns(w, h);
	return h->engine != NULL;
}

static void
server_hears(struct world *w, struct host *h)
{
	while (net_next(&w->net, h->port) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, h->port);
		world_note_asked(w, h, pkt);
		server_input(
		    h->engine, w->now_ns / US, pkt->bytes, pkt->len, pkt->from);
		net_drop(&w->net, pkt);
	}
	world_relay_lacks(w, h);
}

static void
disk_step(struct world *w, struct host *h)
{
	for (; h->nreading > 0 && h->reading[h->reading_head].done_ns <= w->now_ns;
	     h->nreading--) {
		server_read_done(h->engine, h->reading[h->reading_head].buf);
		h->reading_head = (h->reading_head + 1) % WORLD_AHEAD;
	}
	server_read(w, h);
}

static void
server_speaks(struct world *w, struct host *h)
{
	struct server_out out;

	while (net_backlog_ns(&w->net, h->port, w->now_ns) <= SENDER_BACKLOG_NS &&
	       server_output(h->engine, w->now_ns / US, &out)) {
		if (out.kind == SERVER_OUT_BLOCK)
			send_block(w, h, &out);
		else if (out.kind == SERVER_OUT_PARITY)
			send_parity(w, h, &out);
		else if (out.kind == SERVER_OUT_DATA)
			send_pack(w, h, &out);
		else if (out.kind == SERVER_OUT_URGENT)
			send_urgent(w, h, &out);
		else
			world_transmit(w, h->port, h->cfg.srcip, out.pkt, out.len);
		if (out.kind != SERVER_OUT_PACKET && out.run_ends)
			server_read(w, h);
	}
	server_read(w, h);
}

void
world_step_server(struct world *w, struct host *h)
{
	if (server_fate(w, h)) {
		world_arrive(w, h);
		server_hears(w, h);
		disk_step(w, h);
		if (h->wakes_ns == NEVER || w->now_ns >= h->wakes_ns)
			server_speaks(w, h);
	}
	world_reschedule(w, h->port);
}

void
world_setup_host(struct world *w, struct host *h, uint32_t port)
{
	const struct scenario *sc = w->sc;
	struct server_config *cfg = &h->cfg;

	h->port = port;
	*cfg = (struct server_config){ .image_bytes = w->image_bytes,
		.whole_chunks = sc->odd_bytes == 0,
		.run_blocks = RUN_BLOCKS,
		.ahead = WORLD_AHEAD,
		.rate_bits = sc->rate_bits,
		.burst = sc->burst,
		.gap_us = sc->gap_us,
		.dynamic = sc->dynamic };
	world_setup_pace(h);
	cfg->ext = (struct server_ext_config){ .on = sc->ext && cfg->whole_chunks,
		.parity = sc->parity,
		.port = 5008,
		.pack_blocks = sc->pack_blocks };
	h->mute_ns = NEVER;
	h->rng = w->rng + port;
	h->asked = calloc(w->nchunks, sizeof *h->asked);
	assert(h->asked != NULL);
	w->net.ports[port].second = sc->ext;
}

void
world_free_host(struct host *h)
{
	server_free(h->engine);
	free(h->asked);
	free(h->arrival);
	free(h->asked_ns);
	free(h->pace[0].sent_ns);
	free(h->pace[1].sent_ns);
}

bool
world_is_served(const struct world *w)
{
	return (w->server.engine != NULL && !w->net.ports[SERVER].mute) ||
	       w->rival.engine != NULL;
}

void
world_setup_server(struct world *w)
{
	const struct scenario *sc = w->sc;
	struct host *h = &w->server;
	bool dies = !sc->bad_absent || sc->rival_us == 0;

	world_setup_host(w, h, SERVER);
	h->image = OWN_IMAGE;
	memcpy(h->cfg.srcip, (uint8_t[]){ 10, 0, 0, 1 }, 4);
	h->cfg.ext.session = 1;
	h->cfg.ext.identity[0] = OWN_IMAGE;
	h->image_ns = sc->new_image_us * US;
	world_setup_arrival(w, h);
	w->log = (struct server_log){ .complains = on_complaint, .arg = w };
	make_engine(w, h);
	server_set_log(h->engine, &w->log);
	h->restart_ns = dies ? sc->restart_us * US : 0;
	if (sc->mute_us != 0)
		h->mute_ns = sc->mute_us * US;
	w->net.ports[SERVER].up = true;
}
