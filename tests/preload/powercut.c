/* powercut.so: a program whose files lose power.
 *	LD_PRELOAD=powercut.so POWERCUT_AT=N POWERCUT_SEED=N POWERCUT_FILES=PATH[:PATH] program...
 * The N-th write or flush of one of these files is the last one: of what was written to them and
 * not flushed, each write is lost, kept, or torn, so that of its sectors of 512 bytes some are kept
 * and others lost, and the program is killed.
 *
 * Writes go to the files at once, and what was there before is kept in memory.  One lock is held in
 * each of these functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../random.h"

enum { SECTOR_BYTES = 512, FILES_MAX = 4 };

struct change {
	struct change *next, *before; /* in order, and against it */
	unsigned file;
	uint64_t at;
	size_t n;
	uint8_t *was, *is;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct change *first, *last;
static struct stat files[FILES_MAX];
static int plain[FILES_MAX]; /* descriptors through the page cache */
static unsigned nfiles;
static uint64_t cut_at, calls;

static uint64_t
number(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? strtoull(value, NULL, 10) : 0;
}

__attribute__((constructor)) static void
begin(void)
{
	char *paths = strdup(getenv("POWERCUT_FILES") != NULL ? getenv("POWERCUT_FILES") : "");

	cut_at = number("POWERCUT_AT");
	draw_seed = number("POWERCUT_SEED");
	for (char *p = strtok(paths, ":"); p != NULL && nfiles < FILES_MAX; p = strtok(NULL, ":")) {
		int fd = open(p, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd >= 0 && fstat(fd, &files[nfiles]) == 0)
			plain[nfiles++] = fd;
	}
	free(paths);
}

/* Which of the files is this?  -1: none of them. */
static int
file_of(int fd)
{
	struct stat st;

	if (nfiles == 0 || fstat(fd, &st) != 0)
		return -1;
	for (unsigned i = 0; i < nfiles; i++)
		if (st.st_dev == files[i].st_dev && st.st_ino == files[i].st_ino)
			return (int)i;
	return -1;
}

static void
put(const struct change *c, const uint8_t *data, size_t in, size_t n)
{
	ssize_t (*real)(int, const void *, size_t, off_t);

	*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	if (real(plain[c->file], data + in, n, (off_t)(c->at + in)) != (ssize_t)n)
		abort();
}

/* Write again what of a change has survived. */
static void
survive(const struct change *c)
{
	enum { LOST, KEPT, TORN, FATES };
	uint64_t fate = draw(FATES);

	for (size_t in = 0, n; in < c->n; in += n) {
		n = SECTOR_BYTES - (c->at + in) % SECTOR_BYTES;
		n = n < c->n - in ? n : c->n - in;
		if (fate == KEPT || (fate == TORN && draw(2) == 0))
			put(c, c->is, in, n);
	}
}

static void
lose_power(void)
{
	for (const struct change *c = last; c != NULL; c = c->before)
		put(c, c->was, 0, c->n);
	for (const struct change *c = first; c != NULL; c = c->next)
		survive(c);
	raise(SIGKILL);
}

static void
note(int file, uint64_t at, size_t n, const void *data)
{
	struct change *c = calloc(1, sizeof *c);

	*c = (struct change){ .before = last, .file = (unsigned)file, .at = at, .n = n };
	c->was = calloc(1, n);
	c->is = calloc(1, n);
	if (pread(plain[file], c->was, n, (off_t)at) < 0)
		abort();
	if (data != NULL)
		memcpy(c->is, data, n);
	if (last != NULL)
		last->next = c;
	else
		first = c;
	last = c;
}

static void
forget(int file)
{
	struct change *kept = NULL, *end = NULL, *next;

	for (struct change *c = first; c != NULL; c = next) {
		next = c->next;
		if (c->file == (unsigned)file) {
			free(c->was);
			free(c->is);
			free(c);
			continue;
		}
		c->before = end;
		c->next = NULL;
		if (end != NULL)
			end->next = c;
		else
			kept = c;
		end = c;
	}
	first = kept;
	last = end;
}

static bool
is_last(void)
{
	return ++calls == cut_at;
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t at)
{
	ssize_t (*real)(int, const void *, size_t, off_t);
	int file = file_of(fd);

	*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	if (file < 0)
		return real(fd, buf, n, at);
	pthread_mutex_lock(&lock);
	note(file, (uint64_t)at, n, buf);
	if (is_last())
		lose_power();
	ssize_t rc = real(fd, buf, n, at);
	pthread_mutex_unlock(&lock);
	return rc;
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	return pwrite(fd, buf, n, at);
}

/* A hole is zeros that were written.  Room that is given to a file changes nothing of what it has. */
int
fallocate(int fd, int mode, off_t at, off_t n)
{
	int (*real)(int, int, off_t, off_t);
	int file = file_of(fd);

	*(void **)&real = dlsym(RTLD_NEXT, "fallocate");
	if (file < 0 || mode == 0)
		return real(fd, mode, at, n);
	pthread_mutex_lock(&lock);
	note(file, (uint64_t)at, (size_t)n, NULL);
	if (is_last())
		lose_power();
	int rc = real(fd, mode, at, n);
	pthread_mutex_unlock(&lock);
	return rc;
}

int
fallocate64(int fd, int mode, off64_t at, off64_t n)
{
	return fallocate(fd, mode, at, n);
}

int
fsync(int fd)
{
	int file = file_of(fd);

	if (file < 0)
		return fdatasync(fd);
	pthread_mutex_lock(&lock);
	if (is_last())
		lose_power();
	forget(file);
	pthread_mutex_unlock(&lock);
	return 0;
}
