/* The tail of a disk, behind its last partition: the last 16 MiB are looked at, to the
 * sector, and no more. */
#include "imagezip/capture/tail.h"

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum {
	TOTAL = (40 << 20) / SECTOR_BYTES,
	LOOKED_AT = TOTAL - (16 << 20) / SECTOR_BYTES, /* and what is behind it */
	PART_END = (8 << 20) / SECTOR_BYTES,
};

/* Is the block of this sector kept, when nothing else behind the partition is not zero? */
static bool
is_kept(uint64_t sector)
{
	struct mem m = mem_of(calloc(TOTAL, SECTOR_BYTES), (size_t)TOTAL * SECTOR_BYTES);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct ptable table = { .kind = PTABLE_MBR,
		.sector_bytes = 512,
		.nparts = 1,
		.parts = { { .number = 1, .sectors = { 2048, PART_END - 2048 } } } };
	struct tail_search s = {
		.table = &table, .own = &table.own, .total = TOTAL, .keep = true
	};
	struct outside o;
	struct rangeset skip;
	struct err e;

	m.b[sector * SECTOR_BYTES] = 1;
	rangeset_init(&table.own);
	rangeset_init(&skip);
	T_CHECK(rangeset_add(
		    &skip, (struct range){ PART_END, TOTAL - PART_END }, &e) == 0);
	rangeset_seal(&skip);
	T_CHECK(tail_find(&o, d, &s, &skip, &e) == 0);
	T_CHECK(o.not_looked_at == LOOKED_AT - PART_END);
	bool kept = !rangeset_contains(&skip, sector);
	T_CHECK(rangeset_total(&skip) == TOTAL - PART_END - (kept ? 8 : 0));
	rangeset_free(&skip);
	disk_close(d, &e);
	free(m.b);
	return kept;
}

int
main(void)
{
	T_CHECK(is_kept(TOTAL - 1));
	T_CHECK(is_kept(LOOKED_AT));
	T_CHECK(!is_kept(LOOKED_AT - 1));
	return t_done();
}
