/* Reads ahead: small reads at equal distances, in order, are made for many places at
 * once, and nothing else is.  What is read is right, at the end of the disk, too. */
#include "common/disk/ahead.h"

#include <string.h>

#include "tests/t.h"

enum { EVERY = 1000, SMALL = 40, PLACES = 8, CHUNKS = 20 };
enum { BYTES = CHUNKS * EVERY + SMALL - 1 };

static uint8_t bytes[BYTES];
static unsigned alone, together, parts_last;
static uint64_t bad = UINT64_MAX; /* a byte that cannot be read */
static struct err e;

static int
read_one(void *ctx, void *buf, size_t len, uint64_t off, struct err *why)
{
	(void)ctx;
	alone++;
	if (bad >= off && bad - off < len)
		return err_set(why, ERR_IO, "the server is silent");
	memcpy(buf, bytes + off, len);
	return 0;
}

static int
read_many(void *ctx, const struct disk_part *parts, size_t n, struct err *why)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_one(ctx, parts[i].to, parts[i].bytes, parts[i].at, why);
	alone -= (unsigned)n;
	together++;
	parts_last = (unsigned)n;
	return rc;
}

static struct disk *
far(void)
{
	static const struct disk_ops ops = { .read = read_one, .read_parts = read_many };
	const struct ahead_reads reads = { EVERY, SMALL, PLACES };
	struct disk *below, *d = NULL;

	alone = together = 0;
	T_CHECK(disk_open_ops(&below, "far", DISK_FILE, BYTES, &ops, NULL, &e) == 0);
	T_CHECK(ahead_open(&d, below, &reads, &e) == 0);
	return d;
}

static bool
reads(struct disk *d, uint64_t at, size_t n)
{
	uint8_t got[2 * EVERY];

	return disk_read(d, got, n, at, &e) == 0 && memcmp(got, bytes + at, n) == 0;
}

static void
test_in_order(void)
{
	struct disk *d = far();
	bool right = true;

	for (uint64_t i = 0; i < CHUNKS; i++)
		right &= reads(d, i * EVERY, SMALL);
	T_CHECK(right);
	T_CHECK(alone == 0);
	T_CHECK(together == 3);
	T_CHECK(parts_last == CHUNKS - 2 * PLACES);
	T_CHECK(reads(d, CHUNKS * EVERY, SMALL - 1)); /* less than a place has */
	T_CHECK(alone == 1);
	disk_close(d, &e);
}

static void
test_others(void)
{
	struct disk *d = far();
	uint8_t got[2 * EVERY];
	const struct disk_part two[] = {
		{ 3, 500, got }, { 7 * EVERY, SMALL, got + 500 }
	};

	T_CHECK(reads(d, 5 * EVERY, SMALL));
	T_CHECK(reads(d, 0, SMALL + 1));
	T_CHECK(reads(d, 1, SMALL));
	T_CHECK(together == 0);
	T_CHECK(alone == 3);
	T_CHECK(disk_read_parts(d, two, 2, &e) == 0);
	T_CHECK(memcmp(got, bytes + 3, 500) == 0);
	T_CHECK(memcmp(got + 500, bytes + 7 * EVERY, SMALL) == 0);
	T_CHECK(together == 1);
	T_CHECK(disk_read_parts(d, two, 0, &e) == 0);
	disk_close(d, &e);
}

/* What could not be read ahead is no answer, and is read again. */
static void
test_failure(void)
{
	struct disk *d = far();

	bad = 3 * EVERY;
	T_CHECK(!reads(d, 0, SMALL));
	T_CHECK(e.kind == ERR_IO && strcmp(e.text, "the server is silent") == 0);
	bad = UINT64_MAX;
	T_CHECK(reads(d, 0, SMALL));
	T_CHECK(reads(d, 3 * EVERY, SMALL));
	T_CHECK(together == 2);
	disk_close(d, &e);
}

int
main(void)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	test_in_order();
	test_others();
	test_failure();
	return t_done();
}
