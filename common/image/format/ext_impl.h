/* ext_impl.h: the records of the extension area, for ext.c, which reads them, and
 * ext_put.c, which writes them. */
#ifndef COMMON_IMAGE_FORMAT_EXT_IMPL_H
#define COMMON_IMAGE_FORMAT_EXT_IMPL_H

#include "common/image/format/ext.h"

static const char ext_magic[8] = { 'N', 'D', 'Z', '-', 'E', 'X', 'T', '1' };

enum {
	HEAD_BYTES = EXT_HEAD_BYTES, /* magic, total, CRC-32 */
	RECORD_HEAD_BYTES = 8,       /* type, reserved, length */
	CRC_FROM = HEAD_BYTES,
	ZERO_RUN = 1u << 31,
	ENTRY_LEN_MASK = 0xffffff,
	ENTRY_WINDOWS_SHIFT = 24, /* the number of windows, less one */
	DIGEST_SHA256 = 1,
	FRAGMENT_HEAD_BYTES = 8,
	FREED_ENTRY_BYTES = 16,
	SIGNATURE_ED25519 = 1,
};

/* The number of a type is never used again for anything else. */
enum record_type {
	REC_UUID = 1,
	REC_DIGEST = 2,
	REC_FRAGMENTS = 3,
	REC_LAST = 4,
	REC_IMAGE = 5,
	REC_SIGNATURE = 6,
	REC_STATE = 7,
	REC_FREED = 8,
	REC_LOST = 9,
	REC_HEADER = 10,
	REC_SAMPLES = 11,
	REC_TAIL = 12,
};

/* Records begin at multiples of 8. */
static inline size_t
align8(size_t n)
{
	return (n + 7) / 8 * 8;
}

#endif /* COMMON_IMAGE_FORMAT_EXT_IMPL_H */
