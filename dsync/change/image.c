/* image.c: the source of change "image": the device is compared with an image, in blocks of
 * 4 KiB.  What the image does not store counts as changed.  The extract calls this, in its
 * first thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/read/sectors.h"
#include "dsync/change/change.h"
#include "dsync/read/uncached.h"

enum { PIECE_BYTES = 1 << 20, /* bytes read at a time */ BLOCK_BYTES = 4096 };

struct image_source {
	const struct change_job *job; /* borrowed */
	struct sectors *image;
	struct uncached *reader;
	struct uncached_buf *buf;
	uint8_t piece[PIECE_BYTES];
};

static void
image_close(void *self)
{
	struct image_source *s = self;

	sectors_close(s->image);
	uncached_buf_free(s->buf);
	uncached_free(s->reader);
	free(s);
}

static int
prepare(struct image_source *s, struct change_about *about, struct err *e)
{
	struct ext_state state;

	if (s->job->args[0] == '\0')
		return err_set(e, ERR_USAGE, "--since=image: the image is missing");
	if (sectors_open(&s->image, s->job->args, e) != 0 ||
	    sectors_state(s->image, &state, e) != 0 ||
	    uncached_new(&s->reader, s->job->disk, e) != 0)
		return -1;
	s->buf = uncached_buf_new(PIECE_BYTES);
	if (s->buf == NULL)
		return err_nomem(e, "an image");
	memcpy(&about->base, state.id, sizeof about->base);
	about->block_bytes = BLOCK_BYTES;
	about->compares = true;
	return 0;
}

static int
image_open(void **self, const struct change_job *job, struct change_about *about,
    struct err *e)
{
	struct image_source *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "an image");
	s->job = job;
	if (prepare(s, about, e) == 0) {
		*self = s;
		return 0;
	}
	image_close(s);
	return -1;
}

/* Report the blocks of this piece that are the same.  Blocks begin at multiples of BLOCK_BYTES
 * of the device, so the first and the last of a piece may be short. */
static int
compare(const struct image_source *s, uint64_t at, const uint8_t *data, size_t bytes,
    struct same_sink *sink, struct err *e)
{
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < bytes; i += n) {
		n = BLOCK_BYTES - (size_t)((at + i) % BLOCK_BYTES);
		if (n > bytes - i)
			n = bytes - i;
		if (memcmp(s->piece + i, data + i, n) == 0)
			rc = same_sink_add(sink, (struct range){ at + i, n }, e);
	}
	return rc;
}

/* Compare a range that the image stores and that lies on the device. */
static int
compare_range(
    struct image_source *s, struct range sectors, struct same_sink *sink, struct err *e)
{
	int rc = 0;

	for (uint64_t n; rc == 0 && sectors.len > 0; sectors.off += n, sectors.len -= n) {
		uint8_t *data;
		n = sectors.len < PIECE_BYTES / SECTOR_BYTES ? sectors.len
		                                             : PIECE_BYTES / SECTOR_BYTES;
		size_t bytes = (size_t)n * SECTOR_BYTES;
		uint64_t at = sectors.off * SECTOR_BYTES;
		rc = cancel_check(e);
		if (rc == 0)
			rc = sectors_read(
			    s->image, (struct range){ sectors.off, n }, s->piece, e);
		if (rc == 0)
			rc = uncached_read(s->reader, s->buf, at, bytes, &data, e);
		if (rc == 0)
			rc = compare(s, at, data, bytes, sink, e);
	}
	return rc;
}

static int
image_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct image_source *s = self;
	const struct rangeset *stored = sectors_stored(s->image);
	uint64_t sectors = s->job->device_bytes / SECTOR_BYTES;
	int rc = 0;

	(void)base;
	for (size_t i = 0; rc == 0 && i < rangeset_count(stored); i++)
		rc = compare_range(s, range_clip(rangeset_get(stored, i), 0, sectors), sink, e);
	return rc == 0 ? sectors_done(s->image, e) : rc;
}

const struct change_kind change_image = {
	.name = "image",
	.args = "FILE",
	.about = "compare with an image",
	.open = image_open,
	.same = image_same,
	.close = image_close,
};
