/* The server's machine: its disk, its link, its deaths. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_BLOCKS = 32 };

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

static void
check_sent(struct world *w, uint32_t chunk, uint32_t block)
{
	world_check_asked(w, chunk, block);
	world_check_pace(w);
	world_trace(w, "server: block %u of chunk %u", block, chunk);
}

static void
send_block(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	check_sent(w, out->chunk, out->block);
	wire_put_block_header(pkt, w->server_cfg.srcip, out->chunk, out->block);
	world_fill_block(w, pkt + WIRE_BLOCK_HEADER_BYTES, out->chunk, out->block);
	world_transmit(w, SERVER, w->server_cfg.srcip, pkt, sizeof pkt);
}

static void
send_pack(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIREXT_PACKET_MAX] = { 0 }, *data = pkt + WIREXT_PACK_HEADER_BYTES;

	if (out->count == 0 || out->count > w->sc->pack_blocks ||
	    out->content != world_content(w, out->chunk))
		world_fail(w, "%u blocks of chunk %u, of %u, in one packet", out->count,
		    out->chunk, out->content);
	if (w->sc->old_clients > 0 && old_client_is_there(w))
		world_fail(w, "an old client cannot hear this");
	for (uint32_t i = 0; i < out->count; i++) {
		check_sent(w, out->chunk, out->block + i);
		world_fill_block(
		    w, data + i * WIRE_BLOCK_BYTES, out->chunk, out->block + i);
	}
	wirext_put_pack_header(pkt, w->server_cfg.srcip, w->server_cfg.ext.session,
	    out->chunk, out->block, out->count, out->content);
	world_transmit(w, SERVER, w->server_cfg.srcip, pkt,
	    WIREXT_PACK_HEADER_BYTES + (size_t)out->count * WIRE_BLOCK_BYTES);
}

static void
send_parity(struct world *w, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };
	uint32_t id = UINT32_C(1) << 31 | out->group << 8 | out->index;

	world_check_pace(w);
	wirext_put_parity_header(pkt, w->server_cfg.srcip, w->server_cfg.ext.session,
	    out->chunk, out->group, out->index, out->content);
	memcpy(pkt + WIRE_BLOCK_HEADER_BYTES, &out->chunk, 4);
	memcpy(pkt + WIRE_BLOCK_HEADER_BYTES + 4, &id, 4);
	world_trace(w, "server: parity %u of group %u of chunk %u", out->index,
	    out->group, out->chunk);
	world_transmit(w, SERVER, w->server_cfg.srcip, pkt, sizeof pkt);
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
		server_content(w->server, run.chunk, world_content(w, run.chunk));
		uint64_t ns = reading_ns(w, run.count);
		if (ns == 0) {
			server_read_done(w->server, run.buf);
			continue;
		}
		w->disk_free_ns = (w->disk_free_ns > w->now_ns ? w->disk_free_ns
							       : w->now_ns) +
		                  ns;
		assert(w->nreading < WORLD_AHEAD);
		w->reading[(w->reading_head + w->nreading++) % WORLD_AHEAD] =
		    (struct reading){ run.buf, w->disk_free_ns };
	}
}

void
world_keep_stats(struct world *w)
{
	if (w->server == NULL)
		return;
	const struct server_stats *s = server_stats(w->server);
	w->before.blocks_sent += s->blocks_sent;
	w->before.blocks_resent += s->blocks_resent;
	w->before.parity_sent += s->parity_sent;
	w->before.packs_sent += s->packs_sent;
	w->before.blocks_left_out += s->blocks_left_out;
	if (s->bad_packets != 0 && w->sc->foes == 0)
		world_fail(w, "the server refused %llu packets",
		    (unsigned long long)s->bad_packets);
}

static void
on_complaint(void *arg, const uint8_t ip[4], double gets)
{
	struct world *w = arg;

	w->out->complaints++;
	world_trace(w, "server: %u.%u.%u.%u complains alone: it gets %.2f", ip[0],
	    ip[1], ip[2], ip[3], gets);
}

static void
server_dies(struct world *w)
{
	world_trace(w, "server: dies");
	world_keep_stats(w);
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
	world_trace(w, "server: starts anew");
	w->restarts++;
	w->server_cfg.ext.session++;
	if (w->image_ns != 0)
		memset(w->server_cfg.ext.identity, 2, WIREXT_IDENTITY_BYTES);
	w->server = server_new(&w->server_cfg, w->now_ns / US);
	assert(w->server != NULL);
	w->net.ports[SERVER].up = true;
	w->restart_ns = 0;
}

/* It dies, comes back, or its file is replaced; false: it is down. */
static bool
server_fate(struct world *w)
{
	if (w->image_ns != 0 && w->server != NULL && w->now_ns >= w->image_ns &&
	    w->sc->restart_us == 0) {
		server_image_changed(w->server);
		w->image_ns = NEVER;
	}

	if (w->now_ns >= w->mute_ns) {
		bool mute = w->net.ports[SERVER].mute = !w->net.ports[SERVER].mute;
		w->mute_ns = mute ? w->now_ns + w->sc->mute_for_us * US : NEVER;
	}
	if (w->server != NULL && w->restart_ns != 0 && w->now_ns >= w->restart_ns)
		server_dies(w);
	if (w->server == NULL && w->now_ns >= w->restart_ns)
		server_returns(w);
	return w->server != NULL;
}

static void
server_hears(struct world *w)
{
	while (net_next(&w->net, SERVER) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, SERVER);
		world_note_asked(w, pkt);
		server_input(
		    w->server, w->now_ns / US, pkt->bytes, pkt->len, pkt->from);
		net_drop(pkt);
	}
}

static void
disk_step(struct world *w)
{
	for (; w->nreading > 0 && w->reading[w->reading_head].done_ns <= w->now_ns;
	     w->nreading--) {
		server_read_done(w->server, w->reading[w->reading_head].buf);
		w->reading_head = (w->reading_head + 1) % WORLD_AHEAD;
	}
	server_read(w);
}

static void
server_speaks(struct world *w)
{
	struct server_out out;

	while (net_backlog_ns(&w->net, SERVER, w->now_ns) <= SENDER_BACKLOG_NS &&
	       server_output(w->server, w->now_ns / US, &out)) {
		if (out.kind == SERVER_OUT_BLOCK)
			send_block(w, &out);
		else if (out.kind == SERVER_OUT_PARITY)
			send_parity(w, &out);
		else if (out.kind == SERVER_OUT_PACK)
			send_pack(w, &out);
		else
			world_transmit(
			    w, SERVER, w->server_cfg.srcip, out.pkt, out.len);
		if (out.kind != SERVER_OUT_PACKET && out.run_ends)
			server_read(w);
	}
	server_read(w);
}

void
world_step_server(struct world *w)
{
	if (server_fate(w)) {
		server_hears(w);
		disk_step(w);
		server_speaks(w);
	}
	world_reschedule(w, SERVER);
}

void
world_setup_server(struct world *w)
{
	const struct scenario *sc = w->sc;
	struct server_config *cfg = &w->server_cfg;

	*cfg = (struct server_config){ .image_bytes = w->image_bytes,
		.whole_chunks = sc->odd_bytes == 0,
		.srcip = { 10, 0, 0, 1 },
		.run_blocks = RUN_BLOCKS,
		.ahead = WORLD_AHEAD,
		.burst = sc->burst,
		.gap_us = sc->gap_us,
		.dynamic = sc->dynamic };
	if (sc->rate_bits != 0)
		server_rate_to_burst(sc->rate_bits, &cfg->burst, &cfg->gap_us);
	world_setup_pace(w);
	cfg->ext = (struct server_ext_config){ .on = sc->ext && cfg->whole_chunks,
		.parity = sc->parity,
		.port = 5008,
		.session = 1,
		.pack_blocks = sc->pack_blocks,
		.identity = { 1 } };
	w->image_ns = sc->new_image_us * US;
	w->log = (struct server_log){ .complains = on_complaint, .arg = w };
	w->server = server_new(cfg, 0);
	server_set_log(w->server, &w->log);
	w->restart_ns = sc->restart_us * US;
	w->mute_ns = sc->mute_us != 0 ? sc->mute_us * US : NEVER;
	w->asked = calloc(w->nchunks, sizeof *w->asked);
	assert(w->server != NULL && w->asked != NULL);
	w->net.ports[SERVER].up = true;
	w->net.ports[SERVER].second = sc->ext;
}
