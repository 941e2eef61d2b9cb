/* inuse_open.c: which process has a place open for writing, and which place is claimed.
 *
 * Called by inuse.c alone, in its caller's thread.
 * A file descriptor is looked at with statx() and without asking a server, so that a
 * network filesystem that does not answer holds nobody up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/timed.h"
#include "common/disk/inuse_impl.h"

/* A claim is looked for several times, because another program that looks for claims, as
 * this does, claims the device for a moment. */
enum { CLAIM_TRIES = 5, CLAIM_WAIT_US = 20000 };

struct writer_search {
	struct inuse_places *places;
	const struct inuse_query *q;
	const char *root;
	char fds[64]; /* "proc/123/fd" */
	const char *pid;
	bool *unseen;
	char *buf;
	size_t cap;
};

static bool
stat_descriptor(const struct writer_search *x, const char *fd, struct stat *st)
{
	char path[INUSE_PATH_BYTES];
	struct statx sx;

	snprintf(path, sizeof path, "%.2000s/%s/%.20s", x->root, x->fds, fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		STATX_TYPE | STATX_INO, &sx) != 0)
		return false;
	*st = (struct stat){ .st_mode = sx.stx_mode,
		.st_ino = sx.stx_ino,
		.st_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.st_rdev = makedev(sx.stx_rdev_major, sx.stx_rdev_minor) };
	return true;
}

/* fdinfo has "flags:" and what open(2) was given, in octal. */
static bool
open_for_writing(const struct writer_search *x, const char *fd)
{
	char path[INUSE_PATH_BYTES], line[128];
	unsigned flags = O_RDONLY;

	snprintf(path, sizeof path, "%.2000s/proc/%.20s/fdinfo/%.20s", x->root, x->pid,
	    fd);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	fclose(f);
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* The process that has started another one; 0: it is not known. */
static long
parent_of(const char *root, long pid)
{
	char line[1024];
	long parent;

	if (!inuse_line(root, line, sizeof line, "proc/%ld/stat", pid))
		return 0;
	const char *name_end = strrchr(line, ')');
	return name_end != NULL && sscanf(name_end, ") %*c %ld", &parent) == 1 ? parent : 0;
}

/* Has one process started the other, or a process that has? */
static bool
descends(const char *root, long pid, long from)
{
	enum { DEPTH = 1000 }; /* /proc changes while it is read */

	for (unsigned i = 0; i < DEPTH && pid > 0 && pid != from; i++)
		pid = parent_of(root, pid);
	return pid == from;
}

/* May this process have it open for writing? */
static bool
is_harmless(const struct writer_search *x, long pid)
{
	const struct inuse_query *q = x->q;

	if (q->purpose == INUSE_TO_READ)
		return false;
	return descends(x->root, pid, (long)getpid()) ||
	       descends(x->root, (long)getpid(), pid) ||
	       (q->is_fellow != NULL && q->is_fellow(q->fellows, pid));
}

static int
look_at_descriptor(void *arg, const char *fd)
{
	struct writer_search *x = arg;
	char program[64] = "a program";
	struct stat st;

	if (!stat_descriptor(x, fd, &st))
		return 0;
	const struct inuse_place *p = inuse_place_of(x->places, &st);
	if (p == NULL || !open_for_writing(x, fd) || is_harmless(x, atol(x->pid)))
		return 0;
	inuse_line(x->root, program, sizeof program, "proc/%.20s/comm", x->pid);
	snprintf(x->buf, x->cap, "%s (process %.20s) has %s open for writing", program,
	    x->pid, p->name);
	return 1;
}

/* The kernel shows what a process has open to whom it shows its folder. */
static bool
is_closed(const char *root, const char *pid)
{
	char path[INUSE_PATH_BYTES], folder[2];

	snprintf(path, sizeof path, "%.2000s/proc/%.20s/cwd", root, pid);
	return readlink(path, folder, sizeof folder) < 0 &&
	       (errno == EACCES || errno == EPERM);
}

static int
look_at_process(void *arg, const char *pid)
{
	struct writer_search *x = arg;

	if (strspn(pid, "0123456789") != strlen(pid) || atol(pid) == (long)getpid())
		return 0;
	x->pid = pid;
	snprintf(x->fds, sizeof x->fds, "proc/%.20s/fd", pid);
	*x->unseen |= is_closed(x->root, pid) && !is_harmless(x, atol(pid));
	return inuse_entries(x->root, x->fds, look_at_descriptor, x);
}

void
inuse_find_writer(struct inuse_places *s, const struct inuse_query *q, bool *unseen,
    char *buf, size_t cap)
{
	struct writer_search x = { .places = s,
		.q = q,
		.root = q->root,
		.unseen = unseen,
		.buf = buf,
		.cap = cap };
	char line[8];

	buf[0] = '\0';
	*unseen = !inuse_line(q->root, line, sizeof line, "proc/1/comm"); /* hidepid= */
	inuse_entries(q->root, "proc", look_at_process, &x);
}

/* The kernel claims a device that is mounted or a part of another device.  Then opening it
 * with O_EXCL fails, and so it does for the disk that a partition is on. */
static bool
is_claimed(const char *root, const struct inuse_place *p)
{
	char path[INUSE_PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof path, "%.2000s%.*s", root, (int)strcspn(p->name, " "),
	    p->name);
	for (int i = 0; i < CLAIM_TRIES; i++) {
		if (i > 0)
			timed_sleep(CLAIM_WAIT_US);
		int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno != EBUSY)
			return false;
		if (fd >= 0) {
			close(fd);
			return false;
		}
	}
	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == p->dev;
}

dev_t
inuse_disk_of(const char *root, dev_t dev)
{
	unsigned maj = major(dev), min = minor(dev);
	char line[64];

	if (!inuse_line(
		root, line, sizeof line, "sys/dev/block/%u:%u/partition", maj, min) ||
	    !inuse_line(
		root, line, sizeof line, "sys/dev/block/%u:%u/../dev", maj, min) ||
	    sscanf(line, "%u:%u", &maj, &min) != 2)
		return 0;
	return makedev(maj, min);
}

/* A claim on a disk is one on its partitions, and the other way round. */
static bool
accounted_for(
    const struct inuse_places *s, const char *root, const struct inuse_place *p)
{
	dev_t disk = inuse_disk_of(root, p->dev);

	for (size_t i = 0; i < s->n; i++) {
		const struct inuse_place *x = &s->v[i];
		if (!x->is_device)
			continue;
		if (disk != 0 && x->dev == disk && x->seen)
			return true;
		if (inuse_disk_of(root, x->dev) == p->dev &&
		    (x->seen || is_claimed(root, x)))
			return true;
	}
	return false;
}

void
inuse_find_claim(struct inuse_places *s, const char *root, char *buf, size_t cap)
{
	buf[0] = '\0';
	for (size_t i = 0; i < s->n; i++) {
		const struct inuse_place *p = &s->v[i];
		if (!p->is_device || p->outer || p->aside || p->seen ||
		    !is_claimed(root, p) || accounted_for(s, root, p))
			continue;
		snprintf(buf, cap,
		    "%s is claimed by something that cannot be seen from here, "
		    "perhaps a filesystem that is mounted in another namespace",
		    p->name);
		return;
	}
}
