/* ext_impl.h: the records of the extension area, for ext.c and ext_fragments.c, which read
 * them, and ext_put.c, which writes them. */
#ifndef COMMON_IMAGE_FORMAT_EXT_IMPL_H
#define COMMON_IMAGE_FORMAT_EXT_IMPL_H

#include "common/base/rd.h"
#include "common/image/format/ext.h"

static const char ext_magic[8] = { 'N', 'D', 'Z', '-', 'E', 'X', 'T', '1' };

enum {
	HEAD_BYTES = EXT_HEAD_BYTES, /* magic, total, CRC-32 */
	RECORD_HEAD_BYTES = 8,       /* type, reserved, length */
	CRC_FROM = HEAD_BYTES,
	ZERO_RUN = 1u << 31,
	ENTRY_LEN_MASK = 0xffffff,
	ENTRY_WINDOWS_SHIFT = 24, /* the number of windows, less one */
	/* Of an entry of REC_SECTORS: no length has more than 20 bits, and no fragment
	 * more than 2048 sectors. */
	SECTORS_LEN_MASK = 0xfffff,
	SECTORS_SHIFT = 20, /* the number of sectors, less one */
	SECTORS_MASK = 0x7ff,
	WINDOW_LOG2 = 16, /* of REC_FRAGMENTS */
	TABLE_WINDOW_SECTORS = FRAGMENT_WINDOW_BYTES / SECTOR_BYTES,
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
	REC_SECTORS = 13, /* fragments by sectors */
	REC_REACH = 14,
	REC_SHARED = 15, /* samples that are not of this chunk alone */
};

/* Records begin at multiples of 8. */
static inline size_t
align8(size_t n)
{
	return (n + 7) / 8 * 8;
}

/* ext_fragments.c: */
/* Read the body of a fragment table of this kind.  A table of a codec or digest that is not
 * known is skipped.  ERR_FORMAT, ERR_NOMEM. */
int ext_get_fragments(struct ext *, const struct ndz_header *, enum ext_table, struct rd *,
    struct err *);
/* Check the table, if there is one, against the header, and fill in each fragment's sectors.
 * ERR_FORMAT. */
int ext_check_fragments(struct ext *, const struct ndz_header *, struct err *);

#endif /* COMMON_IMAGE_FORMAT_EXT_IMPL_H */
