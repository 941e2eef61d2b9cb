/* The client's engine in a straight line: time is a number that we set. */
#include <stdlib.h>
#include <string.h>

#include "common/net/blockmap.h"
#include "frisbee/client.h"
#include "frisbee/client_chunks.h"
#include "tests/t.h"

enum { MS = 1000, TICK = 30 * MS, IDLE = 3 * TICK };

static const uint8_t me[4] = { 10, 0, 0, 9 }, other[4] = { 10, 0, 0, 8 },
		     server_ip[4] = { 10, 0, 0, 1 };
static const uint8_t block_data[WIRE_BLOCK_BYTES];

static struct client_config
config(uint32_t buffers)
{
	struct client_config cfg = { .clientid = 77,
		.seed = 5,
		.buffers = buffers,
		.readahead = 2,
		.in_progress = 8,
		.redo_us = 1000 * MS,
		.tick_us = TICK,
		.idle_ticks = 3,
		.join_us = 500 * MS,
		.sequential = true };

	memcpy(cfg.srcip, me, 4);
	return cfg;
}

static bool
input(struct client *c, uint64_t now, struct wire_msg *m, const uint8_t from[4],
    struct client_store *st)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m->srcip, from, 4);
	size_t len = wire_put(m, pkt, sizeof pkt);
	return client_input(c, now, pkt, len, from, st);
}

static void
join_reply(struct client *c, uint64_t now, uint32_t blocks)
{
	struct client_store st;
	struct wire_msg m = {
		.type = WIRE_REPLY, .subtype = WIRE_JOIN, .u.join.blocks = blocks
	};

	input(c, now, &m, server_ip, &st);
}

static void
join2_reply(struct client *c, uint64_t now, uint32_t id, uint32_t blocks,
    uint64_t bytes, uint32_t block_bytes)
{
	struct client_store st;
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN2,
		.u.join2 = { id, blocks, 1024, block_bytes, bytes } };

	input(c, now, &m, server_ip, &st);
}

static bool
block_from(struct client *c, uint64_t now, uint32_t chunk, uint32_t block,
    const uint8_t from[4], struct client_store *st)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.u.block = { chunk, block, block_data } };

	return input(c, now, &m, from, st);
}

/* Blocks [first, last] of a chunk; how many of them were to be stored. */
static uint32_t
blocks(struct client *c, uint64_t now, uint32_t chunk, uint32_t first, uint32_t last)
{
	struct client_store st;
	uint32_t n = 0;

	for (uint32_t b = first; b <= last; b++)
		n += block_from(c, now, chunk, b, server_ip, &st) &&
		     st.chunk == chunk && st.block == b;
	return n;
}

static void
heard_request(struct client *c, uint64_t now, uint32_t chunk)
{
	struct client_store st;
	struct wire_msg m = {
		.type = WIRE_REQUEST, .subtype = WIRE_REQ, .u.req = { chunk, 0, 1024 }
	};

	input(c, now, &m, other, &st);
}

/* The next packet; false: there is none. */
static bool
says(struct client *c, uint64_t now, struct wire_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;
	size_t len = client_output(c, now, pkt);

	memset(m, 0, sizeof *m);
	return len > 0 && wire_get(m, pkt, len, &e) == 0 &&
	       memcmp(m->srcip, me, 4) == 0;
}

static bool
asks_whole(struct client *c, uint64_t now, uint32_t chunk, uint32_t count)
{
	struct wire_msg m;

	return says(c, now, &m) && m.subtype == WIRE_REQ && m.u.req.chunk == chunk &&
	       m.u.req.first == 0 && m.u.req.count == count;
}

static bool
asks_part(struct client *c, uint64_t now, uint32_t chunk, uint32_t first,
    uint32_t count, int retries)
{
	struct wire_msg m;

	if (!says(c, now, &m) || m.subtype != WIRE_PREQ || m.u.preq.chunk != chunk ||
	    m.u.preq.retries != retries)
		return false;
	struct blockmap got = blockmap_get(m.u.preq.map);
	struct blockmap want = blockmap_range(first, count);
	return memcmp(&got, &want, sizeof got) == 0;
}

static bool
is_silent(struct client *c, uint64_t now)
{
	struct wire_msg m;

	return !says(c, now, &m) && client_deadline(c, now) > now;
}

static struct client *
loading(uint32_t buffers, uint32_t chunks)
{
	struct client_config cfg = config(buffers);
	struct client *c = client_new(&cfg, 0);
	struct wire_msg m;

	says(c, 0, &m);
	join_reply(c, 0, chunks * 1024);
	return c;
}

static void
test_join(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.start_delay_us = 700;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(is_silent(c, 0) && client_deadline(c, 0) == 700);
	/* What others are told does not shorten the wait, nor spare the JOIN. */
	join_reply(c, 300, 3 * 1024);
	T_CHECK(client_state(c) == CLIENT_JOINING && client_deadline(c, 300) == 700);
	T_CHECK(says(c, 700, &m) && m.subtype == WIRE_JOIN && m.u.join.clientid == 77);
	T_CHECK(is_silent(c, 700) && client_deadline(c, 700) == 700 + 500 * MS);
	T_CHECK(says(c, 700 + 500 * MS, &m) && m.subtype == WIRE_JOIN);
	T_CHECK(client_chunks(c) == 0 && client_image_bytes(c) == 0);
	join_reply(c, 600 * MS, 3 * 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING && client_chunks(c) == 3);
	T_CHECK(client_image_bytes(c) == 3 << 20);
	/* The first requests do not wait for a tick. */
	T_CHECK(asks_whole(c, 600 * MS, 0, 1024) && asks_whole(c, 600 * MS, 1, 1024));
	T_CHECK(is_silent(c, 600 * MS));
	T_CHECK(client_stats(c)->join_attempts == 2 && client_stats(c)->requests == 2);
	client_free(c);
}

static void
check_refused(bool any_file, uint32_t id, uint32_t nblocks, uint64_t bytes,
    uint32_t block_bytes, enum client_state want)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.any_file = any_file;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m) && m.subtype == (any_file ? WIRE_JOIN2 : WIRE_JOIN));
	if (any_file)
		join2_reply(c, 1, id, nblocks, bytes, block_bytes);
	else
		join_reply(c, 1, nblocks);
	T_CHECK(client_state(c) == want);
	T_CHECK((want == CLIENT_REFUSED) == (client_error(c)[0] != '\0'));
	printf("# %s\n", client_error(c));
	client_free(c);
}

static void
test_replies(void)
{
	check_refused(false, 0, 0, 0, 0, CLIENT_REFUSED);
	check_refused(false, 0, 1023, 0, 0, CLIENT_REFUSED);
	check_refused(false, 0, 2048, 0, 0, CLIENT_LOADING);
	check_refused(true, 77, 300, 307200, 1024, CLIENT_LOADING);
	check_refused(true, 78, 300, 307200, 1024, CLIENT_JOINING);
	check_refused(true, 77, 300, 307201, 1024, CLIENT_REFUSED);
	check_refused(true, 77, 0, 0, 1024, CLIENT_REFUSED);
	check_refused(true, 77, 300, 307200, 8192, CLIENT_REFUSED);
	check_refused(true, 77, 300, UINT64_MAX, 1024, CLIENT_REFUSED);
}

static void
test_load(void)
{
	struct client *c = loading(2, 3);
	uint32_t chunk, buf, bytes, buf2;
	struct wire_msg m;

	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 10, 0, 0, 1022) == 1023 && blocks(c, 10, 0, 5, 9) == 0);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 10, 0, 1023, 1023) == 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 0 && bytes == 1 << 20);
	/* One buffer is the shell's, one is spoken for: nothing more is asked. */
	T_CHECK(is_silent(c, 10));
	T_CHECK(blocks(c, 20, 1, 0, 1023) == 1024 && blocks(c, 20, 0, 0, 3) == 0);
	T_CHECK(blocks(c, 20, 2, 0, 9) == 0);
	T_CHECK(client_stats(c)->dropped_no_buffer == 10);
	T_CHECK(client_stats(c)->dup_in_progress == 5);
	T_CHECK(client_stats(c)->dup_finished == 4);
	/* No buffer: nobody is waited for, so no idle timeouts either. */
	T_CHECK(client_deadline(c, 20) == CLIENT_NEVER);
	client_release(c, 10000 * MS, buf);
	T_CHECK(asks_whole(c, 10000 * MS, 2, 1024) && is_silent(c, 10000 * MS));
	T_CHECK(client_take(c, &chunk, &buf2, &bytes) && chunk == 1 && buf2 != buf);
	T_CHECK(blocks(c, 10001 * MS, 2, 0, 1023) == 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING && client_chunks_taken(c) == 2);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 2);
	T_CHECK(client_state(c) == CLIENT_COMPLETE && is_silent(c, 20000 * MS));
	client_finish(c, 20500 * MS, &(struct wire_stats){ .bytes_written = 9 });
	T_CHECK(says(c, 20500 * MS, &m) && m.subtype == WIRE_LEAVE2);
	T_CHECK(m.u.leave2.clientid == 77 && m.u.leave2.elapsed_s == 20 &&
		m.u.leave2.stats.run_ms == 500 && m.u.leave2.stats.bytes_written == 9 &&
		m.u.leave2.stats.requests == 3 &&
		m.u.leave2.stats.dropped_no_buffer == 10 &&
		m.u.leave2.stats.chunk_buffers == 2 &&
		m.u.leave2.stats.redo_delay_us == 1000000);
	T_CHECK(client_state(c) == CLIENT_LEFT && is_silent(c, 30000 * MS));
	client_free(c);
}

/* A hole is asked for as soon as the server has moved on, and not before. */
static void
test_holes(void)
{
	struct client *c = loading(8, 4);

	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	T_CHECK(is_silent(c, 11 * MS) && is_silent(c, 40 * MS));
	blocks(c, 41 * MS, 1, 0, 1);
	T_CHECK(asks_whole(c, 41 * MS, 3, 1024) && is_silent(c, 41 * MS));
	T_CHECK(client_deadline(c, 41 * MS) <= 44 * MS);
	T_CHECK(asks_part(c, 44 * MS, 0, 100, 10, 1) && is_silent(c, 44 * MS));
	T_CHECK(client_stats(c)->prequests == 1 && client_stats(c)->rerequests == 1 &&
		client_stats(c)->blocks_by_prequest == 10);
	client_free(c);

	/* Somebody else asks for them first. */
	c = loading(8, 4);
	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	blocks(c, 41 * MS, 1, 0, 1);
	heard_request(c, 41 * MS, 3);
	heard_request(c, 42 * MS, 0);
	T_CHECK(is_silent(c, 60 * MS) && is_silent(c, 100 * MS));
	client_free(c);

	/* Late blocks are waited for, longer from then on. */
	c = loading(8, 4);
	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	blocks(c, 41 * MS, 1, 0, 1);
	T_CHECK(asks_whole(c, 41 * MS, 3, 1024));
	blocks(c, 43 * MS, 0, 105, 109);
	T_CHECK(is_silent(c, 44 * MS) && asks_part(c, 45 * MS, 0, 100, 5, 1));
	client_free(c);
}

/* A request that the server overtook was lost. */
static void
test_overtaken(void)
{
	struct client *c = loading(8, 4);

	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 1, 0, 1023);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024) && is_silent(c, 10 * MS));
	blocks(c, 20 * MS, 2, 0, 0);
	T_CHECK(asks_whole(c, 20 * MS, 3, 1024) && is_silent(c, 20 * MS));
	T_CHECK(asks_part(c, 23 * MS, 0, 0, 1024, 1));
	T_CHECK(client_stats(c)->full_rerequests == 1);
	client_free(c);
}

static void
test_idle(void)
{
	struct client *c = loading(8, 2);
	uint64_t now = 0;

	T_CHECK(asks_whole(c, 0, 0, 1024) && asks_whole(c, 0, 1, 1024));
	blocks(c, 10, 0, 0, 511);
	T_CHECK(is_silent(c, 10 + IDLE - 1));
	now = 10 + IDLE;
	T_CHECK(asks_part(c, now, 0, 512, 512, 1) && asks_part(c, now, 1, 0, 1024, 1));
	T_CHECK(is_silent(c, now) && client_stats(c)->idle_timeouts == 1);
	/* Ever more rarely, up to a limit ... */
	for (uint64_t ticks = 4; ticks <= 50; ticks++) {
		uint64_t wait = (ticks < 36 ? ticks : 36) * TICK;
		T_CHECK(is_silent(c, now + wait - 1));
		now += wait;
		T_CHECK(asks_part(c, now, 0, 512, 512, 1) &&
			asks_part(c, now, 1, 0, 1024, 1));
	}
	/* ... and a request heard from another puts it off ... */
	heard_request(c, now + 35 * TICK, 1);
	T_CHECK(is_silent(c, now + 36 * TICK));
	/* ... until a block comes. */
	now += 37 * TICK;
	blocks(c, now, 0, 512, 512);
	T_CHECK(is_silent(c, now + IDLE - 1));
	T_CHECK(asks_part(c, now + IDLE, 0, 513, 511, 1));
	client_free(c);
}

static void
test_silence(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.silence_us = 2000 * MS;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m) && says(c, 1000 * MS, &m));
	join_reply(c, 1900 * MS, 1024);
	/* It answers somebody else, and may never have heard ours. */
	T_CHECK(client_deadline(c, 1900 * MS) == 1900 * MS);
	T_CHECK(says(c, 1900 * MS, &m) && m.subtype == WIRE_JOIN);
	T_CHECK(asks_whole(c, 1900 * MS, 0, 1024));
	heard_request(c, 3800 * MS, 0);
	T_CHECK(client_deadline(c, 3899 * MS) <= 3900 * MS);
	says(c, 3899 * MS, &m);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(!says(c, 3900 * MS, &m) && client_state(c) == CLIENT_GAVE_UP);
	T_CHECK(client_error(c)[0] != '\0');
	T_CHECK(client_deadline(c, 3900 * MS) == CLIENT_NEVER);
	client_free(c);
}

/* Only the named server's word counts; nonsense is dropped. */
static void
test_trust(void)
{
	struct client_config cfg = config(4);
	struct client_store st;
	struct wire_msg m;

	cfg.has_server = true;
	memcpy(cfg.server, server_ip, 4);
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m));
	m = (struct wire_msg){
		.type = WIRE_REPLY, .subtype = WIRE_JOIN, .u.join.blocks = 1024
	};
	T_CHECK(!input(c, 0, &m, other, &st) && client_state(c) == CLIENT_JOINING);
	join_reply(c, 0, 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(!block_from(c, 1, 0, 0, other, &st));
	T_CHECK(block_from(c, 1, 0, 0, server_ip, &st));
	T_CHECK(!block_from(c, 1, 1, 0, server_ip, &st));
	uint8_t pkt[WIRE_PACKET_MAX];
	m = (struct wire_msg){ .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.srcip = { 10, 0, 0, 1 },
		.u.block = { 0, 1, block_data } };
	size_t len = wire_put(&m, pkt, sizeof pkt);
	T_CHECK(!client_input(c, 1, pkt, len, other, &st)); /* a false name */
	T_CHECK(!client_input(c, 1, pkt, len - 1, server_ip, &st));
	T_CHECK(client_input(c, 1, pkt, len, server_ip, &st) && st.block == 1);
	client_free(c);
}

/* The last chunk of a file: as many blocks and bytes as there are. */
static void
test_short_file(void)
{
	static const struct {
		uint64_t bytes;
		uint32_t blocks, tail;
	} files[] = {
		{ 1, 1, 1 },
		{ 1024, 1, 1024 },
		{ 307200, 300, 307200 },
		{ 333333, 326, 333333 },
		{ 1048577, 1025, 1 },
		{ 1048576, 1024, 1048576 },
	};

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct client_config cfg = config(4);
		uint32_t chunk, buf, bytes, left = files[i].blocks, n = 0;
		struct wire_msg m;
		cfg.any_file = true;
		struct client *c = client_new(&cfg, 0);
		says(c, 0, &m);
		join2_reply(c, 0, 77, left, files[i].bytes, 1024);
		for (; left > 0; n++) {
			uint32_t count = left < 1024 ? left : 1024;
			T_CHECK(asks_whole(c, 0, n, count));
			left -= count;
		}
		for (uint32_t k = 0; k < n; k++) {
			left = files[i].blocks - k * 1024;
			left = left < 1024 ? left : 1024;
			T_CHECK(blocks(c, 1, k, 0, left - 1) == left);
			T_CHECK(left == 1024 || blocks(c, 1, k, left, left) == 0);
			T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == k);
		}
		T_CHECK(bytes == files[i].tail && client_state(c) == CLIENT_COMPLETE);
		client_free(c);
	}
}

/* A chunk whose beginning found no buffer makes room for one that begins. */
static void
test_dubious(void)
{
	struct client *c = loading(1, 3);
	uint32_t chunk, buf, bytes;

	T_CHECK(asks_whole(c, 0, 0, 1024) && is_silent(c, 0));
	blocks(c, 1, 0, 0, 1023);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 2, 1, 0, 499) == 0);
	client_release(c, 3, buf);
	T_CHECK(blocks(c, 4, 1, 500, 599) == 100);
	T_CHECK(blocks(c, 5, 2, 7, 9) == 0); /* not its first block */
	T_CHECK(blocks(c, 5, 2, 0, 1023) == 1024);
	T_CHECK(client_stats(c)->partial_drops == 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 2);
	client_release(c, 6, buf);
	T_CHECK(blocks(c, 7, 1, 500, 599) == 100); /* from the beginning again */
	client_free(c);
}

/* A shell that keeps chunks for a while, by its own book-keeping. */
struct shell {
	uint32_t buffers, in_use, most;
	struct {
		bool used, ours;
		uint32_t chunk;
	} buf[8];
	bool wrong;
};

static void
shell_stores(struct shell *s, const struct client_store *st)
{
	if (st->buf >= s->buffers || s->buf[st->buf].ours) {
		s->wrong = true;
		return;
	}
	if (!s->buf[st->buf].used) {
		s->buf[st->buf].used = true;
		s->in_use++;
	}
	s->buf[st->buf].chunk = st->chunk; /* another one, if that was dropped */
	for (uint32_t i = 0; i < s->buffers; i++)
		s->wrong |= i != st->buf && s->buf[i].used &&
		            s->buf[i].chunk == st->chunk;
	if (s->most < s->in_use)
		s->most = s->in_use;
}

/* Take what is complete; give back about every fourth that we have. */
static void
shell_works(struct shell *s, struct client *c, uint64_t now, uint64_t *rng)
{
	uint32_t chunk, buf, bytes;

	while (client_take(c, &chunk, &buf, &bytes)) {
		s->wrong |= s->buf[buf].ours || s->buf[buf].chunk != chunk;
		s->buf[buf].ours = true;
	}
	for (uint32_t i = 0; i < s->buffers; i++) {
		if (!s->buf[i].ours || client_random(rng) % 4 != 0)
			continue;
		s->buf[i].used = s->buf[i].ours = false;
		s->in_use--;
		client_release(c, now, i);
	}
}

/* Whatever the server sends, asked for or not, in whatever order: chunks are only
 * ever in as many buffers as there are, and no more are asked for at once. */
static void
check_memory(uint32_t buffers, bool shuffled)
{
	enum { CHUNKS = 40, STRETCH = 256 };
	struct client *c = loading(buffers, CHUNKS);
	struct shell s = { .buffers = buffers };
	struct wire_msg m;
	uint64_t rng = buffers, now = 0;

	for (; client_state(c) == CLIENT_LOADING && now < 1000000 * MS; now += 7 * MS) {
		uint32_t asked = 0, chunk = (uint32_t)(client_random(&rng) % CHUNKS);
		while (says(c, now, &m) && asked++ < 100)
			if (!shuffled && m.subtype == WIRE_REQ)
				chunk = m.u.req.chunk;
			else if (!shuffled)
				chunk = m.u.preq.chunk;
		s.wrong |= asked > buffers;
		uint32_t first = (uint32_t)(client_random(&rng) % 4) * STRETCH;
		for (uint32_t b = first; b < first + STRETCH; b++) {
			struct client_store st;
			if (block_from(c, now, chunk, b, server_ip, &st))
				shell_stores(&s, &st);
		}
		shell_works(&s, c, now, &rng);
	}
	printf(
	    "# %u buffers: %u at once, %.1f s\n", buffers, s.most, (double)now / 1e6);
	T_CHECK(client_state(c) == CLIENT_COMPLETE && !s.wrong);
	T_CHECK(shuffled ? s.most == buffers : s.most <= buffers);
	T_CHECK(client_stats(c)->chunk_buffers == (int32_t)buffers);
	client_free(c);
}

static void
test_memory(void)
{
	for (uint32_t buffers = 1; buffers <= 8; buffers += buffers < 3 ? 1 : 5) {
		check_memory(buffers, false);
		check_memory(buffers, true);
	}
}

int
main(void)
{
	test_join();
	test_replies();
	test_load();
	test_holes();
	test_overtaken();
	test_idle();
	test_silence();
	test_trust();
	test_short_file();
	test_dubious();
	test_memory();
	return t_done();
}
