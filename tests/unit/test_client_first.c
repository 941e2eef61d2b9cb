/* Chunk 0 before all others: who waits for it asks when the stream is elsewhere, once,
 * and always has a buffer for it. */
#include <string.h>

#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

static struct client *
begin(bool first, bool ext, uint32_t buffers)
{
	struct client_config cfg = { .clientid = 9,
		.redo_us = 1000 * MS,
		.tick_us = 30 * MS,
		.idle_ticks = 3,
		.join_us = 500 * MS,
		.srcip = { 10, 0, 0, 2 },
		.readahead = 2,
		.in_progress = 8,
		.buffers = buffers,
		.chunk0_first = first,
		.ext = ext };

	return join(&cfg, 0);
}

static void
chunk_comes(struct client *c, uint64_t now, uint32_t chunk)
{
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++)
		block_comes(c, now, chunk, b);
}

/* The stream is at chunk 2 when this client comes. */
static void
test_late(bool first)
{
	struct client *c = begin(first, true, 8);
	uint64_t now = 10 * MS;

	chunk_comes(c, now, 2);
	block_comes(c, now, 3, 0);
	struct asked a = count_asked(c, &now, 200 * MS, 0);
	T_CHECK(a.blocks == (first ? WIRE_CHUNK_BLOCKS : 0));
	T_CHECK(a.messages == first);
	chunk_comes(c, now, 0);
	block_comes(c, now, 3, 1);
	T_CHECK(count_asked(c, &now, 200 * MS, 0).messages == 0);
	client_free(c);
}

/* Chunk 0 comes first by itself. */
static void
test_in_time(void)
{
	struct client *c = begin(true, true, 8);
	uint64_t now = 10 * MS;

	chunk_comes(c, now, 0);
	chunk_comes(c, now, 1);
	block_comes(c, now, 2, 0);
	T_CHECK(count_asked(c, &now, 300 * MS, 0).messages == 0);
	client_free(c);
}

/* The shell keeps what it was given until chunk 0 is there. */
static void
test_last_buffer(bool first)
{
	struct client *c = begin(first, false, 2);
	uint64_t now = 10 * MS;
	uint32_t chunk, buf, bytes;

	chunk_comes(c, now, 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 1);
	T_CHECK(block_comes(c, now, 2, 0) == !first);
	T_CHECK(block_comes(c, now, 0, 0) == first);
	chunk_comes(c, now, 0);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) == first);
	client_release(c, now, buf);
	if (first) {
		T_CHECK(chunk == 0);
		T_CHECK(block_comes(c, now, 2, 0));
	}
	client_free(c);
}

/* A buffer for it is not given up for another chunk that begins. */
static void
test_kept(void)
{
	struct client *c = begin(true, false, 2);
	uint64_t now = 10 * MS;
	uint32_t chunk, buf, bytes;

	chunk_comes(c, now, 1);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 1);
	T_CHECK(!block_comes(c, now, 2, 5)); /* lacked from now on */
	T_CHECK(block_comes(c, now, 0, 7));
	T_CHECK(!block_comes(c, now, 3, 0));
	T_CHECK(!block_comes(c, now, 2, 0));
	T_CHECK(block_comes(c, now, 0, 8));
	client_free(c);
}

/* What it came too late for is at the end of the server's round, and only this client can
 * let the server go on: the chunks that it has do not wait for its disk. */
static void
test_goes_on(bool first)
{
	struct client *c = begin(first, true, 8);
	uint64_t now = 10 * MS;
	uint32_t chunk, buf, bytes;
	struct wirext_msg m;

	for (uint32_t b = WIRE_CHUNK_BLOCKS / 4; b < WIRE_CHUNK_BLOCKS; b++)
		block_comes(c, now, 0, b);
	for (uint32_t i = 1; i < CHUNKS; i++)
		chunk_comes(c, now, i);
	for (uint32_t i = 1; i < CHUNKS; i++)
		T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(says(c, &now, 1000 * MS, WIREXT_CREDIT, &m) == first);
	client_free(c);
}

/* Few buffers: it asks while the stream is elsewhere, since no report would bring what is
 * to come anyway. */
static void
test_asks_for_the_rest(void)
{
	struct client *c = begin(true, true, 8);
	uint64_t now = 10 * MS;

	for (uint32_t b = WIRE_CHUNK_BLOCKS / 4; b < WIRE_CHUNK_BLOCKS; b++)
		block_comes(c, now, 0, b);
	chunk_comes(c, now, 1);
	block_comes(c, now, 2, 0);
	struct asked a = count_asked(c, &now, 200 * MS, 0);
	T_CHECK(a.blocks == WIRE_CHUNK_BLOCKS / 4);
	T_CHECK(a.messages == 1);
	client_free(c);
}

int
main(void)
{
	test_late(true);
	test_late(false);
	test_in_time();
	test_last_buffer(true);
	test_last_buffer(false);
	test_kept();
	test_goes_on(true);
	test_goes_on(false);
	test_asks_for_the_rest();
	return t_done();
}
