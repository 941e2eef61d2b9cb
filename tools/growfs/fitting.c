/* fitting.c: fits the partition table to the disk, and puts it back.  main.c calls this,
 * in the program's thread.  Before a place is written, what it had is kept in memory. */
#include "tools/growfs/fitting.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/disk/disk.h"

/* The disk as ptable_fit() sees it. */
struct watched {
	struct disk *disk;
	struct fitting *fitting;
	bool dry;
};

static int
watched_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	return disk_read(((struct watched *)ctx)->disk, buf, len, off, e);
}

static int
keep(struct watched *w, size_t len, uint64_t off, struct err *e)
{
	struct fitting *t = w->fitting;
	uint8_t *bytes = malloc(len);
	struct err ignored;

	if (bytes == NULL ||
	    grow_array(&t->was, &t->cap, t->n, sizeof *t->was, "a table", &ignored) != 0) {
		free(bytes);
		return err_nomem(e, "what the table was");
	}
	t->was[t->n++] = (struct fitting_was){ .at = off, .len = len, .bytes = bytes };
	return disk_read(w->disk, bytes, len, off, e);
}

static int
watched_write(void *ctx, const void *buf, size_t len, uint64_t off, struct err *e)
{
	struct watched *w = ctx;

	if (w->dry)
		return 0;
	return keep(w, len, off, e) == 0 ? disk_write(w->disk, buf, len, off, e) : -1;
}

static int
watched_sync(void *ctx)
{
	const struct watched *w = ctx;
	struct err why;

	if (w->dry || disk_sync(w->disk, &why) == 0)
		return 0;
	errno = EIO;
	return -1;
}

static int
fit(struct watched *w, unsigned sector_bytes, struct err *e)
{
	static const struct disk_ops ops = { .read = watched_read,
		.write = watched_write,
		.sync = watched_sync };
	struct disk *d;
	struct err closing;

	if (disk_open_view(&d, w->disk, &ops, w, e) != 0)
		return -1;
	int rc = ptable_fit(d, sector_bytes, true, &w->fitting->done, e);
	disk_close(d, &closing); /* it has no close of its own */
	return rc;
}

static bool
is_changed(const struct fitting *t)
{
	return t->done.moved || t->done.grown != 0;
}

/* Write back what was there; nothing is left to be put back then. */
static int
put_back(struct fitting *t, struct disk *d, struct err *e)
{
	int rc = 0;

	while (t->n > 0 && rc == 0) {
		struct fitting_was *was = &t->was[--t->n];
		rc = disk_write(d, was->bytes, was->len, was->at, e);
		if (rc == 0)
			rc = disk_sync(d, e);
		free(was->bytes);
	}
	return rc == 0 ? disk_reread_partitions(d, e) : rc;
}

int
fitting_do(struct fitting *t, const char *disk, unsigned sector_bytes, bool dry,
    struct err *e)
{
	struct watched w = { .fitting = t, .dry = dry };
	struct err closing, undoing;

	if (disk_open(&w.disk, disk, dry ? DISK_READ : DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	int rc = fit(&w, sector_bytes, e);
	if (rc == 0 && !dry && is_changed(t))
		rc = disk_sync(w.disk, e) == 0 ? disk_reread_partitions(w.disk, e) : -1;
	if (rc != 0)
		put_back(t, w.disk, &undoing);
	if (disk_close(w.disk, rc == 0 ? e : &closing) != 0)
		rc = -1;
	return rc;
}

int
fitting_undo(struct fitting *t, const char *disk, struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, disk, DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	int rc = put_back(t, d, e);
	if (disk_close(d, rc == 0 ? e : &closing) != 0)
		rc = -1;
	return rc;
}

void
fitting_free(struct fitting *t)
{
	while (t->n > 0)
		free(t->was[--t->n].bytes);
	free(t->was);
	*t = (struct fitting){ .n = 0 };
}
