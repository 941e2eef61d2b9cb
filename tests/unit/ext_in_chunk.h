/* ext_in_chunk.h: what a chunk says beside its data, written into one and read back. */
#ifndef TESTS_UNIT_EXT_IN_CHUNK_H
#define TESTS_UNIT_EXT_IN_CHUNK_H

#include "common/image/format/ext.h"
#include "tests/t.h"

/* A chunk of a disk of 1200 sectors, of which it stores 300. */
static uint8_t ext_chunk[NDZ_CHUNK_BYTES];
static struct ndz_header ext_header = { .version = 3,
	.size = 100,
	.lastsect = 1200,
	.nregions = 1,
	.regions = { { 0, 300 } } };

/* *back is to be freed with ext_free(). */
static inline void
through_chunk(const struct ext *x, struct ext *back)
{
	struct err e;

	T_CHECK(ext_put(x, &ext_header, ext_chunk, &e) == 0);
	T_CHECK(ext_get(back, &ext_header, ext_chunk, &e) == 0);
	T_CHECK(back->present);
}

#endif /* TESTS_UNIT_EXT_IN_CHUNK_H */
