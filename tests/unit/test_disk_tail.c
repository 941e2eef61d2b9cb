/* The tail of a disk, behind its last partition: the last 16 MiB are looked at, to the
 * sector, and no more. */
#include "common/layout/disk_tail.h"

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum {
	TOTAL = (40 << 20) / SECTOR_BYTES,
	LOOKED_AT = TOTAL - (16 << 20) / SECTOR_BYTES, /* and what is behind it */
	PART_END = (8 << 20) / SECTOR_BYTES,
};

/* Search a disk of which these bytes are not zero: one of a sector of each in v[n]; and
 * what is skipped then. */
static void
search(const uint64_t *v, size_t n, struct rangeset *skip, struct outside *o)
{
	struct mem m = mem_of(calloc(TOTAL, SECTOR_BYTES), (size_t)TOTAL * SECTOR_BYTES);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct rangeset own;
	struct disk_tail_search s = {
		.floor = PART_END, .own = &own, .total = TOTAL, .keep = true
	};
	struct err e;

	for (size_t i = 0; i < n; i++)
		m.b[v[i] * SECTOR_BYTES] = 1;
	memset(o, 0, sizeof *o);
	rangeset_init(&own);
	rangeset_init(skip);
	T_CHECK(rangeset_add(
		    skip, (struct range){ PART_END, TOTAL - PART_END }, &e) == 0);
	rangeset_seal(skip);
	T_CHECK(disk_tail_find(o, d, &s, skip, &e) == 0);
	T_CHECK(o->not_looked_at == LOOKED_AT - PART_END);
	disk_close(d, &e);
	free(m.b);
}

/* Is the block of this sector kept, when nothing else behind the partition is not zero?
 * All that lies behind it is kept, too. */
static bool
is_kept(uint64_t sector)
{
	struct outside o;
	struct rangeset skip;

	search(&sector, 1, &skip, &o);
	bool kept = !rangeset_contains(&skip, sector);
	T_CHECK(rangeset_total(&skip) ==
		(kept ? sector / 8 * 8 - PART_END : TOTAL - PART_END));
	rangeset_free(&skip);
	return kept;
}

/* Zeros in front of what is not zero are left out, and zeros behind it are kept. */
static void
test_zeros_behind(void)
{
	static const uint64_t v[] = { TOTAL - 4096, TOTAL - 100 };
	struct outside o;
	struct rangeset skip;

	search(v, 2, &skip, &o);
	T_CHECK(rangeset_contains(&skip, TOTAL - 4097));
	T_CHECK(rangeset_total(&skip) == TOTAL - 4096 - PART_END);
	rangeset_free(&skip);
	search(v, 0, &skip, &o);
	T_CHECK(rangeset_total(&skip) == TOTAL - PART_END);
	rangeset_free(&skip);
}

int
main(void)
{
	T_CHECK(is_kept(TOTAL - 1));
	T_CHECK(is_kept(LOOKED_AT));
	T_CHECK(!is_kept(LOOKED_AT - 1));
	test_zeros_behind();
	return t_done();
}
