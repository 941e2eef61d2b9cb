/* A part of the server's engine: the blocks that will be read and sent. */
#include "frisbeed/server/server_queue.h"
#include "tests/t.h"

enum { CHUNKS = 8, MOST = 32 };

static struct server_queue q;
static struct server_queue_run run;

static void
begin(void)
{
	T_CHECK(server_queue_init(&q, CHUNKS) == 0);
	T_CHECK(server_queue_empty(&q));
	T_CHECK(!server_queue_next(&q, MOST, SERVER_QUEUE_CHUNKS, &run));
}

static uint32_t
ask(uint32_t chunk, uint32_t first, uint32_t count)
{
	struct blockmap blocks = blockmap_range(first, count);

	return server_queue_ask(&q, chunk, &blocks);
}

static bool
add(uint32_t chunk, uint32_t first, uint32_t count, bool before_others)
{
	struct blockmap blocks = blockmap_range(first, count);

	return server_queue_add(&q, chunk, &blocks, before_others);
}

static bool
next_in(enum server_queue_order order, uint32_t chunk, uint32_t first, uint32_t count)
{
	return server_queue_next(&q, MOST, order, &run) && run.chunk == chunk &&
	       run.first == first && run.count == count;
}

static bool
next_is(uint32_t chunk, uint32_t first, uint32_t count)
{
	return next_in(SERVER_QUEUE_CHUNKS, chunk, first, count);
}

/* A block is in once, until it has been sent. */
static void
test_once(void)
{
	begin();
	T_CHECK(ask(3, 0, 40) == 40);
	T_CHECK(ask(3, 20, 40) == 20);
	T_CHECK(q.blocks == 60);
	T_CHECK(next_is(3, 0, 32));
	T_CHECK(run.asked);
	T_CHECK(!run.ends);
	T_CHECK(ask(3, 0, 60) == 0);
	T_CHECK(next_is(3, 32, 28));
	T_CHECK(run.ends);
	T_CHECK(run.bulk == 60);
	T_CHECK(server_queue_empty(&q));
	T_CHECK(server_queue_has(&q, 3));
	T_CHECK(ask(3, 59, 1) == 0);
	server_queue_sent(&q, 3, 0, 32);
	T_CHECK(ask(3, 31, 2) == 1);
	server_queue_sent(&q, 3, 32, 28);
	T_CHECK(next_is(3, 31, 1));
	T_CHECK(run.bulk == 1);
	server_queue_sent(&q, 3, 31, 1);
	T_CHECK(!server_queue_has(&q, 3));
	T_CHECK(q.blocks == 0);
	server_queue_fini(&q);
}

/* What is asked for behind the cursor waits until the other chunks have had a turn. */
static void
test_behind_the_cursor(void)
{
	begin();
	T_CHECK(ask(0, 100, 64) == 64);
	T_CHECK(ask(5, 0, 1) == 1);
	T_CHECK(next_is(0, 100, 32));
	T_CHECK(server_queue_within(&q, false));
	T_CHECK(ask(0, 0, 10) == 10);
	T_CHECK(next_is(0, 132, 32));
	T_CHECK(!server_queue_within(&q, false));
	T_CHECK(next_is(5, 0, 1));
	T_CHECK(next_is(0, 0, 10));
	server_queue_fini(&q);
}

static void
test_before_others(void)
{
	begin();
	T_CHECK(ask(1, 0, 1) == 1);
	T_CHECK(ask(2, 0, 1) == 1);
	T_CHECK(add(3, 0, 1, true));
	T_CHECK(add(4, 0, 1, false));
	T_CHECK(add(2, 1, 1, true)); /* it waits already */
	T_CHECK(next_is(2, 0, 2));
	T_CHECK(next_is(3, 0, 1));
	T_CHECK(!run.asked);
	T_CHECK(next_is(1, 0, 1));
	T_CHECK(next_is(4, 0, 1));
	T_CHECK(server_queue_empty(&q));
	/* Nothing of a chunk is nothing. */
	T_CHECK(add(6, 0, 0, true));
	T_CHECK(!server_queue_has(&q, 6));
	server_queue_fini(&q);
}

static void
test_in_sets(void)
{
	begin();
	T_CHECK(add(0, 0, 64, false));
	T_CHECK(add(1, 0, 64, false));
	for (unsigned i = 0; i < 4; i++) {
		T_CHECK(server_queue_next(&q, MOST, SERVER_QUEUE_TURNS, &run));
		T_CHECK(run.chunk == i % 2);
		T_CHECK(run.first == i / 2 * MOST);
		T_CHECK(server_queue_within(&q, true) == (i < 3));
	}
	/* Chunks that only requests want take no turns, and hold nothing up. */
	T_CHECK(ask(2, 0, 64) == 64);
	T_CHECK(ask(3, 0, 64) == 64);
	for (unsigned i = 0; i < 4; i++) {
		T_CHECK(server_queue_next(&q, MOST, SERVER_QUEUE_TURNS, &run));
		T_CHECK(run.chunk == 2 + i / 2);
		T_CHECK(!server_queue_within(&q, true));
	}
	server_queue_fini(&q);
}

/* What is requested of a chunk that the carousel sends comes after its pass, so that the
 * pass ends, and keeps being one. */
static void
test_put_off(void)
{
	begin();
	T_CHECK(add(0, 0, 64, true));
	T_CHECK(next_is(0, 0, 32));
	server_queue_sent(&q, 0, 0, 32);
	T_CHECK(ask(0, 0, 40) == 32);
	T_CHECK(ask(0, 0, 40) == 0);
	T_CHECK(ask(1, 0, 1) == 1);
	T_CHECK(server_queue_passes(&q, 0));
	T_CHECK(!server_queue_passes(&q, 1));
	T_CHECK(next_is(0, 32, 32));
	T_CHECK(!run.asked);
	T_CHECK(run.ends);
	T_CHECK(q.blocks == 32 + 1 + 32);
	T_CHECK(!server_queue_passes(&q, 0));
	T_CHECK(next_is(1, 0, 1));
	T_CHECK(next_is(0, 0, 32));
	T_CHECK(run.asked);
	T_CHECK(server_queue_empty(&q));
	/* What the carousel sends after all is not sent once more for the request. */
	T_CHECK(add(2, 0, 32, true));
	T_CHECK(ask(2, 32, 32) == 32);
	T_CHECK(add(2, 32, 32, true));
	T_CHECK(next_is(2, 0, 32));
	T_CHECK(next_is(2, 32, 32));
	T_CHECK(server_queue_empty(&q));
	server_queue_fini(&q);
}

/* While requests have had their share, they are passed over, but only as long as the
 * carousel has something. */
static void
test_passed_over(void)
{
	begin();
	T_CHECK(ask(0, 0, 64) == 64);
	T_CHECK(ask(1, 0, 32) == 32);
	T_CHECK(add(2, 0, 64, false));
	T_CHECK(add(3, 0, 32, false));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 2, 0, 32));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 3, 0, 32));
	T_CHECK(next_in(SERVER_QUEUE_TURNS, 0, 0, 32));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 2, 32, 32));
	T_CHECK(q.wanted == 0);
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 0, 32, 32));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 1, 0, 32));
	T_CHECK(server_queue_empty(&q));
	/* A chunk that both want is not passed over. */
	T_CHECK(ask(4, 0, 32) == 32);
	T_CHECK(ask(5, 0, 1) == 1);
	T_CHECK(add(5, 1, 31, false));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 5, 0, 32));
	T_CHECK(next_in(SERVER_QUEUE_WANTED, 4, 0, 32));
	server_queue_fini(&q);
}

/* Which blocks need not be added, since they are sent soon. */
static void
test_soon(void)
{
	begin();
	struct blockmap soon = server_queue_soon(&q, 0);
	T_CHECK(blockmap_empty(&soon));
	T_CHECK(add(0, 0, 64, false));
	T_CHECK(next_is(0, 0, 32));
	soon = server_queue_soon(&q, 0);
	T_CHECK(blockmap_count(&soon) == 64);
	T_CHECK(ask(0, 100, 1) == 1); /* what was put off is not sent soon */
	soon = server_queue_soon(&q, 0);
	T_CHECK(blockmap_count(&soon) == 64);
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	struct blockmap lacks = server_queue_lacks(&q, 0, &all);
	T_CHECK(blockmap_count(&lacks) == WIRE_CHUNK_BLOCKS - 64);
	T_CHECK(next_is(0, 32, 32));
	soon = server_queue_soon(&q, 0); /* now it waits as an old request */
	T_CHECK(blockmap_count(&soon) == 64);
	T_CHECK(next_is(0, 100, 1));
	soon = server_queue_soon(&q, 0);
	T_CHECK(blockmap_count(&soon) == 65);
	server_queue_fini(&q);
}

int
main(void)
{
	test_once();
	test_behind_the_cursor();
	test_before_others();
	test_in_sets();
	test_put_off();
	test_passed_over();
	test_soon();
	return t_done();
}
