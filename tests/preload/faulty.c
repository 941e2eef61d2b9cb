/* faulty.so: one file on which the n-th access fails, for whole programs.
 *	LD_PRELOAD=faulty.so FAULT=OP:N:KIND:PATH FAULT_FIRED=FILE program...
 * PATH may be the beginning of it: a program may write under another name first.
 * OP: pread, pwrite, read, write, fsync, fdatasync, ftruncate, close.  KIND:
 *	eio	the N-th fails with EIO, those behind it do not
 *	dead	the N-th and all that follow: EIO
 *	full	the N-th and all that follow: ENOSPC
 *	gone	the N-th and all that follow: ENXIO, as of a disk pulled out
 *	astray	the N-th write is said to be done, and is not
 *	lost	the N-th and all that follow are
 *	kill	the program ends there, as by kill -9
 *	end	the N-th and all that follow find the end of the file (it shrank)
 * FILE is made when that has happened. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long calls;

static bool
is_the_file(int fd, const char *path)
{
	char link[64], name[4096];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1);
	if (n < 0)
		return false;
	name[n] = '\0';
	return strncmp(name, path, strlen(path)) == 0;
}

static void
note_fired(void)
{
	const char *path = getenv("FAULT_FIRED");

	if (path != NULL)
		syscall(SYS_close, open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* Does this call, of `len` bytes, fail?  Then *rc is what it returns, with errno. */
static bool
fails(const char *op, int fd, long len, long *rc)
{
	char want[16], kind[16];
	const char *fault = getenv("FAULT");
	long n;
	int path_at = 0;

	if (fault == NULL || sscanf(fault, "%15[^:]:%ld:%15[^:]:%n", want, &n, kind, &path_at) != 3 ||
	    path_at == 0 || strcmp(op, want) != 0 || !is_the_file(fd, fault + path_at))
		return false;
	long call = ++calls;
	if (call < n || (call > n && (strcmp(kind, "eio") == 0 || strcmp(kind, "astray") == 0)))
		return false;
	note_fired();
	if (strcmp(kind, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(kind, "astray") == 0 || strcmp(kind, "lost") == 0)
		return *rc = len, true;
	*rc = strcmp(kind, "end") == 0 ? 0 : -1;
	errno = strcmp(kind, "full") == 0 ? ENOSPC : strcmp(kind, "gone") == 0 ? ENXIO : EIO;
	return true;
}

#define FAULTY(type, name, op, len, params, ...) \
	type name params; \
	type name params \
	{ \
		static type (*real) params; \
		long rc; \
		if (real == NULL) \
			real = (type (*) params)dlsym(RTLD_NEXT, #name); \
		return fails(op, fd, (long)(len), &rc) ? (type)rc : real(__VA_ARGS__); \
	}

FAULTY(ssize_t, pread64, "pread", n, (int fd, void *buf, size_t n, off64_t at), fd, buf, n, at)
FAULTY(ssize_t, pwrite64, "pwrite", n, (int fd, const void *buf, size_t n, off64_t at), fd, buf, n, at)
FAULTY(ssize_t, read, "read", n, (int fd, void *buf, size_t n), fd, buf, n)
FAULTY(ssize_t, write, "write", n, (int fd, const void *buf, size_t n), fd, buf, n)
FAULTY(int, fsync, "fsync", 0, (int fd), fd)
FAULTY(int, fdatasync, "fdatasync", 0, (int fd), fd)
FAULTY(int, ftruncate64, "ftruncate", 0, (int fd, off64_t n), fd, n)

/* The descriptor is closed whatever is said. */
int
close(int fd)
{
	static int (*real)(int);
	long rc;

	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "close");
	bool bad = fails("close", fd, 0, &rc);
	int why = errno, closed = real(fd);
	if (!bad)
		return closed;
	errno = why;
	return -1;
}
