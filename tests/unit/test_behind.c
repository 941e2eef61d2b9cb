/* Who claims the space behind a filesystem or behind the last partition: what has an
 * owner, data of which nothing is known, and a suspended system. */
#include "common/behind/behind.h"

#include <string.h>

#include "fsmods/lvm2/lvm2.h"
#include "fsmods/swap.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum {
	MIB = (1 << 20) / SECTOR_BYTES,
	SECTORS = 24 * MIB,
	AREA = 2 * MIB, /* where the partition begins */
	LENGTH = SECTORS - AREA,
	FROM = MIB, /* where its filesystem ends */
};

static uint8_t bytes[SECTORS * SECTOR_BYTES];
static size_t bad = SIZE_MAX; /* byte of the disk that cannot be read */
static struct behind b;
static struct err e;

static void
put(uint64_t sector, const char *data, size_t n)
{
	memcpy(bytes + sector * SECTOR_BYTES, data, n);
}

/* Look behind sector FROM of the partition, whose table has the sectors of `own`. */
static void
look(const struct rangeset *own)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err closing;

	m.bad = bad;
	T_CHECK(behind_find(&b, d, (struct range){ AREA, LENGTH }, FROM, own, &e) == 0);
	disk_close(d, &closing);
}

/* Is one byte at this sector of the disk found to be unknown data? */
static bool
is_unknown(uint64_t sector)
{
	memset(bytes, 0, sizeof bytes);
	put(sector, "x", 1);
	look(NULL);
	T_CHECK(b.n == 0 && behind_owned_from(&b) == UINT64_MAX);
	return b.unknown.off == sector && b.unknown.len == 1;
}

static void
test_unknown(void)
{
	char text[100];

	T_CHECK(!is_unknown(AREA + FROM - 1)); /* of the filesystem */
	T_CHECK(is_unknown(AREA + FROM));
	T_CHECK(is_unknown(AREA + FROM + MIB - 1));
	T_CHECK(!is_unknown(AREA + FROM + MIB)); /* neither near nor at the end */
	T_CHECK(!is_unknown(SECTORS - 16 * MIB - 1));
	T_CHECK(is_unknown(SECTORS - 16 * MIB));
	T_CHECK(is_unknown(SECTORS - 1));
	T_CHECK(strcmp(behind_unknown_text(&b, text, sizeof text),
		    "unknown data (sector 49151)") == 0);
	put(AREA, "x", 1); /* NTFS has a copy of its first sector there */
	look(NULL);
	T_CHECK(b.unknown.len == 0);
	put(AREA, "y", 1);
	put(AREA + FROM + 5, "x", 1);
	look(NULL);
	T_CHECK(b.unknown.off == AREA + FROM + 5 && range_end(b.unknown) == SECTORS);
	T_CHECK(strcmp(behind_unknown_text(&b, text, sizeof text),
		    "unknown data (sectors 6149 to 49151)") == 0);
}

/* What cannot be read is not found, but what lies beside it is. */
static void
test_unreadable(void)
{
	bad = (size_t)(AREA + FROM + 800) * SECTOR_BYTES;
	T_CHECK(!is_unknown(AREA + FROM + 800));
	T_CHECK(is_unknown(AREA + FROM + 799));
	T_CHECK(is_unknown(AREA + FROM + 808));
	bad = SIZE_MAX;
}

/* What is recognised has an owner, and is not unknown, nor is the partition table. */
static void
test_owned(void)
{
	struct rangeset own;
	char text[100];

	memset(bytes, 0, sizeof bytes);
	put(SECTORS - 1, "conectix", 8);
	put(SECTORS - 9, "EFI PART", 8);
	rangeset_init(&own);
	T_CHECK(rangeset_add(&own, (struct range){ SECTORS - 9, 1 }, &e) == 0);
	rangeset_seal(&own);
	look(&own);
	T_CHECK(b.n == 1 && b.owned[0].kind == TAIL_VHD && b.unknown.len == 0);
	T_CHECK(behind_owned_from(&b) == SECTORS - 1);
	T_CHECK(strcmp(behind_owned_text(&b, text, sizeof text),
		    "a VHD footer (sector 49151)") == 0);
	put(AREA + FROM + 8, "verity\0\0", 8);
	look(&own);
	T_CHECK(b.n == 2 && behind_owned_from(&b) == AREA + FROM + 8);
	rangeset_free(&own);
}

/* A system is suspended where the first page of a swap partition ends with one of
 * these. */
static bool
is_suspended(const char *signature, uint64_t page_bytes, uint64_t at_sector)
{
	struct ptable t = { .kind = PTABLE_MBR,
		.nparts = 2,
		.parts = { { .number = 1, .sectors = { MIB, MIB } },
		    { .number = 6, .sectors = { 4 * MIB, MIB } } } };
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err closing;
	char where[BEHIND_WHERE_CAP];

	memset(bytes, 0, sizeof bytes);
	memcpy(bytes + at_sector * SECTOR_BYTES + page_bytes - 10, signature,
	    strlen(signature));
	const char *there = at_sector == MIB ? "in partition 1" : "in partition 6";
	bool is = behind_suspended(d, &t, where);
	T_CHECK(!is || strcmp(where, there) == 0);
	t.nparts = 0;
	T_CHECK(behind_suspended(d, &t, where) == (is && at_sector == 0));
	disk_close(d, &closing);
	return is;
}

static void
test_suspended(void)
{
	T_CHECK(is_suspended("S1SUSPEND", 4096, MIB));
	T_CHECK(is_suspended("S1SUSPEND", 4096, 4 * MIB));
	T_CHECK(is_suspended("S2SUSPEND", 16384, 4 * MIB));
	T_CHECK(is_suspended("ULSUSPEND", 65536, MIB));
	T_CHECK(is_suspended("LINHIB0001", 4096, MIB));
	T_CHECK(!is_suspended("SWAPSPACE2", 4096, MIB));
	T_CHECK(!is_suspended("S1SUSPEND", 4096, 3 * MIB)); /* in no partition */
}

/* What cannot be read is no answer. */
static void
test_unreadable_swap(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct range part = { MIB, MIB };
	struct err closing;

	memset(bytes, 0, sizeof bytes);
	T_CHECK(swap_is_suspended(d, part, &e) == 0 && lvm2_is_suspended(d, part, &e) == 0);
	m.bad = MIB * SECTOR_BYTES + 4090;
	T_CHECK(swap_is_suspended(d, part, &e) == -1 && e.kind == ERR_IO);
	m.bad = MIB * SECTOR_BYTES + 600;
	T_CHECK(lvm2_is_suspended(d, part, &e) == -1 && e.kind == ERR_IO);
	disk_close(d, &closing);
}

int
main(void)
{
	test_unknown();
	test_unreadable();
	test_owned();
	test_suspended();
	test_unreadable_swap();
	return t_done();
}
