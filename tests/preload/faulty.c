/* faulty.so: one file on which the n-th access fails, for whole programs.
 *	LD_PRELOAD=faulty.so FAULT=OP:N:KIND:PATH FAULT_FIRED=FILE program...
 * PATH may be the beginning of it: a program may write under another name first.
 * OP: pread, pwrite (and write, of a file that has places), read, write, fsync, fdatasync,
 * ftruncate, close; clear (holes punched, BLKZEROOUT, BLKDISCARD); change: whatever of
 * pwrite, fsync, ftruncate and clear comes.  With FAULT_CALLS=FILE, the program's end
 * writes there how many came.
 * KIND:
 *	eio	the N-th fails with EIO, those behind it do not
 *	dead	the N-th and all that follow: EIO
 *	full	the N-th and all that follow: ENOSPC
 *	quota	the N-th fails with EDQUOT, those behind it do not
 *	gone	the N-th and all that follow: ENXIO, as of a disk pulled out
 *	astray	the N-th write is said to be done, and is not
 *	lost	the N-th and all that follow are
 *	kill	the program ends there, as by kill -9
 *	stall	the N-th never returns
 *	signal	SIGINT comes just before the N-th, which is done then
 *	torn	a pwrite does half of it, in whole sectors, before that
 *	power	of what was written to the file PATH and not flushed, half is undone,
 *		piece by piece by lot (FAULT_SEED), and the program ends; with change
 *	end	the N-th and all that follow find the end of the file (it shrank)
 *	bad	reads that touch the N-th sector of 512 bytes, every time: EIO; N-M: one
 *		of sectors N to M; N-MxT: only T times, then they can be read again
 * FILE is made when that has happened. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../random.h"

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

/* What stood where something was written since the last flush, the newest first. */
struct undo {
	struct undo *older;
	off_t at;
	size_t len;
	char bytes[];
};
static struct undo *undos;
static pthread_mutex_t undo_lock = PTHREAD_MUTEX_INITIALIZER;

static int
open_itself(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

static void
remember(const char *op, const char *path, long at, long len)
{
	pthread_mutex_lock(&undo_lock);
	if (strcmp(op, "fsync") == 0)
		undos = NULL;
	struct undo *u = at >= 0 ? calloc(1, sizeof *u + (size_t)len) : NULL;
	if (u != NULL) {
		int fd = open_itself(path);
		*u = (struct undo){ undos, at, (size_t)len };
		if (syscall(SYS_pread64, fd, u->bytes, u->len, u->at) >= 0)
			undos = u;
		syscall(SYS_close, fd);
	}
	pthread_mutex_unlock(&undo_lock);
}

static void
cut_power(const char *path)
{
	const char *seed = getenv("FAULT_SEED");
	int fd = open_itself(path);

	draw_seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
	pthread_mutex_lock(&undo_lock);
	for (struct undo *u = undos; u != NULL; u = u->older)
		if (draw(2) == 0 &&
		    syscall(SYS_pwrite64, fd, u->bytes, u->len, u->at) < 0)
			perror("faulty.so: undoing a write");
	kill(getpid(), SIGKILL);
}

static void
note_fired(void)
{
	const char *path = getenv("FAULT_FIRED");

	if (path != NULL)
		syscall(SYS_close, open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* Every call that changes the file is a "change", too. */
static bool
is_wanted(const char *op, const char *want)
{
	static const char *const changes[] = { "pwrite", "fsync", "ftruncate",
		"clear" };

	for (unsigned i = 0; i < 4; i++)
		if (strcmp(want, "change") == 0 && strcmp(op, changes[i]) == 0)
			return true;
	return strcmp(op, want) == 0;
}

__attribute__((destructor)) static void
tell_calls(void)
{
	const char *path = getenv("FAULT_CALLS");
	FILE *f = path != NULL ? fopen(path, "w") : NULL;

	if (f != NULL) {
		fprintf(f, "%ld\n", (long)calls);
		fclose(f);
	}
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
	    path_at == 0 || !is_wanted(op, want) || !is_the_file(fd, fault + path_at))
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
	if (strcmp(kind, "power") == 0 && call < n)
		remember(op, fault + path_at, at, len);
	if (call < n ||
	    (call > n && (strcmp(kind, "eio") == 0 || strcmp(kind, "astray") == 0 ||
			     strcmp(kind, "stall") == 0 || strcmp(kind, "quota") == 0 ||
			     strcmp(kind, "signal") == 0)))
		return false;
	note_fired();
	if (strcmp(kind, "signal") == 0)
		return raise(SIGINT), false;
	if (strcmp(kind, "power") == 0)
		cut_power(fault + path_at);
	while (strcmp(kind, "stall") == 0)
		pause();
	if (strcmp(kind, "torn") == 0 && strcmp(op, "pwrite") == 0)
		return *rc = -2, true;
	if (strcmp(kind, "kill") == 0 || strcmp(kind, "torn") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(kind, "astray") == 0 || strcmp(kind, "lost") == 0)
		return *rc = len, true;
	*rc = strcmp(kind, "end") == 0 ? 0 : -1;
	errno = strcmp(kind, "full") == 0    ? ENOSPC
	        : strcmp(kind, "quota") == 0 ? EDQUOT
	        : strcmp(kind, "gone") == 0  ? ENXIO
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

/* Put bytes at a place, or fail; `put` does it. */
static ssize_t
put_at(ssize_t (*put)(int, const void *, size_t, off64_t), int fd, const void *buf, size_t n,
    off64_t at)
{
	long rc;

	if (!fails("pwrite", fd, (long)n, (long)at, &rc))
		return put(fd, buf, n, at);
	if (rc != -2)
		return rc;
	if (put(fd, buf, n / 2 / 512 * 512, at) < 0)
		perror("faulty.so: the torn write");
	kill(getpid(), SIGKILL);
	return -1;
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off64_t);

	if (real == NULL)
		real = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(
		    RTLD_NEXT, "pwrite64");
	return put_at(real, fd, buf, n, at);
}

static ssize_t
put_here(int fd, const void *buf, size_t n, off64_t at)
{
	static ssize_t (*real)(int, const void *, size_t);
	(void)at;

	if (real == NULL)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	return real(fd, buf, n);
}

/* Of a file that has places this is a pwrite, too. */
ssize_t
write(int fd, const void *buf, size_t n)
{
	long rc;

	if (fails("write", fd, (long)n, -1, &rc))
		return rc;
	off64_t at = getenv("FAULT") != NULL ? lseek64(fd, 0, SEEK_CUR) : -1;
	return at >= 0 ? put_at(put_here, fd, buf, n, at) : put_here(fd, buf, n, at);
}

FAULTY(ssize_t, read, "read", n, -1, (int fd, void *buf, size_t n), fd, buf, n)
FAULTY(int, fsync, "fsync", 0, -1, (int fd), fd)
FAULTY(int, fdatasync, "fdatasync", 0, -1, (int fd), fd)
FAULTY(int, ftruncate64, "ftruncate", 0, -1, (int fd, off64_t n), fd, n)

FAULTY(int, fallocate64, "clear", n, at, (int fd, int mode, off64_t at, off64_t n), fd,
    mode, at, n)

int
ioctl(int fd, unsigned long what, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list ap;
	long rc;

	va_start(ap, what);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (real == NULL)
		real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if ((what == BLKZEROOUT || what == BLKDISCARD) &&
	    fails("clear", fd, 0, -1, &rc))
		return (int)rc;
	return real(fd, what, arg);
}

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
