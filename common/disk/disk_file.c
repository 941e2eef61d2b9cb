/* disk_file.c: the back end of a disk on a file descriptor, and what must be true before a
 * path is opened for writing.  Programs and libraries call disk_open(), in any thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/disk/disk_impl.h"
#include "common/disk/hold.h"

enum {
	LOOK_UP_MS = 200, /* a signal is noticed within this time */
	NOT_YET = -2,
	REFUSED = -1,
};

struct handle {
	int fd;
	enum disk_kind kind;
	/* The same, opened with O_DIRECT by the first direct read; NOT_YET, or REFUSED. */
	_Atomic int direct;
	struct disk_hold *hold; /* owned; NULL: the caller's, or only read */
};

/* Wait for a pipe, and ask now and then whether the run is to end: a signal may have gone
 * to another thread, or have come before poll(2) slept.  false: the run is to end; errno is
 * EINTR.  If the descriptor cannot be waited for, the next call on it says so. */
static bool
is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int n = poll(&p, 1, LOOK_UP_MS);
		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
		if (cancel_signal() != 0) {
			errno = EINTR;
			return false;
		}
	}
}

static ssize_t
fd_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct handle *h = ctx;
	ssize_t n;

	if (h->kind != DISK_STREAM)
		return pread(h->fd, buf, len, (off_t)off);
	do {
		if (!is_ready(h->fd, POLLIN))
			return -1;
		n = read(h->fd, buf, len);
	} while (n < 0 && errno == EAGAIN);
	return n;
}

static ssize_t
fd_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	const struct handle *h = ctx;
	ssize_t n;

	if (h->kind != DISK_STREAM)
		return pwrite(h->fd, buf, len, (off_t)off);
	do {
		if (!is_ready(h->fd, POLLOUT))
			return -1;
		n = write(h->fd, buf, len);
	} while (n < 0 && errno == EAGAIN);
	return n;
}

static int
fd_truncate(void *ctx, uint64_t size)
{
	const struct handle *h = ctx;

	return ftruncate(h->fd, (off_t)size);
}

static int
zero_file(int fd, off_t off, off_t len)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	/* ftruncate() is not used: it could cut off what another thread writes behind. */
	if (off + len > st.st_size && pwrite(fd, "", 1, off + len - 1) != 1)
		return -1;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len) == 0)
		return 0;
	return fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, off, len);
}

static int
fd_zero(void *ctx, uint64_t off, uint64_t len)
{
	const struct handle *h = ctx;
	uint64_t range[2] = { off, len };

	switch (h->kind) {
	case DISK_FILE:
		return zero_file(h->fd, (off_t)off, (off_t)len);
	case DISK_BLOCK:
		return ioctl(h->fd, BLKZEROOUT, range);
	default:
		errno = ENOTSUP;
		return -1;
	}
}

static int
fd_discard(void *ctx, uint64_t off, uint64_t len)
{
	const struct handle *h = ctx;
	uint64_t range[2] = { off, len };

	if (h->kind == DISK_BLOCK)
		return ioctl(h->fd, BLKDISCARD, range);
	if (h->kind == DISK_FILE)
		return fallocate(h->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)off, (off_t)len);
	errno = ENOTSUP;
	return -1;
}

static int
fd_uncache(void *ctx, uint64_t off, uint64_t len)
{
	const struct handle *h = ctx;

	if (sync_file_range(h->fd, (off_t)off, (off_t)len,
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
		    SYNC_FILE_RANGE_WAIT_AFTER) != 0)
		return -1;
	errno = posix_fadvise(h->fd, (off_t)off, (off_t)len, POSIX_FADV_DONTNEED);
	return errno == 0 ? 0 : -1;
}

int
disk_fd_direct(int fd, int access)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, access | O_DIRECT | O_CLOEXEC);
}

/* Of two threads that open the file at once, one keeps its descriptor. */
static int
open_direct(struct handle *h)
{
	int none = NOT_YET, fd = disk_fd_direct(h->fd, O_RDONLY);

	if (atomic_compare_exchange_strong(&h->direct, &none, fd >= 0 ? fd : REFUSED))
		return h->direct;
	if (fd >= 0)
		close(fd);
	return none;
}

static ssize_t
fd_pread_direct(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct handle *h = ctx;
	int fd = h->direct;

	if (fd == NOT_YET)
		fd = open_direct(h);
	return fd >= 0 ? pread(fd, buf, len, (off_t)off) : -1;
}

/* A system that does not know of holes says nothing. */
static void
fd_holes(void *ctx, uint64_t off, uint64_t *data, uint64_t *hole)
{
	const struct handle *h = ctx;

	if (h->kind != DISK_FILE)
		return;
	off_t at = lseek(h->fd, (off_t)off, SEEK_DATA);
	if (at < 0) {
		if (errno == ENXIO)
			*data = *hole;
		return;
	}
	*data = (uint64_t)at;
	off_t end = lseek(h->fd, at, SEEK_HOLE);
	if (end > at)
		*hole = (uint64_t)end;
}

static int
fd_sync(void *ctx)
{
	const struct handle *h = ctx;

	return fsync(h->fd);
}

/* Linux has closed it even when a signal came. */
static bool
is_closed(int fd)
{
	return close(fd) == 0 || errno == EINTR;
}

static int
fd_close(void *ctx)
{
	struct handle *h = ctx;
	int why = h->direct < 0 || is_closed(h->direct) ? 0 : errno;

	/* A filesystem in user space may report a failed write at any close. */
	if (!is_closed(h->fd))
		why = errno;
	if (hold_end(h->hold) != 0 && why == 0)
		why = errno;
	free(h);
	errno = why;
	return why == 0 ? 0 : -1;
}

static const struct disk_ops fd_ops = {
	.pread = fd_pread,
	.pwrite = fd_pwrite,
	.truncate = fd_truncate,
	.zero = fd_zero,
	.discard = fd_discard,
	.uncache = fd_uncache,
	.pread_direct = fd_pread_direct,
	.holes = fd_holes,
	.sync = fd_sync,
	.close = fd_close,
};

/* Character devices that take any offset and keep nothing: null, zero, full. */
static bool
is_null(const struct stat *st)
{
	unsigned min = minor(st->st_rdev);

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 &&
	       (min == 3 || min == 5 || min == 7);
}

/* Standard input and output are streams whatever they are: their position is
 * shared with others and they may be open to append only. */
static enum disk_kind
kind_of(const struct stat *st, bool standard)
{
	if (is_null(st))
		return DISK_NULL;
	if (S_ISREG(st->st_mode) && !standard)
		return DISK_FILE;
	if (S_ISBLK(st->st_mode) && !standard)
		return DISK_BLOCK;
	return DISK_STREAM;
}

/* Forget what the kernel has cached of a block device.  It caches a disk apart from its partitions
 * and from the volumes that lie on it, and as long as one of these is in use it keeps what it has
 * cached of the disk, although they were written since.  Pages that are being changed stay: they
 * are newer than the device. */
static void
forget_cached(int fd)
{
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* pages that stay cached are no error */
}

/* The descriptor becomes the disk's, also when this fails; the hold when it does not. */
static int
from_fd(struct disk **out, const char *name, int fd, struct disk_hold *hold,
    const struct stat *st, bool standard, unsigned flags, struct err *e)
{
	uint64_t size = UINT64_MAX;
	int sector = SECTOR_BYTES;
	enum disk_kind kind = kind_of(st, standard);
	struct handle *h = malloc(sizeof *h);

	if (h == NULL) {
		err_nomem(e, name);
		goto fail;
	}
	*h = (struct handle){ fd, kind, NOT_YET, hold };
	if ((flags & DISK_WRITE) != 0 && (flags & DISK_FORCE) == 0 && isatty(fd)) {
		err_set(e, ERR_REFUSED,
		    "%s is a terminal: image data is not written to a terminal", name);
		goto fail;
	}
	if (kind == DISK_FILE)
		size = (uint64_t)st->st_size;
	if (kind == DISK_FILE && (flags & DISK_TRUNC) != 0) {
		if (size != 0 && ftruncate(fd, 0) != 0) {
			err_os(e, "%s: truncating", name);
			goto fail;
		}
		size = 0;
	}
	if (kind == DISK_BLOCK && (ioctl(fd, BLKGETSIZE64, &size) != 0 ||
				      ioctl(fd, BLKSSZGET, &sector) != 0)) {
		err_os(e, "%s: asking for its size", name);
		goto fail;
	}
	if (kind == DISK_BLOCK)
		forget_cached(fd);
	/* A read-only device is refused here, before the first write finds it out. */
	int read_only = 0;
	if (kind == DISK_BLOCK && (flags & DISK_WRITE) != 0 &&
	    ioctl(fd, BLKROGET, &read_only) == 0 && read_only != 0) {
		err_set(e, ERR_REFUSED, "%s is read-only", name);
		goto fail;
	}
	if (disk_open_ops(out, name, kind, size, &fd_ops, h, e) != 0)
		goto fail;
	(*out)->fd = fd;
	(*out)->unseen = hold_unseen(hold);
	(*out)->sector_bytes = (unsigned)sector;
	return 0;
fail:
	free(h);
	close(fd);
	return -1;
}

void
disk_lend_hold(struct disk *d)
{
	struct handle *h = d->ctx;

	if (d->fd >= 0 && h->hold != NULL)
		hold_lend(h->hold);
}

static int
open_standard(struct disk **out, unsigned flags, struct err *e)
{
	bool write = (flags & DISK_WRITE) != 0;
	const char *name = write ? "stdout" : "stdin";
	struct disk_hold *hold = NULL;
	struct stat st;

	if (write && (flags & DISK_READ) != 0)
		return err_set(e, ERR_USAGE, "\"-\" cannot be both read and written");
	int fd = fcntl(write ? STDOUT_FILENO : STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_os(e, "%s", name);
	if (write && hold_standard(&hold, fd, (flags & DISK_FORCE) != 0, e) != 0) {
		close(fd);
		return -1;
	}
	if (fstat(fd, &st) == 0) {
		if (from_fd(out, name, fd, hold, &st, true, flags, e) == 0)
			return 0;
	} else {
		err_os(e, "%s", name);
		close(fd);
	}
	hold_end(hold);
	return -1;
}

/* A name in /dev that is not there is a device that is missing: a file of that
 * name would fill the memory instead. */
static bool
names_device(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
}

/* Is a file to be made when the name does not exist? */
static bool
may_make(const char *path, unsigned flags)
{
	return (flags & DISK_CREATE) != 0 &&
	       ((flags & DISK_FORCE) != 0 || !names_device(path));
}

static int
open_mode(const char *path, const struct stat *st, bool exists, unsigned flags)
{
	int mode = O_CLOEXEC | O_NOCTTY;

	if ((flags & DISK_WRITE) == 0)
		mode |= O_RDONLY;
	else
		mode |= (flags & DISK_READ) != 0 ? O_RDWR : O_WRONLY;
	if (!exists && may_make(path, flags))
		mode |= O_CREAT;
	if (exists && S_ISBLK(st->st_mode) && (flags & DISK_WRITE) != 0 &&
	    (flags & (DISK_FORCE | DISK_HELD)) == 0)
		mode |= O_EXCL;
	return mode;
}

/* Is the file that was opened the one that was looked at before? */
static bool
unchanged(const struct stat *before, bool existed, const struct stat *now)
{
	if (!existed)
		return S_ISREG(now->st_mode);
	return (before->st_mode & S_IFMT) == (now->st_mode & S_IFMT) &&
	       before->st_rdev == now->st_rdev;
}

/* A device that cannot be opened exclusively may be claimed for a moment only, by a
 * program that asks whether somebody has claimed it. */
static int
open_patiently(const char *path, int mode, const struct disk_hold *hold)
{
	int fd;

	do
		fd = open(path, mode, 0666);
	while (fd < 0 && errno == EBUSY && hold_waits(hold));
	return fd;
}

/* hold: of what will be written, or NULL. */
static int
open_path(struct disk **out, const char *path, unsigned flags, struct disk_hold *hold,
    struct err *e)
{
	struct stat before, now;
	bool exists = stat(path, &before) == 0;
	int fd = open_patiently(path, open_mode(path, &before, exists, flags), hold);

	if (fd < 0 && errno == EBUSY)
		return err_set(
		    e, ERR_REFUSED, "%s is in use: another program holds it", path);
	if (fd < 0)
		return err_os(e, "%s", path);
	if (fstat(fd, &now) != 0) {
		err_os(e, "%s", path);
	} else if (!unchanged(&before, exists, &now) ||
	           (hold != NULL && !hold_is_of(hold, &now))) {
		err_set(e, ERR_REFUSED, "%s was replaced while it was opened", path);
	} else {
		return from_fd(out, path, fd, hold, &now, false, flags, e);
	}
	close(fd);
	return -1;
}

static int
open_to_write(struct disk **out, const char *path, unsigned flags, struct err *e)
{
	const struct hold_wish wish = { .path = path,
		.make = may_make(path, flags),
		.no_look = (flags & DISK_FORCE) != 0 };
	struct disk_hold *hold;

	if (hold_begin(&hold, &wish, e) != 0)
		return -1;
	if (open_path(out, path, flags, hold, e) == 0)
		return 0;
	hold_end(hold);
	return -1;
}

int
disk_open(struct disk **out, const char *path, unsigned flags, struct err *e)
{
	struct stat st;

	*out = NULL;
	if (strcmp(path, "-") == 0)
		return open_standard(out, flags, e);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_IO, "%s is a directory", path);
	return (flags & DISK_WRITE) != 0 && (flags & DISK_HELD) == 0
		   ? open_to_write(out, path, flags, e)
		   : open_path(out, path, flags, NULL, e);
}

int
disk_reread_partitions(struct disk *d, struct err *e)
{
	if (d->kind != DISK_BLOCK || ioctl(d->fd, BLKRRPART) == 0)
		return 0;
	/* Partitions themselves, and loop devices without them, say EINVAL. */
	if (errno == EINVAL || errno == ENOTTY)
		return 0;
	if (errno == EBUSY)
		return err_os(
		    e, "%s: the kernel still uses the old partition table", d->name);
	return err_os(e, "%s: making the kernel read the partition table", d->name);
}
