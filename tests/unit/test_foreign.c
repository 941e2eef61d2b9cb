/* Members of arrays and pools: at their places, one byte off, and on disks that are
 * too small for them. */
#include "fsmods/foreign.h"

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { BYTES = 512 << 10 };

static uint8_t bytes[BYTES];

static const char *
find(size_t first, size_t sectors)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err e;
	const char *found = foreign_find(d, (struct range){ first, sectors });

	disk_close(d, &e);
	return found;
}

/* A superblock of version 1 that says where it is. */
static void
put_md1(uint64_t at, uint64_t sector, uint32_t level)
{
	struct wr w = wr_to(bytes + at * 512, 512);

	memset(bytes, 0, sizeof bytes);
	wr_le32(&w, 0xa92b4efc);
	wr_le32(&w, 1);
	wr_zero(&w, 64);
	wr_le32(&w, level);
	wr_zero(&w, 68);
	wr_le64(&w, sector);
}

static void
test_raid(void)
{
	put_md1(8, 8, 1);
	T_CHECK(find(0, 1024) != NULL);
	T_CHECK(find(0, 9) != NULL);
	T_CHECK(find(0, 8) == NULL);
	T_CHECK(find(0, 0) == NULL);
	T_CHECK(find(1, 1000) == NULL);
	put_md1(108, 8, 1);
	T_CHECK(find(100, 500) != NULL);
	T_CHECK(find(0, 1024) == NULL);
	put_md1(8, 9, 1);
	T_CHECK(find(0, 1024) == NULL);
	put_md1(1008, 1008, 0);
	T_CHECK(find(0, 1024) != NULL);
	T_CHECK(find(0, 1023) == NULL);
	put_md1(1008, 1008, 1);
	T_CHECK(find(0, 1024) == NULL);
	put_md1(8, 8, 1);
	bytes[8 * 512]++;
	T_CHECK(find(0, 1024) == NULL);
}

static void
test_pool(void)
{
	memset(bytes, 0, sizeof bytes);
	for (size_t at = 128 << 10; at < 256 << 10; at += 1024) {
		struct wr w = wr_to(bytes + at, 8);
		wr_le64(&w, 0x00bab10c);
		T_CHECK(find(0, 1024) != NULL);
		T_CHECK(find(0, at / 512) == NULL);
		T_CHECK(find(1, 1000) == NULL);
		memset(bytes + at, 0, 8);
	}
	T_CHECK(find(0, 1024) == NULL);
}

int
main(void)
{
	test_raid();
	test_pool();
	return t_done();
}
