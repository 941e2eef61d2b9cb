/* recorder.so: notes what a whole program changes below a folder, in order, for
 * helpers/power_cut.py, which makes of it what a power cut would have left.
 *	LD_PRELOAD=recorder.so RECORD=FILE RECORD_ROOT=FOLDER program...
 * FILE gets, for each call that succeeded: one line "OP BYTES AT PATH[\tPATH]" and, behind a
 * write, its BYTES bytes.  OP: create, truncate (to AT bytes), write, sync (of a file or a
 * folder), link, rename, unlink, mkdir, rmdir.  Calls come one at a time, so that the order
 * of the lines is that of the changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;

static void
put_all(const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		long rc = syscall(SYS_write, out, (const char *)bytes + done, n - done);
		if (rc < 0 && errno != EINTR) {
			perror("recorder.so");
			_exit(99);
		}
		done += rc > 0 ? (size_t)rc : 0;
	}
}

/* The path of a descriptor, or of a name in the folder at. */
static bool
path_of(int at, const char *name, char path[PATH_BYTES])
{
	char link[64];
	size_t n = 0;

	if (name == NULL || name[0] != '/') {
		snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd"
							   : "/proc/self/fd/%d", at);
		ssize_t got = readlink(link, path, PATH_BYTES / 2);
		if (got < 0)
			return false;
		n = (size_t)got;
	}
	if (name != NULL && name[0] != '/')
		path[n++] = '/';
	snprintf(path + n, PATH_BYTES - n, "%s", name != NULL ? name : "");
	return true;
}

static bool
is_below(const char *path)
{
	const char *root = getenv("RECORD_ROOT");
	size_t n = root != NULL ? strlen(root) : 0;

	return n > 0 && strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Called with the lock held; errno stays as it is. */
static void
note(const char *op, size_t bytes, long at, const char *path, const char *other,
    const void *data)
{
	char line[2 * PATH_BYTES + 100];
	int why = errno;

	if (is_below(path) && getenv("RECORD") != NULL) {
		if (out < 0)
			out = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD"),
			    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		int n = snprintf(line, sizeof line, "%s %zu %ld %s%s%s\n", op, bytes, at,
		    path, other != NULL ? "\t" : "", other != NULL ? other : "");
		put_all(line, (size_t)n);
		if (data != NULL)
			put_all(data, bytes);
	}
	errno = why;
}

static void
note_fd(const char *op, size_t bytes, long at, int fd, const void *data)
{
	char path[PATH_BYTES];
	int why = errno;

	if (path_of(fd, NULL, path))
		note(op, bytes, at, path, NULL, data);
	errno = why;
}

static void
note_at(const char *op, int at, const char *name, int at2, const char *name2)
{
	char path[PATH_BYTES], other[PATH_BYTES];
	int why = errno;

	if (path_of(at, name, path) && (name2 == NULL || path_of(at2, name2, other)))
		note(op, 0, 0, path, name2 != NULL ? other : NULL, NULL);
	errno = why;
}

/* All ways to open a file that may make it. */
static int
open_any(int at, const char *name, int flags, mode_t mode)
{
	struct stat st;

	pthread_mutex_lock(&lock);
	bool there = syscall(SYS_newfstatat, at, name, &st, 0) == 0;
	int fd = (int)syscall(SYS_openat, at, name, flags, mode);
	if (fd >= 0 && (flags & O_CREAT) != 0 && !there)
		note_at("create", at, name, 0, NULL);
	else if (fd >= 0 && (flags & O_TRUNC) != 0)
		note_at("truncate", at, name, 0, NULL);
	pthread_mutex_unlock(&lock);
	return fd;
}

#define OPEN(name, at_param, at) \
	int name(at_param const char *path, int flags, ...); \
	int name(at_param const char *path, int flags, ...) \
	{ \
		va_list ap; \
		va_start(ap, flags); \
		mode_t mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0; \
		va_end(ap); \
		return open_any(at, path, flags, mode); \
	}
#define NOTHING
#define DIRFD int dirfd,
OPEN(open, NOTHING, AT_FDCWD)
OPEN(open64, NOTHING, AT_FDCWD)
OPEN(openat, DIRFD, dirfd)
OPEN(openat64, DIRFD, dirfd)

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	pthread_mutex_lock(&lock);
	ssize_t rc = syscall(SYS_pwrite64, fd, buf, n, at);
	if (rc > 0)
		note_fd("write", (size_t)rc, at, fd, buf);
	pthread_mutex_unlock(&lock);
	return rc;
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	pthread_mutex_lock(&lock);
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t rc = syscall(SYS_write, fd, buf, n);
	if (rc > 0 && at >= 0)
		note_fd("write", (size_t)rc, at, fd, buf);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* A call of one descriptor. */
#define ON_FD(name, params, number, op, at, ...) \
	int name params; \
	int name params \
	{ \
		pthread_mutex_lock(&lock); \
		int rc = (int)syscall(number, __VA_ARGS__); \
		if (rc == 0) \
			note_fd(op, 0, at, fd, NULL); \
		pthread_mutex_unlock(&lock); \
		return rc; \
	}
ON_FD(fsync, (int fd), SYS_fsync, "sync", 0, fd)
ON_FD(fdatasync, (int fd), SYS_fdatasync, "sync", 0, fd)
ON_FD(ftruncate64, (int fd, off64_t n), SYS_ftruncate, "truncate", n, fd, n)

/* A call of one or two names. */
#define ON_NAMES(name, params, op, at, from, at2, to, ...) \
	int name params \
	{ \
		pthread_mutex_lock(&lock); \
		int rc = (int)syscall(__VA_ARGS__); \
		if (rc == 0) \
			note_at(op, at, from, at2, to); \
		pthread_mutex_unlock(&lock); \
		return rc; \
	}
ON_NAMES(linkat, (int at, const char *a, int at2, const char *b, int flags), "link", at, a,
    at2, b, SYS_linkat, at, a, at2, b, flags)
ON_NAMES(renameat, (int at, const char *a, int at2, const char *b), "rename", at, a, at2, b,
    SYS_renameat2, at, a, at2, b, 0)
ON_NAMES(rename, (const char *a, const char *b), "rename", AT_FDCWD, a, AT_FDCWD, b,
    SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0)
ON_NAMES(unlinkat, (int at, const char *a, int flags),
    (flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", at, a, 0, NULL, SYS_unlinkat, at, a,
    flags)
ON_NAMES(unlink, (const char *a), "unlink", AT_FDCWD, a, 0, NULL, SYS_unlinkat, AT_FDCWD, a, 0)
ON_NAMES(rmdir, (const char *a), "rmdir", AT_FDCWD, a, 0, NULL, SYS_unlinkat, AT_FDCWD, a,
    AT_REMOVEDIR)
ON_NAMES(mkdirat, (int at, const char *a, mode_t mode), "mkdir", at, a, 0, NULL, SYS_mkdirat,
    at, a, mode)
ON_NAMES(mkdir, (const char *a, mode_t mode), "mkdir", AT_FDCWD, a, 0, NULL, SYS_mkdirat,
    AT_FDCWD, a, mode)
