/* What a confined child may write into its pipe: frames, taken one after the other as the
 * parent takes them, and what they say of the filesystem.  Whatever it is, nothing of it
 * gets past the sink. */
#include <stdlib.h>

#include "common/base/frame.h"
#include "fsmods/relay.h"
#include "fsmods/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { PART_SECTORS = 100000, RANGES_MAX = 5000 };

static void
check(struct fs_scan *f)
{
	struct rangeset *sets[] = { &f->skip, &f->zero };

	for (int i = 0; i < 2; i++) {
		rangeset_seal(sets[i]);
		size_t n = rangeset_count(sets[i]);
		if (n > RANGES_MAX ||
		    (n > 0 && range_end(rangeset_get(sets[i], n - 1)) > PART_SECTORS))
			abort();
	}
	if (f->fs_end > PART_SECTORS || memchr(f->warning, 0, sizeof f->warning) == NULL)
		abort();
}

/* A frame that was taken is what was written. */
static void
check_frame(const struct frame *f, const uint8_t *from, const uint8_t *to)
{
	static uint8_t again[FRAME_BYTES_MAX];
	struct wr w = wr_to(again, sizeof again);

	frame_put(&w, f->kind, f->payload.base, rd_left(&f->payload));
	if (!wr_ok(&w) || wr_len(&w) != (size_t)(to - from) ||
	    memcmp(again, from, wr_len(&w)) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fs_scan f = { .fs_end = PART_SECTORS };
	struct skip_sink sink = { .scan = &f, .part_sectors = PART_SECTORS };
	struct rd r = rd_from(data, len);
	uint64_t left = RANGES_MAX;
	struct frame frame;
	struct err e;

	rangeset_init(&f.skip);
	rangeset_init(&f.zero);
	for (;;) {
		size_t at = r.off;
		if (frame_get(&r, &frame) != 1)
			break;
		check_frame(&frame, data + at, data + r.off);
		if (relay_hear(&sink, &left, frame.kind, &frame.payload, &e) != 0)
			break;
	}
	check(&f);
	fs_scan_free(&f);
	return 0;
}
