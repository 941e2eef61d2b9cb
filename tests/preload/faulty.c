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
 *	bad	reads that touch the N-th sector of 512 bytes, every time: EIO; N-M: one
 *		of sectors N to M; N-MxT: only T times, then they can be read again
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

/* Does [at, at+len) touch a bad sector?  at -1: the call has no place. */
static bool
is_bad(const char *which, long at, long len)
{
	static _Atomic long failed;
	long first = 0, last = -1, times = -1;
	int n = sscanf(which, "%ld-%ldx%ld", &first, &last, &times);

	if (n < 2)
		last = first;
	return at >= 0 && at / 512 <= last && (at + len - 1) / 512 >= first &&
	       (times < 0 || failed++ < times);
}

static void
note_fired(void)
{
	const char *path = getenv("FAULT_FIRED");

	if (path != NULL)
		syscall(SYS_close, open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* Does this call, of `len` bytes at `at`, fail?  Then *rc is what it returns, with
 * errno. */
static bool
fails(const char *op, int fd, long len, long at, long *rc)
{
	char want[16], kind[16], which[32];
	const char *fault = getenv("FAULT");
	long n;
	int path_at = 0;

	if (fault == NULL ||
	    sscanf(fault, "%15[^:]:%31[^:]:%15[^:]:%n", want, which, kind, &path_at) !=
		3 ||
	    path_at == 0 || strcmp(op, want) != 0 || !is_the_file(fd, fault + path_at))
		return false;
	if (strcmp(kind, "bad") == 0) {
		if (!is_bad(which, at, len))
			return false;
		note_fired();
		*rc = -1;
		errno = EIO;
		return true;
	}
	long call = ++calls;
	n = atol(which);
	if (call < n ||
	    (call > n && (strcmp(kind, "eio") == 0 || strcmp(kind, "astray") == 0)))
		return false;
	note_fired();
	if (strcmp(kind, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(kind, "astray") == 0 || strcmp(kind, "lost") == 0)
		return *rc = len, true;
	*rc = strcmp(kind, "end") == 0 ? 0 : -1;
	errno = strcmp(kind, "full") == 0   ? ENOSPC
	        : strcmp(kind, "gone") == 0 ? ENXIO
	                                    : EIO;
	return true;
}

#define FAULTY(type, name, op, len, at, params, ...) \
	type name params; \
	type name params \
	{ \
		static type(*real) params; \
		long rc; \
		if (real == NULL) \
			real = (type(*) params)dlsym(RTLD_NEXT, #name); \
		return fails(op, fd, (long)(len), (long)(at), &rc) \
		           ? (type)rc \
		           : real(__VA_ARGS__); \
	}

FAULTY(ssize_t, pread64, "pread", n, at, (int fd, void *buf, size_t n, off64_t at), fd,
    buf, n, at)
FAULTY(ssize_t, pwrite64, "pwrite", n, at,
    (int fd, const void *buf, size_t n, off64_t at), fd, buf, n, at)
FAULTY(ssize_t, read, "read", n, -1, (int fd, void *buf, size_t n), fd, buf, n)
FAULTY(ssize_t, write, "write", n, -1, (int fd, const void *buf, size_t n), fd, buf, n)
FAULTY(int, fsync, "fsync", 0, -1, (int fd), fd)
FAULTY(int, fdatasync, "fdatasync", 0, -1, (int fd), fd)
FAULTY(int, ftruncate64, "ftruncate", 0, -1, (int fd, off64_t n), fd, n)

/* The descriptor is closed whatever is said. */
int
close(int fd)
{
	static int (*real)(int);
	long rc;

	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "close");
	bool bad = fails("close", fd, 0, -1, &rc);
	int why = errno, closed = real(fd);
	if (!bad)
		return closed;
	errno = why;
	return -1;
}
