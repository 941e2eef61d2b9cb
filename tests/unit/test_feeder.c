/* The client's engine, its feeder and a sink together, as the loop has them: a file many
 * times as large as the chunk buffers passes through them, and memory does not
 * grow beyond those. */

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "frisbee/client/client.h"
#include "tests/instrumented.h"
#include "tests/unit/feeder_onto.h"
#include "tests/unit/scratch.h"

enum {
	BUFFERS = 4,
	CHUNKS = 40,
	TAIL = 5000,     /* bytes of the last one */
	SLACK = 1 << 20, /* stacks, tables, the allocator's whims */
};
static const uint64_t FILE_BYTES = (CHUNKS - 1) * (1ull << 20) + TAIL;

struct load {
	struct client *client;
	struct feeder *feeder;
	struct mailbox *box;
	uint64_t now;
	uint32_t with_feeder; /* buffers */
	bool done;
	size_t before, most; /* resident bytes */
};

static size_t
resident_bytes(void)
{
	unsigned long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void
note_memory(struct load *l)
{
	size_t now = resident_bytes();

	l->most = now > l->most ? now : l->most;
}

/* What byte i of the file is. */
static uint8_t
content(uint64_t i)
{
	return (uint8_t)(i >> 20) ^ (uint8_t)(i >> 10) ^ (uint8_t)(i * 7);
}

static void
receive(struct load *l, struct wire_msg *m)
{
	static const uint8_t server[4] = { 10, 0, 0, 1 };
	uint8_t pkt[WIRE_PACKET_MAX];
	struct client_store st;

	memcpy(m->srcip, server, 4);
	size_t len = wire_put(m, pkt, sizeof pkt);
	if (client_input(l->client, l->now, pkt, len, server, &st))
		memcpy(feeder_buffer(l->feeder, st.buf) + st.block * WIRE_BLOCK_BYTES,
		    st.data, WIRE_BLOCK_BYTES);
}

static void
receive_chunk(struct load *l, uint32_t chunk)
{
	uint8_t data[WIRE_BLOCK_BYTES];
	uint64_t off = (uint64_t)chunk << 20;

	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS && off < FILE_BYTES; b++) {
		for (uint32_t i = 0; i < WIRE_BLOCK_BYTES; i++)
			data[i] = off + i < FILE_BYTES ? content(off + i) : 0;
		struct wire_msg m = { .type = WIRE_REQUEST,
			.subtype = WIRE_BLOCK,
			.u.block = { chunk, b, data } };
		receive(l, &m);
		off += WIRE_BLOCK_BYTES;
	}
}

static void
hand_over(struct load *l)
{
	uint32_t chunk, buf, bytes;

	while (client_take(l->client, &chunk, &buf, &bytes)) {
		l->with_feeder++;
		feed(l->feeder, chunk, buf, bytes);
	}
	if (client_state(l->client) == CLIENT_COMPLETE && !l->done) {
		l->done = true;
		feeder_end(l->feeder);
	}
}

/* Everything that is asked for comes, and something that nobody here asked for. */
static uint32_t
answer_requests(struct load *l)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	uint32_t asked = 0;
	struct wire_msg m;
	struct err e;

	for (size_t len; (len = client_output(l->client, l->now, pkt)) > 0; asked++) {
		if (wire_get(&m, pkt, len, &e) != 0)
			abort();
		uint32_t chunk = m.subtype == WIRE_REQ ? m.u.req.chunk : m.u.preq.chunk;
		receive_chunk(l, (chunk * 7 + 3) % CHUNKS);
		receive_chunk(l, chunk);
		hand_over(l);
		note_memory(l);
	}
	return asked;
}

/* What the feeder gives back: buffers, or the end.  False when it failed. */
static bool
collect(struct load *l, bool *ended)
{
	struct pollfd fd = { .fd = mailbox_fd(l->box), .events = POLLIN };
	struct event ev;

	if (poll(&fd, 1, 60000) != 1)
		return false;
	while (mailbox_take(l->box, &ev)) {
		if (ev.what == FEEDER_FREE) {
			client_release(l->client, l->now, ev.n);
			l->with_feeder--;
		} else {
			*ended = true;
		}
		if (ev.what == FEEDER_FAILED)
			return false;
	}
	return true;
}

static bool
load(struct load *l)
{
	unsigned silent = 0;
	bool ended = false;

	for (; !ended && silent < 1000; l->now += 30000) {
		bool asked = answer_requests(l) > 0;
		silent = asked ? 0 : silent + 1;
		if (l->with_feeder == 0 && !l->done)
			continue;
		if (l->with_feeder > BUFFERS || !collect(l, &ended))
			return false;
	}
	return ended && l->with_feeder == 0;
}

static bool
is_right(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint64_t i = 0;
	bool right = f != NULL;

	for (int c; right && (c = getc(f)) != EOF; i++)
		right = (uint8_t)c == content(i);
	if (f != NULL)
		fclose(f);
	return right && i == FILE_BYTES;
}

int
main(void)
{
	struct client_config cc = { .clientid = 7,
		.seed = 1,
		.srcip = { 10, 0, 0, 9 },
		.any_file = true,
		.buffers = BUFFERS,
		.readahead = 8,
		.in_progress = 32,
		.redo_us = 1000000,
		.tick_us = 30000,
		.idle_ticks = 3,
		.join_us = 500000 };
	struct wire_msg reply = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN2,
		.u.join2 = { 7, (uint32_t)((FILE_BYTES + 1023) / 1024), 1024, 1024,
		    FILE_BYTES } };
	uint8_t pkt[WIRE_PACKET_MAX];
	struct load l = { .now = 0 };
	struct sink_sum sum;
	struct err e = { 0 };

	scratch_init();
	struct destination target = { .name = in_scratch("file"), .any_file = true };
	l.client = client_new(&cc, 0);
	T_CHECK(l.client != NULL);
	T_CHECK(mailbox_new(&l.box, BUFFERS + 2, &e) == 0);
	l.before = resident_bytes();
	l.feeder = feeder_onto(&target, BUFFERS, l.box);
	T_CHECK(client_output(l.client, 0, pkt) > 0);
	receive(&l, &reply);
	T_CHECK(load(&l));
	T_CHECK(feeder_close(l.feeder, &sum, &e) == 0);
	T_CHECK(sum.bytes_written == FILE_BYTES);
	T_CHECK(is_right(target.name));
	size_t grown = l.most > l.before ? l.most - l.before : 0;
	printf("# %u KiB more for %u buffers\n", (unsigned)(grown >> 10), BUFFERS);
	T_CHECK(grown >= BUFFERS / 2 << 20);
	/* Sanitizers and an emulated processor need memory of their own. */
	bool own = T_INSTRUMENTED || getenv("EMULATOR") != NULL;
	T_CHECK(own || grown <= (BUFFERS << 20) + SLACK);
	client_free(l.client);
	mailbox_free(l.box);
	return t_done();
}
