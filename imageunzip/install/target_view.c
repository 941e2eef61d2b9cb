/* target_view.c: a disk that shows the target as it will be when it is complete.
 * target_finish.c makes one at the end of an installation, when all other threads are gone. */
#include "imageunzip/install/target_view.h"

#include <errno.h>
#include <string.h>

/* Note a failed access; the first one is reported as the reason. */
static int
note(struct target_view *w, const struct err *why)
{
	if (!w->failed)
		w->why = *why;
	w->failed = true;
	errno = why->os != 0 ? why->os : EIO;
	return -1;
}

/* How many of the bytes [off, off + len), from the front, are all in the boot area, or
 * all outside? *in_boot_area: where they are in its memory, or NULL. */
static size_t
stretch(struct target_view *w, uint64_t off, size_t len, uint8_t **in_boot_area)
{
	struct boot_area *h = &w->target->boot_area;
	uint64_t end = h->at + BOOT_AREA_BYTES, stop = off + len;

	*in_boot_area = NULL;
	if (!h->on || off >= end)
		return len;
	if (off >= h->at) {
		*in_boot_area = h->bytes + (off - h->at);
		stop = stop < end ? stop : end;
	} else if (stop > h->at) {
		stop = h->at;
	}
	return (size_t)(stop - off);
}

static ssize_t
view_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct target_view *w = ctx;
	struct err why;
	uint8_t *in_boot_area;
	size_t n = stretch(w, off, len, &in_boot_area);

	if (in_boot_area != NULL) {
		memcpy(buf, in_boot_area, n);
		return (ssize_t)n;
	}
	ssize_t got = disk_read_upto(w->target->disk, buf, n, off, &why);
	return got < 0 ? note(w, &why) : got;
}

static ssize_t
view_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	struct target_view *w = ctx;
	struct err why;
	uint8_t *in_boot_area;
	size_t n = stretch(w, off, len, &in_boot_area);

	if (in_boot_area != NULL)
		memcpy(in_boot_area, buf, n);
	else if (target_fix(w->target, off, buf, n, &why) != 0)
		return note(w, &why);
	return (ssize_t)n;
}

static int
view_sync(void *ctx)
{
	struct target_view *w = ctx;
	struct err why;

	return disk_sync(w->target->disk, &why) == 0 ? 0 : note(w, &why);
}

int
target_view_open(struct target_view *w, struct target *t, struct err *e)
{
	static const struct disk_ops ops = {
		.pread = view_pread, .pwrite = view_pwrite, .sync = view_sync
	};

	*w = (struct target_view){ .target = t };
	return disk_open_view(&w->disk, t->disk, &ops, w, e);
}

int
target_view_close(struct target_view *w, int rc, struct err *e)
{
	struct err none;

	disk_close(w->disk, &none);
	if (rc != 0 && w->failed)
		*e = w->why;
	return rc;
}
