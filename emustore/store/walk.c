/* walk.c: walks over the records of a pack.  Behind damage the next record is looked for
 * at multiples of RECORD_ALIGN; where only a body is damaged, the walk goes on behind this
 * body.  Called by repair.c, in its thread. */
#include "emustore/store/walk.h"

#include "common/base/crc32c.h"

/* 1: there is an undamaged record; 2: only its head is good; 0: there is none. */
static int
look(const uint8_t *p, uint64_t left, struct record_head *h)
{
	if (left < RECORD_HEAD_BYTES || !record_get_head(h, p, RECORD_HEAD_BYTES) ||
	    h->body_bytes > left - RECORD_HEAD_BYTES)
		return 0;
	return crc32c(p + RECORD_HEAD_BYTES, h->body_bytes) == h->body_crc ? 1 : 2;
}

int
pack_walk(const struct pack_walk *w, const uint8_t *bytes, uint64_t len, struct err *e)
{
	struct record_head h;
	uint64_t at = 0;
	int rc = 0;

	while (at < len && rc == 0) {
		int is = look(bytes + at, len - at, &h);
		if (is != 1) {
			at += is == 0 ? RECORD_ALIGN : record_whole_bytes(h.body_bytes);
			continue;
		}
		rc = w->record(w->arg, at, &h, bytes + at + RECORD_HEAD_BYTES, e);
		at += record_whole_bytes(h.body_bytes);
	}
	return rc;
}
