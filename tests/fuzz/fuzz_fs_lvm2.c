/* LVM2: see fsmod_target.h.  Labels, headers and texts get their checksums mended
 * first, so that what is behind them is reached. */
#define FSMOD fsmod_lvm2
#define LLVMFuzzerTestOneInput mended_input
#include "tests/fuzz/fsmod_target.h"
#undef LLVMFuzzerTestOneInput
#include <zlib.h>

enum { TEXT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
put_crc(uint8_t *to, const void *p, size_t n)
{
	uint32_t crc = ~(uint32_t)crc32(~UINT32_C(0xf597a6cf), p, (uInt)n);

	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(crc >> 8 * i);
}

static void
mend_header(struct sparse_disk *s, uint64_t at, uint8_t *header)
{
	static uint8_t text[TEXT_MAX];
	struct rd r = rd_from(header + 40, 16);
	uint64_t off = rd_le64(&r), len = rd_le64(&r);

	if (len <= TEXT_MAX && off < UINT32_MAX) {
		ssize_t n = sparse_pread(s, text, len, at + off);
		put_crc(header + 56, text, n > 0 ? (size_t)n : 0);
	}
	put_crc(header, header + 4, 508);
}

static void
mend(struct sparse_disk *s, uint8_t *copy, const uint8_t *data)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint8_t *p = copy + (s->extents[i].data - data);
		for (size_t at = 0; at + 512 <= s->extents[i].len; at += 512) {
			if (memcmp(p + at, "LABELONE", 8) == 0)
				put_crc(p + at + 16, p + at + 20, 492);
			if (memcmp(p + at + 4, " LVM2 x[5A%r0N*>", 16) == 0)
				mend_header(s, s->extents[i].off + at, p + at);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct sparse_disk s;
	struct err e;

	if (copy == NULL)
		abort();
	memcpy(copy, data, len);
	struct disk *d = sparse_open(&s, data, len);
	if (d != NULL) {
		mend(&s, copy, data);
		disk_close(d, &e);
	}
	mended_input(copy, len);
	free(copy);
	return 0;
}
