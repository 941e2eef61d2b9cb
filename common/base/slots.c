/* slots.c: heads and checksums of slots (slots.h).  The state of an installation, the journal of
 * a merge and the headers of a sector table are such, in the thread of whoever has them. */
#include "common/base/slots.h"

#include <string.h>

enum { CRC_AT = 12, CRC_FROM = 16 };

void
slot_put(const struct slots *k, uint8_t *slot, size_t len, struct wr *body, uint64_t sequence)
{
	struct wr w = wr_to(slot, SLOT_HEAD_BYTES), crc = wr_to(slot + CRC_AT, 4);

	wr_zero(body, len - SLOT_HEAD_BYTES - wr_len(body));
	wr_bytes(&w, k->magic, sizeof k->magic);
	wr_le32(&w, k->version);
	wr_le32(&w, 0);
	wr_le64(&w, sequence);
	wr_le32(&crc, k->checksum(slot + CRC_FROM, len - CRC_FROM));
}

bool
slot_get(const struct slots *k, const uint8_t *slot, size_t len, uint64_t *sequence,
    struct rd *body)
{
	struct rd r = rd_from(slot, len);
	const void *magic = rd_bytes(&r, sizeof k->magic);
	uint32_t version = rd_le32(&r), crc = rd_le32(&r);

	*sequence = rd_le64(&r);
	*body = r;
	return rd_ok(&r) && memcmp(magic, k->magic, sizeof k->magic) == 0 &&
	       version == k->version && *sequence != 0 &&
	       crc == k->checksum(slot + CRC_FROM, len - CRC_FROM);
}
