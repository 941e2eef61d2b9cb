/* cli_standard.c: descriptors 0 to 2 are never those of a disk or socket.  cli_main() calls
 * this in the first thread, before anything is opened. */
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
		/* Standard input is opened for writing and the others for reading, so that
		 * their use still fails.  open() takes the lowest free number, which is
		 * this one. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return err_os(e, "standard streams are closed: /dev/null");
	}
	return 0;
}
