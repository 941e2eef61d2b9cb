/* Chunks in any order: each sector once, twice, not at all. */
#include "common/image/format/tiling.h"

#include "tests/t.h"

static void
add(struct tiling *t, uint32_t number, int32_t index, uint64_t first, uint64_t end)
{
	struct ndz_header h = {
		.version = 3, .index = index, .firstsect = first, .lastsect = end
	};
	struct err e;

	T_CHECK(tiling_add(t, number, &h, &e) == 0);
}

int
main(void)
{
	struct tiling t;
	struct range gap;
	struct err e;

	tiling_init(&t);
	T_CHECK(tiling_check(&t, &gap, &e) == 0);
	T_CHECK(gap.len == 0);
	add(&t, 1, 1, 100, 300);
	T_CHECK(tiling_check(&t, &gap, &e) == 0);
	T_CHECK(gap.off == 0);
	T_CHECK(gap.len == 100);
	add(&t, 0, 0, 0, 100);
	T_CHECK(tiling_check(&t, &gap, &e) == 0);
	T_CHECK(gap.len == 0);
	add(&t, 2, 2, 310, 400);
	T_CHECK(tiling_check(&t, &gap, &e) == 0);
	T_CHECK(gap.off == 300);
	T_CHECK(gap.len == 10);
	add(&t, 3, 4, 400, 500);
	T_CHECK(tiling_check(&t, &gap, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	tiling_free(&t);

	tiling_init(&t);
	add(&t, 0, 0, 0, 100);
	add(&t, 1, 1, 99, 200);
	T_CHECK(tiling_check(&t, &gap, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	tiling_free(&t);

	/* Version 1: its holes are nobody's. */
	tiling_init(&t);
	struct ndz_header h = {
		.version = 1, .index = 7, .firstsect = 5, .lastsect = 9
	};
	T_CHECK(tiling_add(&t, 0, &h, &e) == 0);
	T_CHECK(tiling_check(&t, &gap, &e) == 0);
	T_CHECK(gap.len == 0);
	tiling_free(&t);
	return t_done();
}
