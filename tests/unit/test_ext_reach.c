/* The record of how far partitions and filesystems reach: to bytes and back, cut short,
 * impossible; what it says; and in a chunk. */
#include "common/image/format/ext_reach.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/ext_in_chunk.h"

static const struct reach example = { .n = 3,
	.parts = { { 1, { 2048, 1000 }, 900, 512, REACH_STORED, "xfs" },
	    { 5, { 4096, 500 }, 0, 0, REACH_STORED, "" },
	    { 2, { 8000, 2000 }, 2000, 4096, 0x80, "fifteen letters" } } };

static size_t
write(const struct reach *x, uint8_t *buf, size_t cap)
{
	struct wr w = wr_to(buf, cap);

	reach_put(x, &w);
	T_CHECK(wr_ok(&w));
	return wr_len(&w);
}

static bool
reads(const void *bytes, size_t n, struct reach *x)
{
	struct reach *got = NULL;
	struct rd r = rd_from(bytes, n);
	struct err e;
	bool good = reach_get(&got, &r, &e) == 0 && rd_ok(&r);

	if (good)
		*x = *got;
	free(got);
	return good;
}

static void
test_round_trip(void)
{
	static uint8_t buf[REACH_HEAD_BYTES + REACH_PARTS_MAX * REACH_PART_BYTES];
	static struct reach x, back;
	size_t n = write(&example, buf, sizeof buf);
	bool good = true;

	T_CHECK(n == REACH_HEAD_BYTES + 3 * REACH_PART_BYTES);
	T_CHECK(reach_record_bytes(&example) == 8 + n);
	T_CHECK(reach_record_bytes(NULL) == 0);
	T_CHECK(reads(buf, n, &back));
	T_CHECK(reach_same(&example, &back));
	for (size_t cut = 0; cut < n; cut++)
		good &= !reads(buf, cut, &back);
	T_CHECK(good);
	for (size_t i = 0; i <= REACH_PARTS_MAX; i++)
		reach_add(&x, &example.parts[0]);
	T_CHECK(x.n == REACH_PARTS_MAX);
	n = write(&x, buf, sizeof buf);
	T_CHECK(n == sizeof buf);
	T_CHECK(reads(buf, n, &back));
	T_CHECK(reach_same(&x, &back));
	buf[0]++; /* one part too many */
	T_CHECK(!reads(buf, n, &back));
	buf[0] = 0; /* none */
	T_CHECK(!reads(buf, n, &back));
}

/* Each member makes a difference. */
static void
test_same(void)
{
	struct reach_part *p;
	struct reach x;

	T_CHECK(reach_same(NULL, NULL));
	T_CHECK(!reach_same(&example, NULL));
	T_CHECK(!reach_same(NULL, &example));
#define DIFFERS(change) \
	do { \
		x = example; \
		p = &x.parts[1]; \
		change; \
		T_CHECK(!reach_same(&example, &x)); \
	} while (0)
	DIFFERS(x.n--);
	DIFFERS(p->number++);
	DIFFERS(p->sectors.off++);
	DIFFERS(p->sectors.len++);
	DIFFERS(p->fs_sectors++);
	DIFFERS(p->sector_bytes++);
	DIFFERS(p->flags++);
	DIFFERS(p->fs[0]++);
}

static void
test_impossible(void)
{
	static const struct reach_part bad[] = {
		{ .sectors = { 5, 0 } },
		{ .sectors = { UINT64_MAX, 2 } },
		{ .sectors = { 1, UINT64_MAX / 512 } },
		{ .sectors = { 0, 10 }, .fs_sectors = 11 },
	};
	uint8_t buf[REACH_HEAD_BYTES + REACH_PART_BYTES];
	struct reach back;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct reach x = { .n = 1, .parts = { bad[i] } };
		T_CHECK(!reads(buf, write(&x, buf, sizeof buf), &back));
	}
	struct reach x = { .n = 1,
		.parts = { { .sectors = { 0, UINT64_MAX / 512 }, .fs = "a\nb" } } };
	T_CHECK(reads(buf, write(&x, buf, sizeof buf), &back));
	T_CHECK(strcmp(back.parts[0].fs, "a?b") == 0);
}

static void
test_says(void)
{
	T_CHECK(reach_find(&example, 2) == &example.parts[2]);
	T_CHECK(reach_find(&example, 3) == NULL);
	T_CHECK(reach_find(NULL, 1) == NULL);
	T_CHECK(reach_fs_end(&example.parts[0]) == 2948);
	T_CHECK(reach_fs_end(&example.parts[1]) == 0);
	/* Nothing is stored of the last partition. */
	T_CHECK(reach_needed(&example, true) == 4596);
	T_CHECK(reach_needed(&example, false) == 2948);
	T_CHECK(reach_needed(NULL, true) == 0);
}

static void
test_in_a_chunk(void)
{
	struct reach copy = example;
	struct ext x = { .has_uuid = true, .reach = &copy }, back;
	struct err e;

	through_chunk(&x, &back);
	T_CHECK(reach_same(back.reach, &example));
	uint8_t buf[200];
	struct rd r = rd_from(buf, write(&example, buf, sizeof buf));
	T_CHECK(reach_get(&back.reach, &r, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	ext_free(&back);
	T_CHECK(back.reach == NULL);
}

int
main(void)
{
	test_round_trip();
	test_same();
	test_impossible();
	test_says();
	test_in_a_chunk();
	return t_done();
}
