/* A part of the server's engine: which blocks somebody still wants. */
#include "frisbeed/server/server_carousel.h"
#include "tests/t.h"

enum { CHUNKS = 5 };

static struct carousel c;

static void
add(uint32_t chunk, uint32_t first, uint32_t count)
{
	struct blockmap blocks = blockmap_range(first, count);

	carousel_add(&c, chunk, &blocks);
}

/* The number of wanted blocks of the next chunk, which must be this one. */
static uint32_t
take(uint32_t chunk)
{
	struct blockmap blocks;
	uint32_t next;

	return carousel_next(&c, &next, &blocks) && next == chunk ? blockmap_count(&blocks)
	                                                          : 0;
}

/* Round and round: what is wanted behind the last chunk comes in the next round. */
static void
test_order(void)
{
	struct blockmap blocks;
	uint32_t chunk;

	T_CHECK(carousel_init(&c, CHUNKS) == 0);
	T_CHECK(!carousel_next(&c, &chunk, &blocks));
	T_CHECK(carousel_peek(&c) == CHUNKS);
	add(3, 0, 10);
	add(1, 0, WIRE_CHUNK_BLOCKS);
	T_CHECK(take(1) == WIRE_CHUNK_BLOCKS);
	add(0, 5, 1);
	add(3, 5, 10);
	T_CHECK(c.wanted == 2);
	T_CHECK(take(3) == 15);
	T_CHECK(take(0) == 1);
	T_CHECK(!carousel_next(&c, &chunk, &blocks));
	carousel_fini(&c);
}

static void
test_remove(void)
{
	struct blockmap half = blockmap_range(0, WIRE_CHUNK_BLOCKS / 2);

	T_CHECK(carousel_init(&c, CHUNKS) == 0);
	add(2, 0, WIRE_CHUNK_BLOCKS);
	carousel_remove(&c, 2, &half);
	T_CHECK(carousel_wants(&c, 2));
	T_CHECK(take(2) == WIRE_CHUNK_BLOCKS / 2);
	add(2, 0, 1);
	carousel_remove(&c, 2, &half);
	T_CHECK(!carousel_wants(&c, 2));
	T_CHECK(c.wanted == 0);
	carousel_remove(&c, 2, &half);
	carousel_fini(&c);
}

/* The rest of a chunk comes before all others. */
static void
test_split(void)
{
	struct blockmap rest = blockmap_range(100, 20);

	T_CHECK(carousel_init(&c, CHUNKS) == 0);
	T_CHECK(!carousel_wants_rest(&c));
	add(1, 0, 200);
	add(2, 0, 200);
	T_CHECK(take(1) == 200);
	T_CHECK(!carousel_is_split(&c, 1));
	carousel_put_back(&c, 1, &rest);
	T_CHECK(carousel_is_split(&c, 1));
	T_CHECK(carousel_wants_rest(&c));
	T_CHECK(take(1) == 20);
	T_CHECK(!carousel_is_split(&c, 1));
	T_CHECK(take(2) == 200);
	carousel_put_back(&c, 2, &rest);
	carousel_remove(&c, 2, &rest);
	T_CHECK(!carousel_wants_rest(&c));
	carousel_fini(&c);
}

int
main(void)
{
	test_order();
	test_remove();
	test_split();
	return t_done();
}
