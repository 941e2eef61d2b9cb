/* frame.h: messages from one process to another through a pipe.  A frame is a kind (1
 * byte), the length of the payload (le32), and the payload.  The reader trusts none of it:
 * confined.c reads one frame after the other, and passes its payload as a bounded reader to
 * the code that knows the kind. */
#ifndef COMMON_BASE_FRAME_H
#define COMMON_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum {
	FRAME_HEAD_BYTES = 5,
	FRAME_PAYLOAD_MAX = 16 << 10, /* a quarter of what a pipe holds */
	FRAME_BYTES_MAX = FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX,
};

struct frame {
	uint8_t kind;
	struct rd payload;
};

/* Write one frame.  A payload over FRAME_PAYLOAD_MAX makes the writer fail. */
static inline void
frame_put(struct wr *w, uint8_t kind, const void *payload, size_t len)
{
	wr_u8(w, kind);
	wr_le32(w, (uint32_t)len);
	wr_bytes(w, payload, len);
	w->failed = w->failed || len > FRAME_PAYLOAD_MAX;
}

/* Take one frame out of r.  Returns 1; 0 when the frame is not complete yet, and r is
 * unchanged; -1 when its length is above FRAME_PAYLOAD_MAX. */
static inline int
frame_get(struct rd *r, struct frame *f)
{
	struct rd all = *r;

	f->kind = rd_u8(&all);
	uint32_t len = rd_le32(&all);
	if (rd_ok(&all) && len > FRAME_PAYLOAD_MAX)
		return -1;
	f->payload = rd_sub(&all, len);
	if (!rd_ok(&all))
		return 0;
	*r = all;
	return 1;
}

#endif /* COMMON_BASE_FRAME_H */
