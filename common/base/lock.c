/* lock.c: locks of files (lock.h).  Called by all that keep others out of a file or folder, in
 * any thread. */
#include "common/base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/timed.h"

enum { STEP_US = 20000 };

int
lock_try(int fd, bool shared)
{
	int rc;

	do
		rc = flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
	while (rc != 0 && errno == EINTR);
	return rc == 0 ? 1 : errno == EWOULDBLOCK ? 0 : -1;
}

static struct flock
bytes_of(uint64_t from, uint64_t bytes)
{
	return (struct flock){ .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)from,
		.l_len = (off_t)bytes };
}

int
lock_try_bytes(int fd, uint64_t from, uint64_t bytes)
{
	struct flock l = bytes_of(from, bytes);
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLK, &l);
	while (rc != 0 && errno == EINTR);
	return rc == 0 ? 1 : errno == EAGAIN || errno == EACCES ? 0 : -1;
}

bool
lock_is_taken(int fd, uint64_t from, uint64_t bytes)
{
	struct flock l = bytes_of(from, bytes);

	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* A signal must end the wait, whichever thread receives it, and whenever it comes. */
int
lock_wait(int fd, struct err *e)
{
	int rc;

	while ((rc = lock_try(fd, false)) == 0) {
		if (cancel_check(e) != 0)
			return -1;
		timed_sleep(STEP_US);
	}
	return rc == 1 ? 0 : err_os(e, "cannot lock it");
}

void
lock_end(int fd)
{
	flock(fd, LOCK_UN);
}

/* Opens and locks.  1: whoever had the lock has removed or renamed the file meanwhile. */
static int
lock_once(int *fd, const char *path, const char *name, const char *who, struct err *e)
{
	struct stat is, named;

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (*fd < 0)
		return err_os(e, "%s", path);
	int got = lock_try(*fd, false);
	if (got != 1)
		return got == 0 ? err_set(e, ERR_REFUSED, "%s: %s", name, who)
		                : err_os(e, "%s: cannot lock it", path);
	return fstat(*fd, &is) != 0 || stat(path, &named) != 0 || is.st_ino != named.st_ino ||
	       is.st_dev != named.st_dev;
}

int
lock_file(int *fd, const char *path, const char *name, const char *who, struct err *e)
{
	int rc;

	while ((rc = lock_once(fd, path, name, who, e)) != 0) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		if (rc < 0)
			return -1;
	}
	return 0;
}
