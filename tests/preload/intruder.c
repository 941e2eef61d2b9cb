/* intruder.so: somebody who has taken over a server.
 *	LD_PRELOAD=intruder.so INTRUDER=FILE program...
 * When the program compares a name with a pattern, which mfrisbeed does for each request, or asks what a
 * socket's address is, which frisbeed does when it opens a session, the intruder tries once what such a
 * server has no need of, and says on standard error how each of these has ended. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

int fnmatch(const char *, const char *, int);

static void
tell(const char *what, long rc)
{
	fprintf(stderr, "intruder: %s: %s\n", what, rc >= 0 ? "done" : strerror(errno));
}

static void
intrude(void)
{
	static bool was_here;
	const char *file = getenv("INTRUDER");
	char name[] = "true", *argv[] = { name, NULL };

	if (was_here || file == NULL || strstr(program_invocation_short_name, "frisbeed") == NULL)
		return;
	was_here = true;
	tell("write", open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	tell("remove", unlink(file));
	tell("packets", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	tell("trace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
	tell("process", fork());
	tell("program", execv("/bin/true", argv));
	tell("root", setuid(0));
}

int
fnmatch(const char *pattern, const char *string, int flags)
{
	int (*real)(const char *, const char *, int) =
	    (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "fnmatch");

	intrude();
	return real(pattern, string, flags);
}

int
getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	int (*real)(int, struct sockaddr *, socklen_t *) =
	    (int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "getsockname");

	intrude();
	return real(fd, addr, len);
}
