/* cli_standard.c: descriptors 0 to 2 belong to nobody else. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cli/cli.h"

int
cli_hold_standard(struct err *e)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The wrong way round, so that reading and writing still fail; the
		 * lowest free number is this one. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return err_os(e, "standard streams are closed: /dev/null");
	}
	return 0;
}
