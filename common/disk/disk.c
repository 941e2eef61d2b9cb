/* disk.c: complete transfers with a sentence when they fail, over a back end. */
#include "common/disk/disk.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk_file.h"

enum { ZERO_BUFFER_BYTES = 1 << 20 };

struct disk {
	char *name;
	enum disk_kind kind;
	unsigned sector_bytes;
	int fd;
	_Atomic uint64_t size_bytes;	/* UINT64_MAX: unknown */
	_Atomic uint64_t stream_at;	/* streams: where the next byte is */
	const struct disk_ops *ops;
	void *ctx;
};

static int
disk_new(struct disk **out, const char *name, struct err *e)
{
	struct disk *d = calloc(1, sizeof *d);

	if (d == NULL || (d->name = strdup(name)) == NULL) {
		free(d);
		return err_nomem(e, name);
	}
	d->fd = -1;
	d->sector_bytes = SECTOR_BYTES;
	*out = d;
	return 0;
}

int
disk_open_ops(struct disk **out, const char *name, enum disk_kind kind, uint64_t size_bytes,
    const struct disk_ops *ops, void *ctx, struct err *e)
{
	struct disk *d = NULL;

	if (disk_new(&d, name, e) != 0)
		return -1;
	d->kind = kind;
	d->size_bytes = size_bytes;
	d->ops = ops;
	d->ctx = ctx;
	*out = d;
	return 0;
}

int
disk_open(struct disk **out, const char *path, unsigned flags, struct err *e)
{
	struct disk_file f;
	struct disk *d;

	if (disk_file_open(&f, path, flags, e) != 0)
		return -1;
	if (disk_open_ops(&d, f.name, f.kind, f.size_bytes, &disk_file_ops, NULL, e) != 0) {
		disk_file_close(&f);
		return -1;
	}
	d->fd = f.fd;
	d->sector_bytes = f.sector_bytes;
	d->ctx = (void *)(intptr_t)f.fd;
	*out = d;
	return 0;
}

int
disk_close(struct disk *d, struct err *e)
{
	int rc = 0;

	if (d == NULL)
		return 0;
	if (d->ops->close != NULL && d->ops->close(d->ctx) != 0)
		rc = err_os(e, "%s: cannot close", d->name);
	free(d->name);
	free(d);
	return rc;
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
	return d->size_bytes;
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

/* "sector 12 of /dev/sda" for disks, "byte 6144 of stdin" for streams. */
static int
fail_at(const struct disk *d, const char *what, uint64_t off, struct err *e)
{
	if (disk_seekable(d))
		return err_os(e, "%s: cannot %s sector %" PRIu64, d->name, what,
		    off / SECTOR_BYTES);
	return err_os(e, "%s: cannot %s byte %" PRIu64, d->name, what, off);
}

static void
check_stream_position(struct disk *d, uint64_t off, size_t done)
{
	if (d->kind != DISK_STREAM)
		return;
	assert(off == d->stream_at);
	d->stream_at = off + done;
}

ssize_t
disk_read_upto(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	size_t done = 0;

	while (done < len) {
		errno = ENOTSUP;
		ssize_t n = d->ops->pread == NULL ? -1 :
		    d->ops->pread(d->ctx, (char *)buf + done, len - done, off + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_at(d, "read", off + done, e);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	check_stream_position(d, off, done);
	return (ssize_t)done;
}

int
disk_read(struct disk *d, void *buf, size_t len, uint64_t off, struct err *e)
{
	ssize_t n = disk_read_upto(d, buf, len, off, e);

	if (n < 0)
		return -1;
	if ((size_t)n < len)
		return err_set(e, ERR_FORMAT,
		    "%s: ends at byte %" PRIu64 ", but %zu bytes from %" PRIu64 " are needed",
		    d->name, off + (uint64_t)n, len, off);
	return 0;
}

/* A file grows when something is written behind its end. */
static void
note_size(struct disk *d, uint64_t end)
{
	uint64_t size = d->size_bytes;

	if (d->kind != DISK_FILE)
		return;
	while (end > size && !atomic_compare_exchange_weak(&d->size_bytes, &size, end))
		;
}

int
disk_write(struct disk *d, const void *buf, size_t len, uint64_t off, struct err *e)
{
	size_t done = 0;

	while (done < len) {
		errno = ENOTSUP;
		ssize_t n = d->ops->pwrite == NULL ? -1 : d->ops->pwrite(d->ctx,
		    (const char *)buf + done, len - done, off + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0) {
			errno = ENOSPC;
			n = -1;
		}
		if (n < 0)
			return fail_at(d, "write", off + done, e);
		done += (size_t)n;
	}
	check_stream_position(d, off, done);
	note_size(d, off + len);
	return 0;
}

int
disk_zero(struct disk *d, uint64_t off, uint64_t len, struct err *e)
{
	static const char zeros[ZERO_BUFFER_BYTES];

	if (len == 0)
		return 0;
	if (d->ops->zero != NULL && disk_seekable(d) && d->ops->zero(d->ctx, off, len) == 0) {
		note_size(d, off + len);
		return 0;
	}
	while (len > 0) {
		size_t n = len < sizeof zeros ? (size_t)len : sizeof zeros;
		if (disk_write(d, zeros, n, off, e) != 0)
			return -1;
		off += n;
		len -= n;
	}
	return 0;
}

int
disk_truncate(struct disk *d, uint64_t size, struct err *e)
{
	errno = ENOTSUP;
	if (d->ops->truncate == NULL || d->ops->truncate(d->ctx, size) != 0)
		return err_os(e, "%s: cannot set the length to %" PRIu64, d->name, size);
	d->size_bytes = size;
	return 0;
}

int
disk_sync(struct disk *d, struct err *e)
{
	if (d->ops->sync != NULL && d->ops->sync(d->ctx) != 0)
		return err_os(e, "%s: cannot sync", d->name);
	return 0;
}

int
disk_reread_partitions(struct disk *d, struct err *e)
{
	if (d->kind != DISK_BLOCK || d->fd < 0)
		return 0;
	if (disk_file_reread_partitions(d->fd) != 0)
		return err_os(e, "%s: the kernel does not re-read the partition table", d->name);
	return 0;
}
