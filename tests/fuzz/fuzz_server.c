/* Any packets at any time: the server stays within its image and its buffers. */
#include <assert.h>

#include "frisbeed/server.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { IMAGE_BYTES = 2 * (1 << 20) + 5000, AHEAD = 4 };

static void
pull(struct server *s, uint64_t now, unsigned n)
{
	struct server_run run;
	struct server_out out;

	while (server_read_next(s, &run)) {
		assert(run.buf < AHEAD && run.chunk < server_chunks(s));
		assert(run.count > 0);
		assert(((uint64_t)run.chunk * 1024 + run.first + run.count - 1) * 1024 <
		    IMAGE_BYTES);
		server_read_done(s, run.buf);
	}
	for (; n > 0 && server_output(s, now, &out); n--)
		assert(out.kind == SERVER_OUT_PACKET ? out.len <= WIRE_PACKET_MAX :
		    out.buf < AHEAD && out.at < 8);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct server_config cfg = { .image_bytes = IMAGE_BYTES, .run_blocks = 8,
		.ahead = AHEAD, .burst = 16, .gap_us = 2000, .srcip = { 10, 77, 0, 1 },
		.idle_us = -1 };
	struct rd r = rd_from(data, len);
	struct script_step step;
	uint64_t now = 0;

	cfg.whole_chunks = rd_u8(&r) % 2;
	cfg.dynamic = cfg.whole_chunks;
	struct server *s = server_new(&cfg, now);
	assert(s != NULL);
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
	const struct server_stats *st = server_stats(s);
	assert(st->blocks_sent <= st->blocks_asked && st->clients <= st->clients_max);
	server_free(s);
	return 0;
}
