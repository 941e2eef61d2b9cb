/* A pack walked from one end to the other.  A record that the walk gives out is whole,
 * begins where records may begin, and behind those before it. */
#include "emustore/store/walk.h"

#include <stdlib.h>

#include "common/base/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct seen {
	const uint8_t *bytes;
	uint64_t len, end; /* of what was given out */
};

static int
on_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    struct err *e)
{
	struct seen *s = arg;
	struct fragment_head f;

	if (at < s->end || at % RECORD_ALIGN != 0 ||
	    body != s->bytes + at + RECORD_HEAD_BYTES ||
	    s->len - at - RECORD_HEAD_BYTES < h->body_bytes ||
	    crc32c(body, h->body_bytes) != h->body_crc)
		abort();
	(void)fragment_get_head(&f, body, h->body_bytes, e);
	s->end = at + record_whole_bytes(h->body_bytes);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen s = { data, len, 0 };
	struct pack_walk w = { .record = on_record, .arg = &s };
	struct err e;

	if (pack_walk(&w, data, len, &e) != 0)
		abort();
	if (s.end >= len + RECORD_ALIGN)
		abort();
	return 0;
}
