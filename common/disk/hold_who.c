/* hold_who.c: who has a lock, as the kernel lists it.  hold.c alone calls this, in its
 * caller's thread.  /proc/locks has the locks of all processes that can be seen,
 * /proc/PID/fdinfo those of one open file. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/disk/hold_impl.h"
#include "common/disk/inuse_impl.h"

/* A line "1: FLOCK  ADVISORY  WRITE 12 fd:00:345 0 EOF".  The kernel names the device of
 * the filesystem, which some filesystems hide from stat(2). */
struct lock_line {
	char access[8]; /* "READ", "WRITE" */
	long pid;
	unsigned maj, min;
	unsigned long ino;
};

static bool
parse(struct lock_line *l, const char *line)
{
	return sscanf(line, "%*d: FLOCK %*s %7s %ld %x:%x:%lu", l->access, &l->pid,
		   &l->maj, &l->min, &l->ino) == 5;
}

/* Call each(arg, line) for all locks by flock(2) of the file or node, until one returns
 * true. */
static bool
find_lock(const struct stat *st, bool (*each)(void *arg, const struct lock_line *),
    void *arg)
{
	struct lock_line l;
	char *line = NULL;
	size_t cap = 0;
	bool found = false;

	FILE *f = fopen("/proc/locks", "re");
	while (f != NULL && !found && getline(&line, &cap, f) > 0)
		found = parse(&l, line) && l.ino == st->st_ino && each(arg, &l);
	free(line);
	if (f != NULL)
		fclose(f);
	return found;
}

/* Is it another process that has the lock, and which one? */
struct holder {
	dev_t dev;
	struct range bytes; /* len 0: any */
	unsigned long ino;
	char fds[64]; /* "proc/12/fdinfo" */
	long pid;     /* 0: none was found */
};

/* Has this descriptor a lock of any of the bytes?  Its end is "EOF", or its last byte. */
static int
has_bytes(void *arg, const char *fd)
{
	const struct holder *h = arg;
	char path[INUSE_NAME_BYTES], line[256];
	uint64_t from, last;
	unsigned long ino;
	int found = 0;

	snprintf(path, sizeof path, "/%s/%.20s", h->fds, fd);
	FILE *f = fopen(path, "re");
	while (f != NULL && found == 0 && fgets(line, sizeof line, f) != NULL)
		found = sscanf(line, "lock: %*d: OFDLCK %*s WRITE %*d %*x:%*x:%lu %" SCNu64
				     " %" SCNu64, &ino, &from, &last) == 3 &&
		        ino == h->ino &&
		        range_clip(h->bytes, from, last + 1).len != 0;
	if (f != NULL)
		fclose(f);
	return found;
}

static bool
holds_bytes(struct holder *h, long pid)
{
	snprintf(h->fds, sizeof h->fds, "proc/%ld/fdinfo", pid);
	return h->bytes.len == 0 || inuse_entries("", h->fds, has_bytes, h) != 0;
}

static bool
note_holder(void *arg, const struct lock_line *l)
{
	struct holder *h = arg;

	if (l->pid <= 0 || l->pid == (long)getpid())
		return false;
	h->pid = l->pid;
	/* else another one may fit better */
	return makedev(l->maj, l->min) == h->dev && holds_bytes(h, l->pid);
}

void
hold_who(const struct stat *st, struct range bytes, char *buf, size_t cap)
{
	struct holder h = { .dev = st->st_dev, .bytes = bytes, .ino = st->st_ino };
	char program[64];

	find_lock(st, note_holder, &h);
	if (h.pid == 0 ||
	    !inuse_line("", program, sizeof program, "proc/%ld/comm", h.pid))
		snprintf(buf, cap, "another program");
	else
		snprintf(buf, cap, "%s (process %ld)", program, h.pid);
}

static bool
is_share_of(void *arg, const struct lock_line *l)
{
	const long *pid = arg;

	return l->pid == *pid && strcmp(l->access, "READ") == 0;
}

bool
hold_has_share(const struct stat *st, long pid)
{
	return find_lock(st, is_share_of, &pid);
}

/* Has this descriptor the lock of all? */
static bool
has_lock(const char *fd)
{
	char path[INUSE_NAME_BYTES], line[256];
	struct lock_line l;
	bool found = false;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%.20s", fd);
	FILE *f = fopen(path, "re");
	while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
		found = strncmp(line, "lock:", 5) == 0 && parse(&l, line + 5) &&
		        strcmp(l.access, "WRITE") == 0;
	if (f != NULL)
		fclose(f);
	return found;
}

/* A descriptor that a program makes for itself is closed on exec; one that it was
 * given, or gives to others, is not. */
static int
is_inherited(void *arg, const char *name)
{
	const struct stat *of = arg;
	int fd = atoi(name), flags = fcntl(fd, F_GETFD);
	struct stat st;

	return flags >= 0 && (flags & FD_CLOEXEC) == 0 && fstat(fd, &st) == 0 &&
	       st.st_dev == of->st_dev && st.st_ino == of->st_ino && has_lock(name);
}

bool
hold_inherited(const struct stat *st)
{
	struct stat of = *st;

	return inuse_entries("", "proc/self/fd", is_inherited, &of) != 0;
}
