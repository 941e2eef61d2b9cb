/* tell.c: says something to the kernel by one of its files.  guard.c and nbd_kernel.c call this, in
 * the one thread of their program. */
#include "stream/nbd/tell.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
tell_kernel(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}
