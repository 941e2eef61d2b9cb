/* late.so: a program that listens a while after it has made its socket, as on a busy machine.
 *	LD_PRELOAD=late.so program... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>

enum { LATE_MS = 400 };

int
listen(int fd, int backlog)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
	struct timespec rest = { .tv_nsec = LATE_MS * 1000000L };

	while (nanosleep(&rest, &rest) != 0)
		;
	return real(fd, backlog);
}
