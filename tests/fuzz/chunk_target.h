/* chunk_target.h: what the fuzz targets of chunks have in common. */
#ifndef TESTS_FUZZ_CHUNK_TARGET_H
#define TESTS_FUZZ_CHUNK_TARGET_H

#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"

#include <stdlib.h>
#include <string.h>

enum { DECODE_MAX = 8 << 20 };

static inline void
check_packed(const struct chunk *c, const uint8_t *bytes, struct decoder *dec,
    const uint8_t *data)
{
	struct fragments f = fragments_of(c);
	uint8_t *packed = malloc(chunk_packed_bytes(c) + 1), *p = packed;
	struct err e;

	if (packed == NULL || chunk_decode_packed(c, bytes, dec, packed, &e) != 0)
		abort();
	while (fragments_next(&f)) {
		if (f.entry->zero)
			continue;
		if (memcmp(p, data + f.raw_at, f.raw_bytes) != 0)
			abort();
		p += f.raw_bytes;
	}
	free(packed);
}

/* Inputs are the used part of a chunk; the rest of it is zeros.  A target may change
 * what it gets, up to 16 bytes behind the input. */
static inline uint8_t *
chunk_input(const uint8_t *data, size_t len)
{
	static uint8_t *bytes;
	static size_t dirty;

	if (bytes == NULL && (bytes = calloc(1, NDZ_CHUNK_BYTES)) == NULL)
		abort();
	len = len < NDZ_CHUNK_BYTES ? len : NDZ_CHUNK_BYTES;
	if (len > 0)
		memcpy(bytes, data, len);
	if (dirty > len)
		memset(bytes + len, 0, dirty - len);
	dirty = len + 16 < NDZ_CHUNK_BYTES ? len + 16 : NDZ_CHUNK_BYTES;
	return bytes;
}

/* Decode it every way; they must agree. */
static inline void
chunk_target(const uint8_t *bytes)
{
	struct chunk c;
	struct err e;

	if (chunk_parse(&c, bytes, &e) != 0)
		return;
	struct decoder *dec = decoder_new();
	uint8_t *out = c.raw_bytes <= DECODE_MAX ? malloc(c.raw_bytes) : NULL;
	if (dec != NULL && out != NULL) {
		bool whole = chunk_decode(&c, bytes, dec, out, &e) == 0;
		bool streamed = chunk_pieces(&c, bytes, dec, NULL, NULL, &e) == 0;
		/* libdeflate lets unused incomplete codes pass, zlib does not; both
		 * check the data's Adler-32. */
		if (streamed && !whole)
			abort();
		/* What is proved to the last fragment is the same without its zeros. */
		if (chunk_verify(&c, bytes, dec, &e) == 0 && c.ext.fragments != NULL)
			check_packed(&c, bytes, dec, out);
	}
	free(out);
	decoder_free(dec);
	chunk_free(&c);
}

#endif /* TESTS_FUZZ_CHUNK_TARGET_H */
