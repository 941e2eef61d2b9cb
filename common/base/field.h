/* field.h: reads or writes one number of 2, 4 or 8 bytes, little-endian, at a place whose
 * length the caller has checked already.  It serves to change a table in place, where rd.h
 * and wr.h would need a new reader or writer for each field. */
#ifndef COMMON_BASE_FIELD_H
#define COMMON_BASE_FIELD_H

#include <stdint.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

static inline uint16_t
get_le16(const uint8_t *at)
{
	struct rd r = rd_from(at, 2);

	return rd_le16(&r);
}

static inline uint32_t
get_le32(const uint8_t *at)
{
	struct rd r = rd_from(at, 4);

	return rd_le32(&r);
}

static inline uint64_t
get_le64(const uint8_t *at)
{
	struct rd r = rd_from(at, 8);

	return rd_le64(&r);
}

static inline void
put_le16(uint8_t *at, uint16_t v)
{
	struct wr w = wr_to(at, 2);

	wr_le16(&w, v);
}

static inline void
put_le32(uint8_t *at, uint32_t v)
{
	struct wr w = wr_to(at, 4);

	wr_le32(&w, v);
}

static inline void
put_le64(uint8_t *at, uint64_t v)
{
	struct wr w = wr_to(at, 8);

	wr_le64(&w, v);
}

#endif /* COMMON_BASE_FIELD_H */
