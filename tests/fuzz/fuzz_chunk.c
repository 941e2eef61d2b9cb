/* A chunk's header and extension; small streams are decoded, too. */
#include "common/ndz/chunk.h"
#include "common/ndz/fragments.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { DECODE_MAX = 8 << 20 };

static void
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

/* Inputs are the used part of a chunk; the rest of it is zeros. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t *bytes;
	static size_t dirty;
	struct chunk c;
	struct err e;

	if (bytes == NULL && (bytes = calloc(1, NDZ_CHUNK_BYTES)) == NULL)
		abort();
	len = len < NDZ_CHUNK_BYTES ? len : NDZ_CHUNK_BYTES;
	if (len > 0)
		memcpy(bytes, data, len);
	if (dirty > len)
		memset(bytes + len, 0, dirty - len);
	dirty = len;
	if (chunk_parse(&c, bytes, &e) != 0)
		return 0;
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
	return 0;
}
