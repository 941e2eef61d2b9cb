/* local.c: connects to a program on this machine.  whole.c and nbd_dial.c call this, in the thread
 * that asks. */
#include "stream/nbd/local.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
local_connect(const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof a.sun_path)
		return err_set(e, ERR_USAGE, "%s: is too long for a socket", path);
	strcpy(a.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_os(e, "a socket");
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	err_os(e, "%s", path);
	if (e->os == ENOENT || e->os == ECONNREFUSED)
		e->kind = ERR_ABSENT;
	close(fd);
	return -1;
}
