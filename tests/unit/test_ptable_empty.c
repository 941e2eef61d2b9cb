/* Entries of an MBR that have type 0 ("Empty" in fdisk) and a length are partitions, as
 * for the kernel: they may lie around others, and over the table itself. */
#include "tests/unit/ptables.h"

enum { SECTORS = 4096 };

static uint8_t bytes[SECTORS * 512];
static struct mem m;

static int
read_it(void)
{
	return read_mem(&m);
}

static bool
is_part(unsigned number, uint64_t first, uint64_t count, bool empty)
{
	const struct partition *p = ptable_find(&t, number);

	return p != NULL && p->sectors.off == first && p->sectors.len == count &&
	       p->empty == empty;
}

/* The layout of an installer's stick: type 0 from sector 0 on over everything. */
static void
test_isohybrid(void)
{
	struct ptable_change done;
	struct err closing;

	memset(bytes, 0, sizeof bytes);
	mbr_put(&m, 0, 0, 0, 0, 3000);
	mbr_put(&m, 0, 1, 0xef, 324, 100);
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 2);
	T_CHECK(is_part(1, 0, 3000, true));
	T_CHECK(is_part(2, 324, 100, false));
	T_CHECK(ptable_overlaps(&t, &t.parts[0]) && ptable_overlaps(&t, &t.parts[1]));
	T_CHECK(ptable_last(&t)->number == 1);
	/* Nothing is grown into it, and a smaller disk still has all of it. */
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	uint64_t sectors;
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(strstr(e.text, "partition 1 shares sectors with the last one") != NULL);
	T_CHECK(ptable_cut(d, &t, 0, 0, &sectors, &e) == 0);
	T_CHECK(sectors == 3000);
	T_CHECK(ptable_set_type(d, 1, 0x83, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	disk_close(d, &closing);
}

static void
test_alone(void)
{
	struct ptable_change done;
	struct err closing;

	memset(bytes, 0, sizeof bytes);
	mbr_put(&m, 0, 0, 0x83, 100, 100);
	mbr_put(&m, 0, 2, 0, 1000, 500);
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 2);
	T_CHECK(is_part(3, 1000, 500, true));
	T_CHECK(!ptable_overlaps(&t, ptable_find(&t, 3)));
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_set_type(d, 3, 0x83, &e) == 0);
	T_CHECK(bytes[446 + 2 * 16 + 4] == 0x83);
	bytes[446 + 2 * 16 + 4] = 0;
	/* It is the last one. */
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == 0);
	T_CHECK(done.grown != 1);
	disk_close(d, &closing);
	/* The kernel cuts one off that is longer than the disk. */
	mbr_put(&m, 0, 2, 0, 4000, 500);
	T_CHECK(read_it() == 0);
	T_CHECK(is_part(3, 4000, 96, true));
	mbr_put(&m, 0, 2, 0, SECTORS, 500);
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 1);
	T_CHECK(strstr(t.warning, "partition 3 (of type 0") != NULL);
}

/* Inside of an extended partition, beside its logical ones: it gets no type, because the
 * table would be wrong. */
static void
test_in_extended(void)
{
	struct err closing;

	memset(bytes, 0, sizeof bytes);
	mbr_put(&m, 0, 0, 0x05, 100, 2000);
	mbr_put(&m, 0, 1, 0, 1000, 100);
	mbr_put(&m, 100, 0, 0x83, 10, 100);
	T_CHECK(read_it() == 0);
	T_CHECK(is_part(2, 1000, 100, true));
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_set_type(d, 2, 0x83, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(bytes[446 + 16 + 4] == 0);
	disk_close(d, &closing);
}

/* Without any type in it, a sector is the boot sector of a filesystem. */
static void
test_no_types(void)
{
	struct ptable_change done;
	struct err closing;

	memset(bytes, 0, sizeof bytes);
	mbr_put(&m, 0, 1, 0, 1000, 500);
	T_CHECK(!ptable_begins(bytes, SECTORS));
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 0);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == 0);
	T_CHECK(done.grown == 0);
	disk_close(d, &closing);
}

static void
test_logical(void)
{
	memset(bytes, 0, sizeof bytes);
	mbr_put(&m, 0, 0, 0x83, 10, 10);
	mbr_put(&m, 0, 1, 0x05, 100, 2000);
	mbr_put(&m, 100, 0, 0, 10, 100);
	mbr_put(&m, 100, 1, 0x05, 500, 300);
	mbr_put(&m, 600, 0, 0x83, 10, 100);
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 3);
	T_CHECK(is_part(5, 110, 100, true));
	T_CHECK(is_part(6, 610, 100, false));
	T_CHECK(ptable_find(&t, 5)->logical);
	/* One that is nowhere has a number all the same. */
	mbr_put(&m, 100, 0, 0, 10, 1u << 30);
	T_CHECK(read_it() == 0);
	T_CHECK(t.nparts == 2);
	T_CHECK(is_part(6, 610, 100, false));
	T_CHECK(strstr(t.warning, "partition 5 (of type 0") != NULL);
}

int
main(void)
{
	m = mem_of(bytes, sizeof bytes);
	test_isohybrid();
	test_alone();
	test_in_extended();
	test_no_types();
	test_logical();
	ptable_free(&t);
	return t_done();
}
