/* What a tracker of a device takes, beside what dm-era takes at most, and what is said of metadata that
 * is too small. */
#include <string.h>

#include "dsync/stream/stream.h"
#include "dsync/track/cost.h"
#include "tests/t.h"

enum { PAGE = 4096, MIB = 1 << 20 };

static struct err e;

/* Blocks of metadata for an array of n values, `each` of them in a block, and for the tree above it, whose
 * blocks have places for 252 others and are a third full at least. */
static uint64_t
array_pages(uint64_t n, uint64_t each)
{
	uint64_t level = (n + each - 1) / each, all = level;

	while (level > 1)
		all += level = (level + 83) / 84;
	return all;
}

/* What dm-era holds when most is held: the array of eras three times (of the last commit, of the metadata's
 * snapshot, and the one that is being made), and 24 sets of a bit for each block. */
static uint64_t
most_pages(uint64_t blocks)
{
	return 64 + 3 * array_pages(blocks, 1018) + 24 * array_pages((blocks + 63) / 64, 509);
}

static void
test_has_room_for_most(void)
{
	const uint64_t largest = UINT64_C(1) << 30; /* as many as 16 GiB of metadata can note */

	for (uint64_t n = 1; n <= largest; n += n / 7 + 1)
		if (cost_of(n * PAGE, PAGE).metadata_bytes < most_pages(n) * PAGE)
			T_CHECK(!"there is room for so many blocks");
	T_CHECK(cost_of(largest * PAGE, PAGE).metadata_bytes >= most_pages(largest) * PAGE);
	/* A guest's dm-era has used 585 blocks for 262,144 blocks. */
	T_CHECK(cost_of(UINT64_C(1) << 30, PAGE).metadata_bytes == 5 * MIB);
	T_CHECK(585 * PAGE <= 5 * MIB && most_pages(262144) > 585);
}

/* No device is too large to be calculated. */
static void
test_largest(void)
{
	struct track_cost c = cost_of(INT64_MAX, PAGE);

	T_CHECK(c.blocks == UINT64_C(1) << 51);
	T_CHECK(c.metadata_bytes == (UINT64_C(1) << 55) + MIB && c.memory_bytes == UINT64_C(1) << 49);
	c = cost_of(1, STREAM_BLOCK_MAX);
	T_CHECK(c.blocks == 1 && c.metadata_bytes == 2 * MIB && c.memory_bytes == 16);
}

static bool
refused(uint64_t room, uint64_t bytes, uint64_t block_bytes, const char *way_out)
{
	struct superblock s = { .room_bytes = room };

	return cost_check(&s, "/dev/vg/meta", bytes, block_bytes, &e) != 0 &&
	       e.kind == ERR_REFUSED && strcmp(strstr(e.text, "begin anew"), way_out) == 0;
}

static void
test_way_out(void)
{
	struct superblock s = { .room_bytes = 5 * MIB };
	const uint64_t gib = UINT64_C(1) << 30, tib = gib << 10;

	T_CHECK(cost_check(&s, "/dev/vg/meta", gib, PAGE, &e) == 0);
	T_CHECK(refused(5 * MIB - 512, gib, PAGE, "begin anew with so much, or with --block=8k"));
	T_CHECK(strncmp(e.text, "/dev/vg/meta: dm-era can use 4 MiB of it, and may need 5 MiB to note "
	    "262144 blocks of 4 KiB", 90) == 0);
	T_CHECK(refused(3 * MIB - 1, gib, PAGE, "begin anew with so much, or with --block=16k"));
	T_CHECK(refused(MIB, gib, PAGE, "begin anew with so much"));
	/* Beyond what dm-era can use, more metadata is no help. */
	T_CHECK(refused(UINT64_MAX, 8 * tib, PAGE, "begin anew with --block=16k"));
	T_CHECK(strstr(e.text, "dm-era can use 16256 MiB of it") != NULL);
	T_CHECK(refused(MIB, 8 * tib, PAGE, "begin anew with larger blocks"));
	T_CHECK(!refused(UINT64_MAX, 8 * tib, 16 << 10, ""));
}

int
main(void)
{
	test_has_room_for_most();
	test_largest();
	test_way_out();
	return t_done();
}
