/* readable.c: opens a file that somebody has named (readable.h): keys, tokens, configurations and other
 * texts.  Who reads them calls it, in any thread. */
#include "common/base/readable.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A named pipe that is the standard input has been opened already, by who started the program. */
static bool
is_input(const struct stat *st)
{
	struct stat input;

	return fstat(STDIN_FILENO, &input) == 0 && input.st_dev == st->st_dev && input.st_ino == st->st_ino;
}

static bool
is_named_pipe(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type != PIPEFS_MAGIC && !is_input(&st);
}

/* Opens what this descriptor of O_PATH is of.  O_NONBLOCK: a line of a modem would be waited for. */
static int
open_found(int found, const char *path, struct err *e)
{
	char at[32];

	snprintf(at, sizeof at, "/proc/self/fd/%d", found);
	int fd = open(at, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) /* /proc is not mounted, as in a rescue system's chroot */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	err_os(e, "%s", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Who writes to a named pipe would take any opening for that of its reader, so it is looked at before. */
int
readable_open(const char *path, struct err *e)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd = -1;

	if (found < 0)
		return err_os(e, "%s", path);
	if (is_named_pipe(found))
		err_set(e, ERR_REFUSED, "%s: is a named pipe, and not a file", path);
	else
		fd = open_found(found, path, e);
	close(found);
	return fd;
}
