/* A file of marks: any bytes.  A head that is taken fits its file, and comes out as it went in; a
 * slot that is taken is of a frame that the table has. */
#include <assert.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/wr.h"
#include "stream/table/marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { HEADER_BYTES = 512, CHECKED_FROM = 16 };

/* With a right checksum, what is behind it is looked at. */
static void
mend(uint8_t *file)
{
	struct wr w = wr_to(file + 12, 4);

	wr_le32(&w, crc32c(file + CHECKED_FROM, HEADER_BYTES - CHECKED_FROM));
}

static void
use(const struct marks_head *h, const uint8_t *slot, size_t len)
{
	uint8_t again[MARKS_HEAD_BYTES];
	struct marks_head same;
	struct marks_frame f;

	marks_head_put(h, again);
	assert(marks_head_get(&same, again, sizeof again,
		       MARKS_HEAD_BYTES + (uint64_t)h->slots * MARKS_SLOT_BYTES) &&
	       same.sequence == h->sequence && same.frames == h->frames &&
	       same.failed == h->failed && memcmp(same.id, h->id, sizeof h->id) == 0);
	if (marks_slot_get(&f, h, slot, len) > 0)
		assert(len == MARKS_SLOT_BYTES && f.number < h->frames);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t file[MARKS_HEAD_BYTES + MARKS_SLOT_BYTES];
	struct marks_head h;

	len = len < sizeof file ? len : sizeof file;
	if (len > 0)
		memcpy(file, data, len);
	if (len < MARKS_HEAD_BYTES) {
		assert(!marks_head_get(&h, file, len, len));
		return 0;
	}
	mend(file);
	if (marks_head_get(&h, file, len, len) ||
	    marks_head_get(&h, file, len, MARKS_HEAD_BYTES + MARKS_SLOT_BYTES))
		use(&h, file + MARKS_HEAD_BYTES, len - MARKS_HEAD_BYTES);
	return 0;
}
