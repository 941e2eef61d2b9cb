/* zstd chunks behind checksums that are always right: the extension area's, and the
 * chunk's digest is not asked for.  Damaged frames reach the decoder. */
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "tests/fuzz/chunk_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
right_crc(uint8_t *bytes)
{
	struct rd r = rd_from(bytes + 4, 4);
	size_t at = (NDZ_HEADER_BYTES + (size_t)rd_le32(&r) + 7) / 8 * 8;

	if (at + 16 > NDZ_CHUNK_BYTES)
		return;
	r = rd_from(bytes + at + 8, 4);
	uint32_t total = rd_le32(&r);
	if (total < 16 || total > NDZ_CHUNK_BYTES - at)
		return;
	struct wr w = wr_to(bytes + at + 12, 4);
	wr_le32(&w, (uint32_t)crc32(0, bytes + at + 16, total - 16));
}

/* Each fragment alone, whatever the others are. */
static void
decode_each(const uint8_t *bytes)
{
	static uint8_t out[CODEC_WINDOWS_MAX * FRAGMENT_WINDOW_BYTES];
	struct decoder *d = decoder_new();
	struct chunk c;
	struct err e;

	if (d != NULL && chunk_parse(&c, bytes, &e) == 0) {
		struct fragments f = fragments_of(&c);
		while (fragments_next(&f))
			if (!f.entry->zero && f.raw_bytes <= sizeof out)
				decoder_fragment(d, c.codec,
				    bytes + NDZ_HEADER_BYTES + f.stream_at,
				    f.entry->bytes, out, f.raw_bytes, &e);
		chunk_free(&c);
	}
	decoder_free(d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *bytes = chunk_input(data, len);

	if (len >= NDZ_HEADER_BYTES)
		right_crc(bytes);
	decode_each(bytes);
	chunk_target(bytes);
	return 0;
}
