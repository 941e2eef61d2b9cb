/* Any packets at any time into both engines: nothing but their own memory. */
#include "common/base/rd.h"
#include "frisbee/client.h"
#include "frisbeed/server.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Input: u16 length, packet, ...; time moves by 10 ms a packet. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t ip[4] = { 10, 0, 0, 1 };
	struct rd r = rd_from(data, len);
	struct client_config cc = { .clientid = 7, .seed = 1, .buffers = 3, .readahead = 2,
		.in_progress = 8, .redo_us = 50000, .tick_us = 10000, .idle_ticks = 3, .join_us = 10000,
		.any_file = len % 2 };
	struct server_config sc = { .image_bytes = (3 << 20) + 5 * (len % 3), .run_blocks = 32,
		.ahead = 4, .burst = 16, .gap_us = 100, .whole_chunks = len % 3 == 0 };
	struct client *c = client_new(&cc, 1);
	struct server *s = server_new(&sc, 1);
	struct client_store st;
	struct server_out out;
	struct server_run run;
	uint8_t pkt[WIRE_PACKET_MAX];

	if (c == NULL || s == NULL)
		abort();
	for (uint64_t now = 1000; rd_left(&r) > 2; now += 10000) {
		size_t n = rd_le16(&r) % 1100;
		n = n < rd_left(&r) ? n : rd_left(&r);
		const uint8_t *p = rd_bytes(&r, n);
		client_output(c, now, pkt);
		if (client_input(c, now, p, n, ip, &st) && st.buf >= cc.buffers)
			abort();
		uint32_t chunk, buf, bytes;
		while (client_take(c, &chunk, &buf, &bytes))
			client_release(c, now, buf);
		server_input(s, now, p, n, ip);
		while (server_read_next(s, &run))
			server_read_done(s, run.buf);
		for (int i = 0; i < 40 && server_output(s, now, &out); i++)
			;
	}
	client_free(c);
	server_free(s);
	return 0;
}
