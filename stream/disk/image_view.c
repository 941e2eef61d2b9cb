/* image_view.c: reads the image of a streaming disk for other machines (image_view.h).  The plugin
 * calls streamed_read_image() in any thread; streamed.c notes writes in any thread, and
 * streamed_open.c makes the view in one.
 *
 * A reader holds the pages while it looks whether they were written and reads them from the disk, so
 * that no write comes in between.  It holds nothing while it waits for the source. */
#include "stream/disk/image_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream/disk/streamed_impl.h"

/* The bytes that are read at a time.  A write to the same pages waits until they are read, so they
 * are few. */
enum { STEP_BYTES = 256 << 10 };

int
image_view_init(struct image_view *v, uint64_t sectors, struct err *e)
{
	*v = (struct image_view){ .pieces = sectors / VIEW_PIECE_SECTORS + 1 };
	v->written = calloc(v->pieces / 8 + 1, sizeof *v->written);
	return v->written != NULL ? 0 : err_nomem(e, "the image for other machines");
}

void
image_view_free(struct image_view *v)
{
	free(v->written);
	*v = (struct image_view){ .written = NULL };
}

void
image_view_written(struct image_view *v, struct range r)
{
	if (r.len == 0)
		return;
	uint64_t last = (range_end(r) - 1) / VIEW_PIECE_SECTORS;
	for (uint64_t i = r.off / VIEW_PIECE_SECTORS; i <= last && i < v->pieces; i++)
		atomic_fetch_or(&v->written[i / 8], (unsigned char)(1 << i % 8));
}

static bool
may_be_written(const struct image_view *v, uint64_t sector)
{
	uint64_t i = sector / VIEW_PIECE_SECTORS;

	return i >= v->pieces || (atomic_load(&v->written[i / 8]) >> i % 8 & 1) != 0;
}

static int
note_present(struct streamed *d, struct range r, struct err *e)
{
	(void)e;
	image_view_written(&d->view, r);
	return 0;
}

int
image_view_goes_on(struct streamed *d, struct err *e)
{
	return streamed_each_present(d, note_present, e);
}

/* The first sectors of r, counted on the disk, that have something of the image there, in one piece;
 * length 0: the first one has not, as the end of an image whose disk is shown as a shorter one. */
static struct range
on_disk(const struct streamed *d, struct range r)
{
	uint64_t end = (r.off / VIEW_PIECE_SECTORS + 1) * VIEW_PIECE_SECTORS;
	size_t i = rangeset_find(&d->stored, r.off);
	struct range none = { r.off, 0 };

	if (i == rangeset_count(&d->stored) || rangeset_get(&d->stored, i).off > r.off)
		return none;
	r = range_clip(rangeset_get(&d->stored, i), r.off, range_end(r));
	return range_clip(r, r.off, end);
}

/* Read bytes of these sectors from the disk, if they are present and were not written locally.  1:
 * it was done; 0: *absent says whether they are absent; -1.  *done: how many bytes of [at, at + n)
 * that is true of. */
static int
read_disk(struct streamed *d, uint8_t *buf, uint64_t n, uint64_t at, struct range r, bool *absent,
    uint64_t *done, struct err *e)
{
	struct hold hold;
	uint64_t sectors = r.len;
	int rc = 0;

	*absent = false;
	hold_take(&d->holds, &hold, at, n);
	bool written = may_be_written(&d->view, r.off);
	if (!written)
		rc = streamed_absent_run(d, r, absent, &sectors, e);
	uint64_t end = (r.off + sectors) * SECTOR_BYTES;
	*done = end - at < n ? end - at : n;
	if (rc == 0 && !written && !*absent)
		rc = below_read(&d->below, buf, *done, at, e) == 0 ? 1 : -1;
	hold_release(&d->holds, &hold);
	return rc;
}

/* What was absent at byte `at` of the disk and has been fetched is put there, too. */
static void
keep(struct streamed *d, const uint8_t *buf, uint64_t n, uint64_t at)
{
	uint64_t from = (at + SECTOR_BYTES - 1) / SECTOR_BYTES, to = (at + n) / SECTOR_BYTES;

	atomic_fetch_add(&d->fetched_bytes, n);
	if (to > from)
		behind_put(d, (struct range){ from, to - from },
		    buf + (from * SECTOR_BYTES - at));
}

/* Where does byte `at` of the image go, of n that are wanted?  Returns the sectors of the disk for the
 * first of them, in one piece; length 0: the disk has none of these.  *n: how many bytes that is true
 * of; *to: the byte of the disk. */
static struct range
place_of(const struct streamed *d, uint64_t at, uint64_t *n, uint64_t *to)
{
	uint64_t from = at / SECTOR_BYTES, first;
	uint64_t end = (at + *n + SECTOR_BYTES - 1) / SECTOR_BYTES;
	uint64_t run = maps_run(&d->maps, (struct range){ from, end - from }, &first);
	uint64_t most = (from + run) * SECTOR_BYTES - at;

	*n = most < *n ? most : *n;
	if (first == MAPS_NOWHERE)
		return (struct range){ 0, 0 };
	*to = first * SECTOR_BYTES + at % SECTOR_BYTES;
	return on_disk(d, (struct range){ first, run });
}

/* Read some of [at, at + n), n > 0, which the image stores.  *done: how many bytes. */
static int
read_some(struct streamed *d, uint8_t *buf, uint64_t n, uint64_t at, uint64_t *done,
    struct err *e)
{
	bool absent = false;
	uint64_t to = 0;
	int rc = 0;

	*done = n < STEP_BYTES ? n : STEP_BYTES;
	struct range r = place_of(d, at, done, &to);
	if (r.len > 0)
		rc = read_disk(d, buf, *done, to, r, &absent, done, e);
	if (rc != 0)
		return rc > 0 ? 0 : -1;
	if (streamed_fetch_image(d, buf, *done, at, e) != 0)
		return -1;
	if (absent)
		keep(d, buf, *done, to);
	return 0;
}

int
streamed_read_image(struct streamed *d, void *to, size_t n, uint64_t at, struct err *e)
{
	uint8_t *buf = to;
	bool stored;

	if (!range_within((struct range){ at, n }, export_bytes(d->source)))
		return err_set(e, ERR_USAGE, "%s: %zu bytes at %" PRIu64 " are behind its end",
		    export_name(d->source), n, at);
	for (uint64_t done; n > 0; buf += done, at += done, n -= done) {
		uint64_t end = export_run(d->source, at, &stored);
		done = end - at < n ? end - at : n;
		if (!stored)
			memset(buf, 0, done);
		else if (read_some(d, buf, done, at, &done, e) != 0)
			return -1;
	}
	return 0;
}
