/* disk.c: what holds for every back end of a disk: whole transfers, positions of streams,
 * errors that say where.  Everything that reads or writes a disk, a file or a pipe calls
 * this, in any thread. */
#include "common/disk/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/disk_impl.h"

enum { ZEROS_BYTES = 256 << 10, DIRECT_ALIGN = 4096 };

/* Not const, so as to take no space in the program; aligned for disks that are written past the
 * page cache. */
static _Alignas(4096) uint8_t zeros[ZEROS_BYTES];

int
disk_open_ops(struct disk **out, const char *name, enum disk_kind kind,
    uint64_t size_bytes, const struct disk_ops *ops, void *ctx, struct err *e)
{
	struct disk *d = calloc(1, sizeof *d);
	char *copy = strdup(name);

	*out = NULL;
	if (d == NULL || copy == NULL) {
		free(d);
		free(copy);
		return err_nomem(e, name);
	}
	d->name = copy;
	d->kind = kind;
	d->sector_bytes = SECTOR_BYTES;
	d->fd = -1;
	atomic_init(&d->size, size_bytes);
	d->ops = *ops;
	d->ctx = ctx;
	*out = d;
	return 0;
}

int
disk_open_view(struct disk **out, const struct disk *of, const struct disk_ops *ops,
    void *ctx, struct err *e)
{
	if (disk_open_ops(out, of->name, of->kind, disk_size_bytes(of), ops, ctx, e) != 0)
		return -1;
	(*out)->sector_bytes = of->sector_bytes;
	return 0;
}

void
disk_set_sector_bytes(struct disk *d, unsigned bytes)
{
	d->sector_bytes = bytes;
}

int
disk_close(struct disk *d, struct err *e)
{
	int rc = 0;

	if (d == NULL)
		return 0;
	if (d->ops.close != NULL && d->ops.close(d->ctx) != 0)
		rc = err_os(e, "%s: closing", d->name);
	free(d->name);
	free(d);
	return rc;
}

void
disk_call_data(struct disk *d, const char *name)
{
	char *copy = strcmp(name, "-") == 0 ? NULL : strdup(name);

	d->is_data = true;
	if (copy == NULL)
		return;
	free(d->name);
	d->name = copy;
}

const char *
disk_name(const struct disk *d)
{
	return d->name;
}

enum disk_kind
disk_kind(const struct disk *d)
{
	return d->kind;
}

bool
disk_seekable(const struct disk *d)
{
	return d->kind == DISK_FILE || d->kind == DISK_BLOCK;
}

uint64_t
disk_size_bytes(const struct disk *d)
{
	return atomic_load(&d->size);
}

unsigned
disk_sector_bytes(const struct disk *d)
{
	return d->sector_bytes;
}

int
disk_fd(const struct disk *d)
{
	return d->fd;
}

bool
disk_unseen(const struct disk *d)
{
	return d->unseen;
}

bool
disk_child_reads(const struct disk *d)
{
	return !d->ops.one_process;
}

const uint8_t *
disk_digest(const struct disk *d)
{
	return d->ops.digest != NULL ? d->ops.digest(d->ctx) : NULL;
}

void
disk_want(struct disk *d, uint64_t off, uint64_t len)
{
	if (d->ops.want != NULL)
		d->ops.want(d->ctx, off, len);
}

void
disk_holes(const struct disk *d, uint64_t off, uint64_t *data, uint64_t *hole)
{
	*data = off;
	*hole = disk_size_bytes(d);
	if (d->ops.holes != NULL && off < *hole)
		d->ops.holes(d->ctx, off, data, hole);
}

/* The position of a byte on the disk, in words. */
struct where {
	char text[40];
};

static struct where
where(const struct disk *d, uint64_t off)
{
	struct where w;

	if (disk_seekable(d) && !d->is_data)
		snprintf(w.text, sizeof w.text, "sector %" PRIu64, off / SECTOR_BYTES);
	else
		snprintf(w.text, sizeof w.text, "byte %" PRIu64, off);
	return w;
}

/* A stream can only be read or written where the last transfer ended. */
static int
check_position(const struct disk *d, uint64_t at, uint64_t off, struct err *e)
{
	if (d->kind != DISK_STREAM || at == off)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: is at byte %" PRIu64 " and cannot be positioned to byte %" PRIu64,
	    d->name, at, off);
}

/* A signal came during a call that failed.  Is the call to be repeated?  What a pipe waits
 * for may never come, so a run that was told to end does not go on there. */
static bool
goes_on(const struct disk *d)
{
	return errno == EINTR && (d->kind != DISK_STREAM || cancel_signal() == 0);
}

/* Say why a call failed. */
static int
fail_os(const struct disk *d, const char *doing, uint64_t off, struct err *e)
{
	return err_os(e, "%s: %s %s", d->name, doing, where(d, off).text);
}

static ssize_t
read_some(struct disk *d, void *buf, size_t len, uint64_t off)
{
	ssize_t n;

	do {
		errno = ENOTSUP;
		n = d->ops.pread != NULL ? d->ops.pread(d->ctx, buf, len, off) : -1;
	} while (n < 0 && goes_on(d));
	assert(n < 0 || (size_t)n <= len);
	return n;
}

/* The result of a back end that has errors of its own.  When it has succeeded, `why` may
 * still be of something that it did in another way then. */
static int
outcome(int rc, const struct err *why, struct err *e)
{
	if (rc != 0)
		*e = *why;
	return rc;
}

/* Read from a back end that reads all or nothing: up to the end of the disk. */
static ssize_t
read_all(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	uint64_t size = disk_size_bytes(d), left = off < size ? size - off : 0;
	struct err why;

	len = len < left ? len : (size_t)left;
	if (len > 0 && outcome(d->ops.read(d->ctx, buf, len, off, &why), &why, e) != 0)
		return -1;
	return (ssize_t)len;
}

ssize_t
disk_read_upto(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	size_t done = 0;

	if (check_position(d, d->read_at, off, e) != 0)
		return -1;
	/* No file has bytes where off_t cannot point to. */
	if (off > INT64_MAX)
		return 0;
	if (len > INT64_MAX - off)
		len = (size_t)(INT64_MAX - off);
	if (d->ops.read != NULL)
		return read_all(d, buf, len, off, e);
	while (done < len) {
		ssize_t n = read_some(d, (uint8_t *)buf + done, len - done, off + done);
		if (n < 0)
			return fail_os(d, "reading", off + done, e);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	if (d->kind == DISK_STREAM)
		d->read_at = off + done;
	return (ssize_t)done;
}

/* n bytes were read, or n is -1: were it all? */
static int
all_of(const struct disk *d, ssize_t n, size_t len, uint64_t off, struct err *e)
{
	if (n < 0)
		return -1;
	if ((size_t)n < len)
		return err_set(e, ERR_FORMAT, "%s: ends at %s, too early", d->name,
		    where(d, off + (size_t)n).text);
	return 0;
}

int
disk_read(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	return all_of(d, disk_read_upto(d, buf, len, off, e), len, off, e);
}

int
disk_read_parts(struct disk *d, const struct disk_part *parts, size_t n, struct err *e)
{
	struct err why;

	if (d->ops.read_parts != NULL && n > 0)
		return outcome(d->ops.read_parts(d->ctx, parts, n, &why), &why, e);
	for (size_t i = 0; i < n; i++)
		if (disk_read(d, parts[i].to, parts[i].bytes, parts[i].at, e) != 0)
			return -1;
	return 0;
}

/* Read bytes that lie in one unit. */
static int
read_in_unit(
    const struct disk_units *u, void *buf, size_t len, uint64_t off, struct err *e)
{
	size_t in = off % u->bytes;
	uint8_t *all = malloc(u->bytes);
	int rc = all != NULL ? u->read(u->ctx, all, u->bytes, off - in, e)
	                     : err_nomem(e, "a sector");

	if (rc == 0)
		memcpy(buf, all + in, len);
	free(all);
	return rc;
}

int
disk_read_units(
    const struct disk_units *u, void *buf, size_t len, uint64_t off, struct err *e)
{
	uint8_t *to = buf;
	int rc = 0;

	for (size_t n; rc == 0 && len > 0; to += n, off += n, len -= n) {
		size_t in = off % u->bytes, left = u->bytes - in;
		n = in == 0 ? len - len % u->bytes : 0;
		if (n > 0) {
			rc = u->read(u->ctx, to, n, off, e);
			continue;
		}
		n = left < len ? left : len;
		rc = read_in_unit(u, to, n, off, e);
	}
	return rc;
}

static ssize_t
write_some(struct disk *d, const void *buf, size_t len, uint64_t off)
{
	ssize_t n;

	do {
		errno = ENOTSUP;
		n = d->ops.pwrite != NULL ? d->ops.pwrite(d->ctx, buf, len, off) : -1;
	} while (n < 0 && goes_on(d));
	assert(n < 0 || (size_t)n <= len);
	if (n == 0) {
		errno = EIO;
		return -1;
	}
	return n;
}

/* Can [off, off+len) be written at all? */
static int
check_room(const struct disk *d, uint64_t len, uint64_t off, struct err *e)
{
	uint64_t size = d->kind == DISK_BLOCK ? disk_size_bytes(d) : INT64_MAX;

	if (range_within((struct range){ off, len }, size))
		return 0;
	errno = d->kind == DISK_BLOCK ? ENOSPC : EFBIG;
	return err_os(e, "%s: writing %" PRIu64 " bytes at %s, behind the end", d->name,
	    len, where(d, off).text);
}

/* Remember that the disk has bytes up to `end` now. */
static void
note_end(struct disk *d, uint64_t end)
{
	uint64_t size = atomic_load(&d->size);

	if (d->kind != DISK_FILE)
		return;
	while (size < end && !atomic_compare_exchange_weak(&d->size, &size, end))
		;
}

int
disk_write(struct disk *d, const void *buf, size_t len, uint64_t off, struct err *e)
{
	size_t done = 0;
	struct err why;

	if (check_position(d, d->write_at, off, e) != 0 ||
	    check_room(d, len, off, e) != 0)
		return -1;
	if (d->ops.write != NULL &&
	    outcome(d->ops.write(d->ctx, buf, len, off, &why), &why, e) != 0)
		return -1;
	while (d->ops.write == NULL && done < len) {
		ssize_t n = write_some(
		    d, (const uint8_t *)buf + done, len - done, off + done);
		if (n < 0)
			return fail_os(d, "writing", off + done, e);
		done += (size_t)n;
	}
	if (d->kind == DISK_STREAM)
		d->write_at = off + len;
	if (len != 0)
		note_end(d, off + len);
	return 0;
}

static int
write_zeros(struct disk *d, uint64_t off, uint64_t len, struct err *e)
{
	while (len > 0) {
		size_t n = len < ZEROS_BYTES ? (size_t)len : ZEROS_BYTES;
		if (disk_write(d, zeros, n, off, e) != 0)
			return -1;
		off += n;
		len -= n;
	}
	return 0;
}

int
disk_zero(struct disk *d, uint64_t off, uint64_t len, struct err *e)
{
	uint64_t unit = d->sector_bytes;

	if (check_position(d, d->write_at, off, e) != 0 ||
	    check_room(d, len, off, e) != 0)
		return -1;
	/* A device clears whole sectors only, so the odd ends are written. */
	uint64_t head = (unit - off % unit) % unit, tail;
	if (head > len)
		head = len;
	tail = (len - head) % unit;
	uint64_t from = off + head, middle = len - head - tail;
	if (write_zeros(d, off, head, e) != 0)
		return -1;
	/* Clearing may fail for any reason: zeros are written then, and if the disk is bad,
	 * writing says how. */
	if (middle != 0) {
		if (d->ops.zero != NULL && d->ops.zero(d->ctx, from, middle) == 0)
			note_end(d, from + middle);
		else if (write_zeros(d, from, middle, e) != 0)
			return -1;
	}
	return write_zeros(d, from + middle, tail, e);
}

bool
disk_discard(struct disk *d, uint64_t off, uint64_t len)
{
	uint64_t unit = d->sector_bytes, from = (off + unit - 1) / unit * unit;
	uint64_t to = (off + len) / unit * unit;
	int rc = 0;

	errno = ENOTSUP;
	if (d->ops.discard == NULL)
		return false;
	if (from < to)
		do
			rc = d->ops.discard(d->ctx, from, to - from);
		while (rc != 0 && errno == EINTR);
	return rc == 0;
}

void
disk_will_need(struct disk *d, uint64_t off, uint64_t len)
{
	int fd = disk_fd(d);

	if (fd >= 0)
		posix_fadvise(fd, (off_t)off, (off_t)len, POSIX_FADV_WILLNEED);
}

static bool
is_aligned(const void *buf, size_t len, uint64_t off)
{
	return ((uintptr_t)buf | len | off) % DIRECT_ALIGN == 0;
}

ssize_t
disk_read_back_upto(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	ssize_t n = -1;

	if (d->ops.pread_direct != NULL && is_aligned(buf, len, off))
		n = d->ops.pread_direct(d->ctx, buf, len, off);
	/* Fewer bytes come at the end, or for a reason that is found out below. */
	if (n == (ssize_t)len)
		return n;
	if (d->ops.uncache != NULL && d->ops.uncache(d->ctx, off, len) != 0)
		return err_os(e, "%s: flushing %s", d->name, where(d, off).text);
	return disk_read_upto(d, buf, len, off, e);
}

int
disk_read_back(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	return all_of(d, disk_read_back_upto(d, buf, len, off, e), len, off, e);
}

int
disk_truncate(struct disk *d, uint64_t size, struct err *e)
{
	if (d->kind != DISK_FILE)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: only a regular file can change its size", d->name);
	errno = size > INT64_MAX ? EFBIG : ENOTSUP;
	if (size > INT64_MAX || d->ops.truncate == NULL ||
	    d->ops.truncate(d->ctx, size) != 0)
		return err_os(
		    e, "%s: setting its size to %" PRIu64 " bytes", d->name, size);
	atomic_store(&d->size, size);
	return 0;
}

int
disk_sync(struct disk *d, struct err *e)
{
	int rc = 0;

	if (d->ops.sync == NULL)
		return 0;
	do
		rc = d->ops.sync(d->ctx);
	while (rc != 0 && errno == EINTR);
	/* Pipes and the like have nothing to flush. */
	if (rc != 0 && errno != EINVAL && errno != ENOTSUP)
		return err_os(e, "%s: flushing", d->name);
	return 0;
}
