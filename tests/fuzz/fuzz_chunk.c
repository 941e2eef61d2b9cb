/* A chunk's header and extension; small streams are decoded, too. */
#include "common/image/read/imgtable.h"
#include "tests/fuzz/chunk_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The partition table that such a chunk 0 has, and what it leads to. */
static void
find_table(const struct chunk *c, const uint8_t *bytes)
{
	struct imgtable *t;
	uint64_t sector;
	struct err e;

	if (c->raw_bytes > DECODE_MAX || imgtable_new(&t, &e) != 0)
		return;
	if (imgtable_learn(t, 0, c, bytes, &e) == 0) {
		for (unsigned i = 0; i < 8 && imgtable_needs(t, &sector); i++)
			if (imgtable_cannot(t, sector, &e) != 0)
				break;
		if (imgtable_find(t, 1) == NULL)
			imgtable_refuse(t, 1, &e);
	}
	imgtable_free(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *bytes = chunk_input(data, len);
	struct chunk c;
	struct err e;

	chunk_target(bytes);
	if (chunk_parse(&c, bytes, &e) == 0) {
		find_table(&c, bytes);
		chunk_free(&c);
	}
	return 0;
}
