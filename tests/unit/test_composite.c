/* A disk that is put together out of pieces of others: where each byte comes from, what is
 * written to it, and what a piece cannot give. */
#include "imagezip/shrink/composite.h"

#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { A_SECTORS = 64, B_SECTORS = 32, SHOWN = 100, WRITES = 300 };

static uint8_t a[A_SECTORS * SECTOR_BYTES], b[B_SECTORS * SECTOR_BYTES];
static uint8_t model[SHOWN * SECTOR_BYTES], got[SHOWN * SECTOR_BYTES];
static struct mem ma, mb;
static struct disk *da, *db;
static struct composite *s;
static struct err e;

static void
piece(uint64_t at, uint64_t n, struct disk *from, uint64_t first)
{
	const uint8_t *bytes = from == da ? a : b;

	T_CHECK(composite_add(s, (struct range){ at, n }, from, first, &e) == 0);
	memcpy(model + at * SECTOR_BYTES, bytes + first * SECTOR_BYTES, n * SECTOR_BYTES);
}

/* 3 sectors of a, a gap, 10 of b, 20 of a directly behind them, and zeros. */
static struct disk *
put_together(void)
{
	struct disk *d = NULL;

	memset(model, 0, sizeof model);
	T_CHECK(composite_begin(&s, "small", &e) == 0);
	piece(0, 3, da, 0);
	piece(10, 10, db, 5);
	piece(20, 20, da, 30);
	T_CHECK(composite_add(s, (struct range){ 40, 0 }, da, 0, &e) == 0);
	T_CHECK(composite_open(&d, s, SHOWN, 4096, &e) == 0);
	T_CHECK(disk_size_bytes(d) == sizeof model && disk_sector_bytes(d) == 4096);
	T_CHECK(strcmp(disk_name(d), "small") == 0);
	return d;
}

static bool
same(struct disk *d, uint64_t off, size_t len)
{
	memset(got, 0x55, sizeof got);
	return disk_read(d, got, len, off, &e) == 0 && memcmp(got, model + off, len) == 0;
}

static void
test_reads(struct disk *d)
{
	bool all = true;

	T_CHECK(same(d, 0, sizeof model));
	for (unsigned i = 0; i < WRITES; i++) {
		uint64_t off = draw(sizeof model);
		all &= same(d, off, (size_t)draw(sizeof model - off + 1));
	}
	T_CHECK(all);
	T_CHECK(disk_read(d, got, 2, sizeof model - 1, &e) == -1);
}

/* What is written is seen, in parts of sectors, too, and the pieces stay as they are. */
static void
test_writes(struct disk *d)
{
	static uint8_t was_a[sizeof a], was_b[sizeof b];
	bool all = true;

	memcpy(was_a, a, sizeof a);
	memcpy(was_b, b, sizeof b);
	for (unsigned i = 0; i < WRITES; i++) {
		uint64_t off = draw(sizeof model);
		size_t len = (size_t)draw(1500);
		len = len < sizeof model - off ? len : sizeof model - (size_t)off;
		for (size_t k = 0; k < len; k++)
			model[off + k] = (uint8_t)draw(256);
		all &= disk_write(d, model + off, len, off, &e) == 0;
		all &= same(d, 0, sizeof model);
	}
	T_CHECK(all);
	T_CHECK(memcmp(was_a, a, sizeof a) == 0 && memcmp(was_b, b, sizeof b) == 0);
	T_CHECK(ma.writes == 0 && mb.writes == 0);
}

/* Opened again, shorter: what was written is still there. */
static void
test_shorter(void)
{
	struct disk *d;

	T_CHECK(composite_open(&d, s, 25, 512, &e) == 0);
	T_CHECK(disk_size_bytes(d) == 25 * SECTOR_BYTES && same(d, 0, 25 * SECTOR_BYTES));
	T_CHECK(disk_read(d, got, SECTOR_BYTES, 25 * SECTOR_BYTES, &e) == -1);
	disk_close(d, &e);
}

/* The error of a piece is that of the disk, with the sector that cannot be read. */
static void
test_unreadable(void)
{
	struct disk *d;

	composite_end(s);
	d = put_together();
	mb.bad = 8 * SECTOR_BYTES;
	T_CHECK(disk_read(d, got, 20 * SECTOR_BYTES, 0, &e) == -1 && e.kind == ERR_IO);
	T_CHECK(same(d, 0, 13 * SECTOR_BYTES));
	/* A sector of which a part is written must be read. */
	T_CHECK(disk_write(d, "x", 1, 13 * SECTOR_BYTES, &e) == -1);
	mb.bad = SIZE_MAX;
	T_CHECK(same(d, 0, sizeof model));
	disk_close(d, &e);
}

int
main(void)
{
	draw_seed = 5;
	for (size_t i = 0; i < sizeof a; i++)
		a[i] = (uint8_t)draw(256);
	for (size_t i = 0; i < sizeof b; i++)
		b[i] = (uint8_t)draw(256);
	ma = mem_of(a, sizeof a);
	mb = mem_of(b, sizeof b);
	da = mem_disk(&ma, DISK_FILE, 512);
	db = mem_disk(&mb, DISK_FILE, 512);
	struct disk *d = put_together();
	test_reads(d);
	test_writes(d);
	disk_close(d, &e);
	test_shorter();
	test_unreadable();
	composite_end(s);
	composite_end(NULL);
	disk_close(da, &e);
	disk_close(db, &e);
	return t_done();
}
