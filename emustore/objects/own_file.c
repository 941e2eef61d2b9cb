/* own_file.c: opens the files of a store, and of the cache of a store in a bucket.
 *
 * Others may be able to write to the folder.  A link that they put in the place of a
 * file would lead a program with more rights to a file elsewhere, which it would then
 * cut off or write to; so would a second name of such a file.  Called by everything
 * that opens a file by its name in such a folder, in any thread.
 */
#include "emustore/objects/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int
err_foreign(const char *title, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "%s: is not a regular file, so it cannot belong to a store", title);
}

/* A file that root is about to write to could be a second name (link(2)) of somebody
 * else's file. */
static int
check_owner(int dirfd, const struct stat *st, const char *title, struct err *e)
{
	struct stat folder;

	if (geteuid() != 0 || st->st_uid == 0)
		return 0;
	if (fstat(dirfd, &folder) != 0)
		return err_os(e, "%s", title);
	if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
	    st->st_uid == folder.st_uid)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: belongs to user %u, not to root or to the owner of its folder, which "
	    "others may write to: root does not write to it",
	    title, (unsigned)st->st_uid);
}

static int
check(int dirfd, const struct stat *st, bool writing, const char *title, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_foreign(title, e);
	return writing ? check_owner(dirfd, st, title, e) : 0;
}

int
own_file_open(int dirfd, const char *name, int flags, mode_t mode, const char *title,
    struct err *e)
{
	struct stat st;
	/* A pipe in the place of a file must not hold up the program that opens it. */
	int fd = openat(
	    dirfd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? err_foreign(title, e)
		                                        : err_os(e, "%s", title);
	bool writing = (flags & O_ACCMODE) != O_RDONLY;
	int rc = fstat(fd, &st) != 0 ? err_os(e, "%s", title)
	                             : check(dirfd, &st, writing, title, e);
	if (rc == 0)
		return fd;
	close(fd);
	return -1;
}

int
own_file_check(int dirfd, const char *name, bool writing, const char *title, struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return check(dirfd, &st, writing, title, e);
	return errno == ENOENT ? 0 : err_os(e, "%s", title);
}

ssize_t
own_file_read(int fd, void *out, size_t n, uint64_t from)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(
		    fd, (uint8_t *)out + done, n - done, (off_t)(from + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}
