/* readable.c: opens a file that somebody has named (readable.h): keys, tokens, configurations and other
 * texts.  Who reads them calls it, in any thread. */
#include "common/base/readable.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool
is_named_pipe(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type != PIPEFS_MAGIC;
}

int
readable_open(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return err_os(e, "%s", path);
	if (is_named_pipe(fd))
		err_set(e, ERR_REFUSED, "%s: is a named pipe, and not a file", path);
	else if (fcntl(fd, F_SETFL, 0) != 0)
		err_os(e, "%s", path);
	else
		return fd;
	close(fd);
	return -1;
}
