#include "common/disk/disk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/disk/inuse.h"

static int
ctx_fd(void *ctx)
{
	return (int)(intptr_t)ctx;
}

/* pread(2) on a pipe fails with ESPIPE; disk.c keeps streams in order. */
static ssize_t
file_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	ssize_t n = pread(ctx_fd(ctx), buf, len, (off_t)off);

	return n < 0 && errno == ESPIPE ? read(ctx_fd(ctx), buf, len) : n;
}

static ssize_t
file_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	ssize_t n = pwrite(ctx_fd(ctx), buf, len, (off_t)off);

	return n < 0 && errno == ESPIPE ? write(ctx_fd(ctx), buf, len) : n;
}

static int
file_truncate(void *ctx, uint64_t size)
{
	return ftruncate(ctx_fd(ctx), (off_t)size);
}

static int
file_zero(void *ctx, uint64_t off, uint64_t len)
{
	int fd = ctx_fd(ctx);
	uint64_t range[2] = { off, len };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	if (S_ISBLK(st.st_mode))
		return ioctl(fd, BLKZEROOUT, range);
	if (off + len > (uint64_t)st.st_size && ftruncate(fd, (off_t)(off + len)) != 0)
		return -1;
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)len);
}

static int
file_sync(void *ctx)
{
	/* EINVAL, EROFS: a pipe or /dev/null, where there is nothing to sync. */
	return fsync(ctx_fd(ctx)) != 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
}

static int
file_close(void *ctx)
{
	/* EINTR of close(2) on Linux: the descriptor is gone, nothing is lost. */
	return close(ctx_fd(ctx)) != 0 && errno != EINTR ? -1 : 0;
}

const struct disk_ops disk_file_ops = {
	.pread = file_pread,
	.pwrite = file_pwrite,
	.truncate = file_truncate,
	.zero = file_zero,
	.sync = file_sync,
	.close = file_close,
};

/* Kind and size of what was opened. */
static int
identify(struct disk_file *f, unsigned flags, struct err *e)
{
	struct stat st;
	int sector;

	f->sector_bytes = SECTOR_BYTES;
	f->size_bytes = UINT64_MAX;
	if (fstat(f->fd, &st) != 0)
		return err_os(e, "%s", f->name);
	if (S_ISREG(st.st_mode)) {
		f->kind = DISK_FILE;
		f->size_bytes = (uint64_t)st.st_size;
	} else if (S_ISBLK(st.st_mode)) {
		f->kind = DISK_BLOCK;
		if (ioctl(f->fd, BLKGETSIZE64, &f->size_bytes) != 0 ||
		    ioctl(f->fd, BLKSSZGET, &sector) != 0)
			return err_os(e, "%s: cannot tell its size", f->name);
		f->sector_bytes = (unsigned)sector;
	} else if (S_ISDIR(st.st_mode)) {
		return err_set(e, ERR_USAGE, "%s: is a directory", f->name);
	} else if (S_ISCHR(st.st_mode) && !isatty(f->fd)) {
		f->kind = DISK_NULL;
	} else {
		f->kind = DISK_STREAM;
		if ((flags & (DISK_WRITE | DISK_FORCE)) == DISK_WRITE && isatty(f->fd))
			return err_set(e, ERR_REFUSED, "%s: is a terminal, and this is binary data",
			    f->name);
	}
	return 0;
}

static int
open_mode(unsigned flags)
{
	int mode = flags & DISK_WRITE ? (flags & DISK_READ ? O_RDWR : O_WRONLY) : O_RDONLY;

	return mode | O_CLOEXEC | (flags & DISK_CREATE ? O_CREAT : 0);
}

/* Standard streams are duplicated, so that closing the disk is checked like
 * closing any other. */
static int
open_standard(struct disk_file *f, unsigned flags, struct err *e)
{
	bool out = flags & DISK_WRITE;

	f->name = out ? "stdout" : "stdin";
	f->fd = fcntl(out ? STDOUT_FILENO : STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	return f->fd < 0 ? err_os(e, "%s", f->name) : 0;
}

/* A device that is in use is refused; O_EXCL makes the kernel say so, too,
 * and keeps others from mounting it meanwhile. */
static int
open_path(struct disk_file *f, const char *path, unsigned flags, struct err *e)
{
	struct stat st;
	int mode = open_mode(flags);

	f->name = path;
	if ((flags & DISK_WRITE) && stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	    !(flags & DISK_FORCE)) {
		if (inuse_check(path, st.st_rdev, e) != 0)
			return -1;
		mode |= O_EXCL;
	}
	f->fd = open(path, mode, 0666);
	if (f->fd < 0 && errno == EBUSY)
		return err_set(e, ERR_REFUSED, "%s: is in use; --force writes all the same", path);
	return f->fd < 0 ? err_os(e, "%s: cannot open", path) : 0;
}

int
disk_file_open(struct disk_file *f, const char *path, unsigned flags, struct err *e)
{
	*f = (struct disk_file){ .fd = -1 };
	int rc = strcmp(path, "-") == 0 ? open_standard(f, flags, e) :
	    open_path(f, path, flags, e);
	if (rc != 0)
		return -1;
	if (identify(f, flags, e) != 0)
		goto fail;
	if ((flags & DISK_TRUNC) && f->kind == DISK_FILE && f->size_bytes > 0) {
		if (ftruncate(f->fd, 0) != 0) {
			err_os(e, "%s: cannot truncate", path);
			goto fail;
		}
		f->size_bytes = 0;
	}
	return 0;
fail:
	disk_file_close(f);
	return -1;
}

void
disk_file_close(struct disk_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int
disk_file_reread_partitions(int fd)
{
	return ioctl(fd, BLKRRPART);
}
