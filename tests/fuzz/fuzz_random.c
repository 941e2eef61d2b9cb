/* An image of one chunk that is read anywhere, with a cache that has room and with one that has
 * none: nothing but what reading in order gives out, too. */
#include <assert.h>

#include "common/image/read/random.h"
#include "common/image/read/sectors.h"
#include "tests/fuzz/chunk_target.h"
#include "tests/unit/memdisk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* NULL: it is no image. */
static struct sectors *
open_chunk(uint8_t *bytes)
{
	static struct mem m;
	struct sectors *s;
	struct disk *d;
	struct err e;

	m = mem_of(bytes, NDZ_CHUNK_BYTES);
	d = mem_open(&m, "fuzz", DISK_FILE);
	return sectors_open_disk(&s, d, NULL, &e) == 0 ? s : NULL;
}

/* The whole range, and each 100th sector of it, from the last one on. */
static void
compare(struct random *r, struct range range, const uint8_t *right)
{
	uint8_t *got = malloc(range.len * SECTOR_BYTES);
	struct err e;

	if (got == NULL)
		abort();
	if (random_read(r, range, got, &e) == 0)
		assert(memcmp(got, right, range.len * SECTOR_BYTES) == 0);
	for (uint64_t at = range.len; at > 0; at -= at < 100 ? at : 100) {
		struct range one = { range.off + at - 1, 1 };
		if (random_read(r, one, got, &e) == 0)
			assert(memcmp(got, right + (at - 1) * SECTOR_BYTES,
				   SECTOR_BYTES) == 0);
	}
	free(got);
}

static void
compare_all(uint8_t *bytes, uint64_t cache_bytes, uint8_t *const *right)
{
	struct sectors *s = open_chunk(bytes);
	const struct rangeset *stored = sectors_stored(s);
	struct random *r;
	struct err e;

	if (random_open(&r, s, cache_bytes, &e) != 0)
		abort();
	for (size_t i = 0; i < rangeset_count(stored); i++)
		if (right[i] != NULL)
			compare(r, rangeset_get(stored, i), right[i]);
	assert(random_stats(r).kept <= cache_bytes);
	random_close(r);
}

/* Data that is right, for all we know; else NULL. */
static uint8_t *
read_in_order(struct sectors *s, struct range r)
{
	uint8_t *data = malloc(r.len * SECTOR_BYTES);
	struct err e;

	if (data == NULL)
		abort();
	if (sectors_read(s, r, data, &e) == 0 && sectors_done(s, &e) == 0)
		return data;
	free(data);
	return NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *bytes = chunk_input(data, len), *right[NDZ_REGIONS_MAX];
	struct sectors *s = open_chunk(bytes);
	size_t n = s != NULL ? rangeset_count(sectors_stored(s)) : 0;

	if (n > 0 && rangeset_total(sectors_stored(s)) <= DECODE_MAX / SECTOR_BYTES) {
		for (size_t i = 0; i < n; i++)
			right[i] = read_in_order(s, rangeset_get(sectors_stored(s), i));
		compare_all(bytes, 4 << 20, right);
		compare_all(bytes, 0, right);
		for (size_t i = 0; i < n; i++)
			free(right[i]);
	}
	sectors_close(s);
	return 0;
}
