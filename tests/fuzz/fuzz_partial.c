/* A chunk that comes in parts says the same as one that is there as a whole: nothing
 * is looked at that was not asked for, and fragments are those of the whole chunk. */
#include <assert.h>

#include "common/image/read/partial.h"
#include "tests/fuzz/chunk_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static uint8_t part[NDZ_CHUNK_BYTES];

static void
arrive(const uint8_t *from, struct blockmap *here, const struct blockmap *more)
{
	for (uint32_t b = blockmap_next(more, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(more, b + 1))
		memcpy(part + (size_t)b * WIRE_BLOCK_BYTES,
		    from + (size_t)b * WIRE_BLOCK_BYTES, WIRE_BLOCK_BYTES);
	blockmap_add(here, more);
}

/* Every third fragment, from the parts and from all. */
static void
compare_fragments(const struct chunk *c, const uint8_t *bytes, struct blockmap *here)
{
	uint64_t n = chunk_packed_bytes(c);
	struct err e;

	if (n > DECODE_MAX)
		return;
	struct decoder *d = decoder_new();
	bool *same = calloc(c->ext.nfragments, sizeof *same);
	uint8_t *a = calloc(1, n + 1), *b = calloc(1, n + 1);
	if (d == NULL || same == NULL || a == NULL || b == NULL)
		abort();
	for (size_t i = 0; i < c->ext.nfragments; i++)
		same[i] = i % 3 != 0;
	struct blockmap need = partial_differing(c, same);
	arrive(bytes, here, &need);
	int rc = chunk_decode_others(c, part, d, same, a, &e);
	assert(rc == chunk_decode_others(c, bytes, d, same, b, &e));
	assert(rc != 0 || memcmp(a, b, n) == 0);
	/* What can be written is not asked for again, and the parts tell as much as all
	 * does. */
	struct blockmap bad = partial_damaged_others(c, part, same);
	struct blockmap known = partial_damaged_others(c, bytes, same);
	assert(memcmp(&bad, &known, sizeof bad) == 0);
	assert(rc == 0 || !blockmap_empty(&bad));
	free(a);
	free(b);
	free(same);
	decoder_free(d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *bytes = chunk_input(data, len);
	struct blockmap here = { { 0 } }, all = blockmap_range(0, WIRE_CHUNK_BLOCKS),
			need;
	enum partial_step step;
	struct chunk c, whole;
	unsigned steps = 0;

	memset(part, 0xa5, sizeof part);
	while ((step = partial_next(part, &here, &need, &c)) == PARTIAL_MORE) {
		struct blockmap fresh = blockmap_minus(need, &here);
		assert(!blockmap_empty(&fresh) && ++steps <= 3);
		arrive(bytes, &here, &need);
	}
	assert(step == partial_next(bytes, &all, &need, &whole));
	if (step != PARTIAL_TABLE)
		return 0;
	compare_fragments(&c, bytes, &here);
	chunk_free(&c);
	chunk_free(&whole);
	return 0;
}
