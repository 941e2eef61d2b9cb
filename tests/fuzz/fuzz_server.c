/* Any packets at any time: the server stays within its image and its buffers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frisbeed/server/server.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { IMAGE_BYTES = 2 * (1 << 20) + 5000, AHEAD = 4 };

static void
pull(struct server *s, uint64_t now, unsigned n)
{
	struct server_run run;
	struct server_out out;

	while (server_read_next(s, &run)) {
		assert(run.buf < AHEAD + SERVER_PARITY_BUFFERS + SERVER_URGENT_BUFFERS &&
		       run.chunk < server_chunks(s));
		assert(run.count > 0);
		server_content(s, run.chunk, run.chunk * 300);
		assert(((uint64_t)run.chunk * 1024 + run.first + run.count - 1) * 1024 <
		       3 << 20);
		server_read_done(s, run.buf);
	}
	for (; n > 0 && server_output(s, now, &out); n--) {
		if (out.kind == SERVER_OUT_PACKET)
			assert(out.len <= WIREXT_PACKET_MAX);
		else if (out.kind == SERVER_OUT_BLOCK)
			assert(out.buf < AHEAD && out.at < 8);
		else if (out.kind == SERVER_OUT_DATA)
			assert(out.buf < AHEAD && out.count > 0 &&
			       out.at + out.count <= 8 &&
			       out.block + out.count <= out.content);
		else if (out.kind == SERVER_OUT_URGENT)
			assert(out.buf >= AHEAD + SERVER_PARITY_BUFFERS && out.count > 0 &&
			       out.at + out.count <= 8 &&
			       out.block + out.count <= out.content);
		else
			assert(out.buf >= AHEAD &&
			       out.buf < AHEAD + SERVER_PARITY_BUFFERS && out.group < WIREXT_GROUPS &&
			       out.index < WIREXT_PARITY_MAX);
	}
}

/* What machines read that start from the image: of a server with the extension. */
static void
give_order(struct server *s)
{
	const struct wirext_run runs[] = { { 2, 1000, 24 }, { 0, 0, 70 }, { 1, 7, 1 } };
	struct wirext_run *own = malloc(sizeof runs);

	assert(own != NULL);
	memcpy(own, runs, sizeof runs);
	server_set_order(s, own, sizeof runs / sizeof runs[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct server_config cfg = { .image_bytes = IMAGE_BYTES,
		.run_blocks = 8,
		.ahead = AHEAD,
		.burst = 16,
		.gap_us = 2000,
		.srcip = { 10, 77, 0, 1 },
		.idle_us = -1 };
	struct rd r = rd_from(data, len);
	struct script_step step;
	uint64_t now = 0;

	uint8_t how = rd_u8(&r);
	cfg.whole_chunks = how % 2;
	if (how & 2) {
		cfg.whole_chunks = true;
		cfg.image_bytes = 3 << 20;
		cfg.ext = (struct server_ext_config){ .on = true,
			.parity = (how & 4) != 0,
			.port = 5008,
			.session = 9,
			.pack_blocks = how >> 4 };
	}
	if (how & 8)
		cfg.gap_us = 0;
	cfg.dynamic = cfg.whole_chunks;
	struct server *s = server_new(&cfg, now);
	assert(s != NULL);
	if (cfg.ext.on)
		give_order(s);
	while (script_next(&r, &step)) {
		uint8_t from[4];
		if (step.op == OP_PACKET) {
			script_source(&step, from);
			server_input(s, now, step.pkt, step.arg, from);
		} else if (step.op == OP_PULL) {
			pull(s, now, step.arg);
		} else {
			now += step.arg * UINT64_C(1000);
		}
		assert(server_deadline(s, now) >= now || server_done(s, now));
	}
	struct server_stats st = server_stats(s);
	assert(cfg.ext.on || st.blocks_sent <= st.blocks_requested);
	assert(st.clients <= st.clients_max);
	server_free(s);
	return 0;
}
