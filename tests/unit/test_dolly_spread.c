/* Which child holds up the others: one that takes less than --slow says, at any rate that may be
 * given. */
#include "dolly/engine/spread.h"

#include "tests/t.h"

enum { CHUNK = 100, PIECE = 50, TAKEN = 10 };

static struct err e;

/* Is a child stuck that takes TAKEN bytes in the whole deadline? */
static bool
is_stuck(uint64_t deadline_us, uint64_t slow)
{
	const struct spread_config c = {
		.slots = 2, .chunk_bytes = CHUNK, .piece_bytes = PIECE, .chunks = 4
	};
	struct spread *s = NULL;
	const void *at;
	uint32_t waits;

	T_CHECK(spread_new(&s, &c, &e) == 0);
	struct spread_child *child = spread_join(s, 7, NULL);
	T_CHECK(child != NULL);
	uint32_t slot = spread_begin(s, 0, CHUNK);
	T_CHECK(spread_arrived(s, slot, CHUNK));
	T_CHECK(spread_want(s, child, 0));
	T_CHECK(spread_stuck(s, 1, deadline_us, slow, &waits) == 0);
	T_CHECK(waits == 0);
	T_CHECK(spread_output(s, child, &at) > TAKEN);
	spread_sent(s, child, TAKEN);
	uint32_t stuck = spread_stuck(s, 1 + deadline_us, deadline_us, slow, &waits);
	T_CHECK(waits == 7);
	T_CHECK(stuck == 0 || stuck == 7);
	spread_free(s);
	return stuck == 7;
}

int
main(void)
{
	const uint64_t second_us = 1000000;

	T_CHECK(!is_stuck(second_us, 0));
	T_CHECK(!is_stuck(second_us, TAKEN));
	T_CHECK(is_stuck(second_us, TAKEN + 1));
	T_CHECK(!is_stuck(10 * second_us, 1));
	T_CHECK(is_stuck(10 * second_us, 2));
	/* The product of both is 2^64. */
	T_CHECK(is_stuck(UINT64_C(1) << 24, UINT64_C(1) << 40));
	return t_done();
}
