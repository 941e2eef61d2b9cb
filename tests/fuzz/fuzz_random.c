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

/* What can be read of the image in order: the ranges of sectors, and their data. */
struct known {
	size_t n;
	struct range range[NDZ_REGIONS_MAX];
	uint8_t *right[NDZ_REGIONS_MAX];
};

/* Takes the image over. */
static void
compare_all(struct sectors *s, uint64_t cache_bytes, const struct known *k)
{
	struct random *r;
	struct err e;

	if (s == NULL || random_open(&r, s, cache_bytes, &e) != 0)
		abort();
	for (size_t i = 0; i < k->n; i++)
		compare(r, k->range[i], k->right[i]);
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

static void
learn(struct known *k, struct sectors *s)
{
	const struct rangeset *stored = sectors_stored(s);

	k->n = 0;
	if (rangeset_total(stored) > DECODE_MAX / SECTOR_BYTES)
		return;
	for (size_t i = 0; i < rangeset_count(stored); i++) {
		k->range[k->n] = rangeset_get(stored, i);
		k->right[k->n] = read_in_order(s, k->range[k->n]);
		k->n += k->right[k->n] != NULL;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct known k;
	uint8_t *bytes = chunk_input(data, len);
	struct sectors *s = open_chunk(bytes);

	if (s == NULL)
		return 0;
	learn(&k, s);
	/* To open an image takes most of the time: where nothing is known, it would be
	 * for nothing. */
	if (k.n == 0) {
		sectors_close(s);
		return 0;
	}
	compare_all(s, 4 << 20, &k);
	compare_all(open_chunk(bytes), 0, &k);
	for (size_t i = 0; i < k.n; i++)
		free(k.right[i]);
	return 0;
}
