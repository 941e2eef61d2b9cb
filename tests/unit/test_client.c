/* The client's engine in a straight line: what it asks for, and asks for again. */
#include "tests/t.h"
#include "tests/unit/client_talk.h"

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

static void
test_load(void)
{
	struct client *c = loading(2, 3);
	uint32_t chunk, buf, bytes, buf2;
	struct wire_msg m;

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 10, 0, 0, 1022) == 1023);
	T_CHECK(blocks(c, 10, 0, 5, 9) == 0);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(blocks(c, 10, 0, 1023, 1023) == 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 0);
	T_CHECK(bytes == 1 << 20);
	/* One buffer is the shell's, one is spoken for: nothing more is asked. */
	T_CHECK(is_silent(c, 10));
	T_CHECK(blocks(c, 20, 1, 0, 1023) == 1024);
	T_CHECK(blocks(c, 20, 0, 0, 3) == 0);
	T_CHECK(blocks(c, 20, 2, 0, 9) == 0);
	T_CHECK(client_counters(c).wire.dropped_no_buffer == 10);
	T_CHECK(client_counters(c).wire.dup_in_progress == 5);
	T_CHECK(client_counters(c).wire.dup_finished == 4);
	/* No buffer: nobody is waited for, so no idle timeouts either. */
	T_CHECK(client_deadline(c, 20) == CLIENT_NEVER);
	client_release(c, 10000 * MS, buf);
	T_CHECK(asks_whole(c, 10000 * MS, 2, 1024));
	T_CHECK(is_silent(c, 10000 * MS));
	T_CHECK(client_take(c, &chunk, &buf2, &bytes));
	T_CHECK(chunk == 1);
	T_CHECK(buf2 != buf);
	T_CHECK(blocks(c, 10001 * MS, 2, 0, 1023) == 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(client_chunks_taken(c) == 2);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 2);
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
	T_CHECK(is_silent(c, 20000 * MS));
	client_finish(c, 20500 * MS, &(struct wire_stats){ .bytes_written = 9 });
	T_CHECK(says(c, 20500 * MS, &m));
	T_CHECK(m.subtype == WIRE_LEAVE2);
	T_CHECK(m.u.leave2.clientid == 77);
	T_CHECK(m.u.leave2.elapsed_s == 20);
	T_CHECK(m.u.leave2.stats.run_ms == 500);
	T_CHECK(m.u.leave2.stats.bytes_written == 9);
	T_CHECK(m.u.leave2.stats.requests == 3);
	T_CHECK(m.u.leave2.stats.dropped_no_buffer == 10);
	T_CHECK(m.u.leave2.stats.chunk_buffers == 2);
	T_CHECK(m.u.leave2.stats.redo_delay_us == 1000000);
	T_CHECK(client_state(c) == CLIENT_LEFT);
	T_CHECK(is_silent(c, 30000 * MS));
	client_free(c);
}

/* A hole is asked for as soon as the server has moved on, and not before. */
static void
test_holes(void)
{
	struct client *c = loading(8, 4);

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	T_CHECK(is_silent(c, 11 * MS));
	T_CHECK(is_silent(c, 40 * MS));
	blocks(c, 41 * MS, 1, 0, 1);
	T_CHECK(asks_whole(c, 41 * MS, 3, 1024));
	T_CHECK(is_silent(c, 41 * MS));
	T_CHECK(client_deadline(c, 41 * MS) <= 44 * MS);
	T_CHECK(asks_part(c, 44 * MS, 0, 100, 10, 1));
	T_CHECK(is_silent(c, 44 * MS));
	T_CHECK(client_counters(c).wire.prequests == 1);
	T_CHECK(client_counters(c).wire.rerequests == 1);
	T_CHECK(client_counters(c).wire.blocks_by_prequest == 10);
	client_free(c);

	/* Somebody else asks for them first. */
	c = loading(8, 4);
	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	blocks(c, 41 * MS, 1, 0, 1);
	heard_request(c, 41 * MS, 3);
	heard_request(c, 42 * MS, 0);
	T_CHECK(is_silent(c, 60 * MS));
	T_CHECK(is_silent(c, 100 * MS));
	client_free(c);

	/* Late blocks are waited for, longer from then on. */
	c = loading(8, 4);
	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 0, 0, 99);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	blocks(c, 11 * MS, 0, 110, 1023);
	blocks(c, 41 * MS, 1, 0, 1);
	T_CHECK(asks_whole(c, 41 * MS, 3, 1024));
	blocks(c, 43 * MS, 0, 105, 109);
	T_CHECK(is_silent(c, 44 * MS));
	T_CHECK(asks_part(c, 45 * MS, 0, 100, 5, 1));
	client_free(c);
}

/* A request that the server overtook was lost. */
static void
test_overtaken(void)
{
	struct client *c = loading(8, 4);

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	blocks(c, 10 * MS, 1, 0, 1023);
	T_CHECK(asks_whole(c, 10 * MS, 2, 1024));
	T_CHECK(is_silent(c, 10 * MS));
	blocks(c, 20 * MS, 2, 0, 0);
	T_CHECK(asks_whole(c, 20 * MS, 3, 1024));
	T_CHECK(is_silent(c, 20 * MS));
	T_CHECK(asks_part(c, 23 * MS, 0, 0, 1024, 1));
	T_CHECK(client_counters(c).wire.full_rerequests == 1);
	client_free(c);
}

static void
test_idle(void)
{
	struct client *c = loading(8, 2);
	uint64_t now = 0;

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	blocks(c, 10, 0, 0, 511);
	T_CHECK(is_silent(c, 10 + IDLE - 1));
	now = 10 + IDLE;
	T_CHECK(asks_part(c, now, 0, 512, 512, 1));
	T_CHECK(asks_part(c, now, 1, 0, 1024, 1));
	T_CHECK(is_silent(c, now));
	T_CHECK(client_counters(c).wire.idle_timeouts == 1);
	/* Ever more rarely, up to a limit ... */
	for (uint64_t ticks = 4; ticks <= 50; ticks++) {
		uint64_t wait = (ticks < 36 ? ticks : 36) * TICK;
		T_CHECK(is_silent(c, now + wait - 1));
		now += wait;
		T_CHECK(asks_part(c, now, 0, 512, 512, 1));
		T_CHECK(asks_part(c, now, 1, 0, 1024, 1));
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
			T_CHECK(client_take(c, &chunk, &buf, &bytes));
			T_CHECK(chunk == k);
		}
		T_CHECK(bytes == files[i].tail);
		T_CHECK(client_state(c) == CLIENT_COMPLETE);
		client_free(c);
	}
}

int
main(void)
{
	test_load();
	test_holes();
	test_overtaken();
	test_idle();
	test_short_file();
	return t_done();
}
