/* hold.c: takes the locks of hold.h, and looks who else writes.  disk_open() calls this
 * for all that is opened for writing; installations into partitions, growfs and dsync
 * call it themselves; in any thread. */
#include "common/disk/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/test_times.h"
#include "common/disk/hold_impl.h"
#include "common/disk/inuse.h"

/* udev and others lock or open a device for a moment after each change; 5 s are enough
 * for them also on a busy machine, and a user still waits for an answer then. */
#define PATIENCE_US UINT64_C(5000000)

/* Loop devices may lie on files of loop devices; deeper than this nobody looks. */
enum { LOCKS_MAX = 8, CLAIMS_MAX = 64, LOOK_AGAIN_MS = 50 };

struct lock {
	int fd;       /* has the lock by flock(2) */
	int range_fd; /* has that of some bytes; -1: all is locked */
	bool borrowed; /* an inherited descriptor has the lock */
	struct stat st;
	struct hold_node node; /* where the bytes of what is held lie in it */
};

struct disk_hold {
	unsigned n, nclaims;
	struct lock lock[LOCKS_MAX];
	int claim[CLAIMS_MAX]; /* the kernel's partitions, opened exclusively */
	uint64_t until_us;     /* nothing is waited for any more */
	struct stat st;        /* of what is held; st_mode is 0 when that is nothing */
	bool shared;           /* only some sectors of it will be written */
	bool made, unseen;
};

bool
hold_waits(const struct disk_hold *h)
{
	if (h == NULL || clock_us() >= h->until_us || cancel_signal() != 0)
		return false;
	poll(NULL, 0, LOOK_AGAIN_MS);
	return true;
}

static bool
can_be_held(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISBLK(st->st_mode);
}

static bool
same(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode))
		return S_ISBLK(b->st_mode) && a->st_rdev == b->st_rdev;
	return S_ISREG(b->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whoever waits does not have it open for writing, or the one who has the lock would
 * see a writer. */
static int
open_node(const char *name, bool make)
{
	int how = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (make ? O_CREAT : 0);
	int fd = open(name, how | O_RDONLY, 0666);

	return fd < 0 && errno == EACCES ? open(name, how | O_WRONLY, 0666) : fd;
}

static int
refuse(const char *path, const struct lock *l, struct range bytes, struct err *e)
{
	char who[100];

	hold_who(&l->st, bytes, who, sizeof who);
	return err_set(e, ERR_REFUSED, "%s is in use: %s has locked %s", path, who,
	    strcmp(path, l->node.name) == 0 ? "it" : l->node.name);
}

/* NFS locks for writing only what is open for writing. */
static bool
opened_anew(struct lock *l, const char *name)
{
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return false;
	close(l->fd);
	l->fd = fd;
	return true;
}

static int
lock_node(struct disk_hold *h, const char *path, struct lock *l, bool shared,
    struct err *e)
{
	bool anew = false;
	int got;

	while ((got = lock_try(l->fd, shared)) != 1) {
		if (got < 0 && errno == EBADF && !anew &&
		    (anew = opened_anew(l, l->node.name)))
			continue;
		if (got < 0)
			return 0; /* there are no locks here */
		if (!hold_waits(h))
			return refuse(path, l, (struct range){ 0, 0 }, e);
	}
	return 0;
}

/* NFS makes one kind of both kinds of locks, of which ours would exclude each other. */
static bool
knows_one_kind(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == NFS_SUPER_MAGIC;
}

/* The lock of some bytes needs a descriptor for writing.  Without one, all is locked. */
static int
lock_bytes(struct disk_hold *h, const char *path, struct lock *l, struct range r,
    struct err *e)
{
	const struct hold_node *n = &l->node;
	int got;

	if (l->range_fd < 0 && !knows_one_kind(l->fd))
		l->range_fd = open(n->name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (l->range_fd < 0)
		return lock_node(h, path, l, false, e);
	while ((got = lock_try_bytes(l->range_fd, r.off, r.len)) != 1) {
		if (got < 0)
			return 0;
		if (!hold_waits(h))
			return refuse(path, l, r, e);
	}
	return 0;
}

/* The descriptor becomes the hold's. */
static int
add_lock(struct disk_hold *h, const char *path, const struct hold_node *n, int fd,
    struct err *e)
{
	struct lock *l = &h->lock[h->n++];
	bool some = h->shared || n->bytes.len != 0;

	*l = (struct lock){ .fd = fd, .range_fd = -1, .node = *n };
	if (fstat(fd, &l->st) != 0)
		return err_os(e, "%s", path);
	l->borrowed = hold_inherited(&l->st);
	if (l->borrowed)
		return 0;
	if (lock_node(h, path, l, some, e) != 0)
		return -1;
	/* Which bytes of what is shared will be written is not known yet. */
	return h->shared || !some ? 0 : lock_bytes(h, path, l, n->bytes, e);
}

/* Lock what lies behind a loop device that is locked already. */
static int
lock_below(struct disk_hold *h, const char *path, struct hold_node *n, struct err *e)
{
	struct stat st;

	while (h->n > 0 && h->n < LOCKS_MAX &&
	       hold_node_below(n, &h->lock[h->n - 1].st)) {
		if (stat(n->name, &st) != 0 || !can_be_held(&st))
			return 0; /* it was removed, or has that name elsewhere */
		hold_node_of(n, &st);
		int fd = open_node(n->name, false);
		if (fd < 0)
			return 0;
		if (add_lock(h, path, n, fd, e) != 0)
			return -1;
	}
	return 0;
}

static int
unlock_all(struct disk_hold *h)
{
	int rc = 0;

	while (h->n > 0) {
		struct lock *l = &h->lock[--h->n];
		/* Others may have the same descriptor: that of a shell, or a child that
		 * was forked. */
		if (!l->borrowed)
			lock_end(l->fd);
		if (close(l->fd) != 0 && errno != EINTR)
			rc = -1;
		if (l->range_fd >= 0 && close(l->range_fd) != 0 && errno != EINTR)
			rc = -1;
	}
	return rc;
}

/* Find what is to be locked first, and open it.  -1: it cannot be opened. */
static int
open_first(struct disk_hold *h, const struct hold_wish *w, struct hold_node *n)
{
	bool there = stat(w->path, &h->st) == 0;

	snprintf(n->name, sizeof n->name, "%s", w->path);
	n->bytes = (struct range){ 0, 0 };
	h->made = false;
	if (there ? !can_be_held(&h->st) : !w->make) {
		h->st = (struct stat){ .st_mode = 0 };
		return -1;
	}
	if (there)
		hold_node_of(n, &h->st);
	int fd = open_node(n->name, !there);
	h->made = !there && fd >= 0;
	if (h->made && fstat(fd, &h->st) != 0)
		h->st = (struct stat){ .st_mode = 0 };
	return fd;
}

/* Lock once.  Returns 1 when the name leads to something else now: whoever had the lock
 * has removed or renamed the file. */
static int
lock_once(struct disk_hold *h, const struct hold_wish *w, struct err *e)
{
	struct hold_node n;
	struct stat now;
	int fd = open_first(h, w, &n);

	if (fd < 0)
		return 0; /* whoever opens it says why that fails */
	if (add_lock(h, w->path, &n, fd, e) != 0)
		return -1;
	if (stat(w->path, &now) != 0 || !same(&h->st, &now))
		return 1;
	h->st = now;
	return lock_below(h, w->path, &n, e);
}

static int
lock_all(struct disk_hold *h, const struct hold_wish *w, struct err *e)
{
	int rc;

	while ((rc = lock_once(h, w, e)) == 1) {
		unlock_all(h);
		if (!hold_waits(h))
			return err_set(e, ERR_REFUSED,
			    "%s is in use: other programs write and replace it", w->path);
	}
	return rc;
}

/* Does this process hold other sectors of the same disk? */
static bool
is_fellow(const void *arg, long pid)
{
	const struct disk_hold *h = arg;

	for (unsigned i = 0; i < h->n; i++)
		if (h->lock[i].range_fd >= 0 && hold_has_share(&h->lock[i].st, pid))
			return true;
	return false;
}

/* Has nobody else this file open?  Only then the kernel grants a lease for writing (fcntl(2)),
 * which is asked in no time; the look at all processes takes milliseconds.  Who opens the file
 * before the lease has ended waits so long, and the signal that tells of it is ignored. */
static bool
is_ours_alone(const struct disk_hold *h)
{
	if (!S_ISREG(h->st.st_mode) || h->n != 1 || h->lock[0].borrowed)
		return false;
	int fd = h->lock[0].fd;
	if (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

/* Look who uses it.  Who has it open for writing may have done so for a moment. */
static int
look(struct disk_hold *h, const struct hold_wish *w, bool standard, struct err *e)
{
	struct inuse_found found;
	const struct inuse_query q = { .root = "",
		.path = w->path,
		.st = h->st,
		.purpose = INUSE_TO_WRITE,
		.no_writers = standard,
		.is_fellow = is_fellow,
		.fellows = h,
		.found = &found };
	int rc;

	if (is_ours_alone(h))
		return 0;
	do {
		found = (struct inuse_found){ .writer = false };
		rc = w->sectors.len == 0 ? inuse_check(&q, e)
		                         : inuse_check_area(&q, w->sectors, e);
	} while (rc != 0 && found.writer && hold_waits(h));
	h->unseen = found.unseen;
	return rc;
}

static struct disk_hold *
new_hold(const char *path, struct err *e)
{
	struct disk_hold *h = calloc(1, sizeof *h);

	if (h == NULL)
		err_nomem(e, path);
	else
		h->until_us = clock_us() + test_time_us("hold", PATIENCE_US);
	return h;
}

/* Hands the hold over, or ends it.  Whoever was told to end has waited in vain for that
 * reason. */
static int
settle(struct disk_hold **out, struct disk_hold *h, int rc, struct err *e)
{
	*out = rc == 0 ? h : NULL;
	if (rc == 0)
		return 0;
	hold_end(h);
	(void)cancel_check(e);
	return -1;
}

int
hold_begin(struct disk_hold **out, const struct hold_wish *w, struct err *e)
{
	struct disk_hold *h = new_hold(w->path, e);

	*out = NULL;
	if (h == NULL)
		return -1;
	int rc = lock_all(h, w, e);
	/* Nobody else can use what was made here. */
	if (rc == 0 && h->st.st_mode != 0 && !h->made && !w->no_look)
		rc = look(h, w, false, e);
	return settle(out, h, rc, e);
}

static int
lock_standard(struct disk_hold *h, const char *path, int fd, struct err *e)
{
	struct hold_node n = { .bytes = { 0, 0 } };
	bool file = S_ISREG(h->st.st_mode);

	snprintf(n.name, sizeof n.name, "%s", path);
	hold_node_of(&n, &h->st);
	int own = file ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : open_node(n.name, false);
	if (own < 0)
		return 0;
	return add_lock(h, path, &n, own, e) == 0 ? lock_below(h, path, &n, e) : -1;
}

int
hold_standard(struct disk_hold **out, int fd, bool no_look, struct err *e)
{
	const struct hold_wish w = { .path = "stdout" };
	struct disk_hold *h = new_hold(w.path, e);
	int rc = 0;

	*out = NULL;
	if (h == NULL)
		return -1;
	if (fstat(fd, &h->st) != 0 || !can_be_held(&h->st))
		h->st = (struct stat){ .st_mode = 0 };
	if (h->st.st_mode != 0)
		rc = lock_standard(h, w.path, fd, e);
	if (rc == 0 && h->st.st_mode != 0 && !no_look)
		rc = look(h, &w, true, e);
	return settle(out, h, rc, e);
}

static int
claim(struct disk_hold *h, const char *path, const char *name, struct err *e)
{
	int fd;

	do
		fd = open(name, O_RDONLY | O_EXCL | O_CLOEXEC);
	while (fd < 0 && errno == EBUSY && hold_waits(h));
	if (fd < 0 && errno == EBUSY)
		return err_set(e, ERR_REFUSED, "%s is in use: another program holds %s",
		    path, name);
	/* A partition without a node in /dev is passed over: nobody can open it by
	 * name. */
	if (fd >= 0)
		h->claim[h->nclaims++] = fd;
	return 0;
}

static int
claim_all(struct disk_hold *h, const struct hold_wish *w, struct err *e)
{
	char names[CLAIMS_MAX][INUSE_NAME_CAP];
	unsigned n = inuse_partitions(
	    "", &h->st, w->sectors, names, CLAIMS_MAX - h->nclaims);

	for (unsigned i = 0; i < n; i++)
		if (claim(h, w->path, names[i], e) != 0)
			return -1;
	return 0;
}

int
hold_share(struct disk_hold **out, const char *path, struct err *e)
{
	const struct hold_wish w = { .path = path };
	struct disk_hold *h = new_hold(path, e);

	*out = NULL;
	if (h == NULL)
		return -1;
	h->shared = true;
	return settle(out, h, lock_all(h, &w, e), e);
}

/* Lock these sectors of what is shared, in all that it lies in. */
static int
lock_sectors(struct disk_hold *h, const char *path, struct range sectors, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < h->n; i++) {
		struct lock *l = &h->lock[i];
		struct range r = { l->node.bytes.off + sectors.off * SECTOR_BYTES,
			sectors.len * SECTOR_BYTES };
		if (!l->borrowed)
			rc = lock_bytes(h, path, l, r, e);
	}
	if (rc != 0)
		(void)cancel_check(e);
	return rc;
}

int
hold_sectors(struct disk_hold *h, const struct hold_wish *w, struct err *e)
{
	if (lock_sectors(h, w->path, w->sectors, e) != 0)
		return -1;
	if (h->st.st_mode == 0 || w->no_look)
		return 0;
	return look(h, w, false, e) == 0 ? claim_all(h, w, e) : -1;
}

int
hold_table(struct disk_hold *h, const char *path, struct err *e)
{
	h->until_us = UINT64_MAX;
	return lock_sectors(h, path, (struct range){ 0, 1 }, e);
}

void
hold_lend(struct disk_hold *h)
{
	for (unsigned i = 0; i < h->n; i++)
		fcntl(h->lock[i].fd, F_SETFD, 0);
}

bool
hold_is_of(const struct disk_hold *h, const struct stat *st)
{
	return !can_be_held(st) || same(&h->st, st);
}

bool
hold_unseen(const struct disk_hold *h)
{
	return h != NULL && h->unseen;
}

int
hold_end(struct disk_hold *h)
{
	if (h == NULL)
		return 0;
	while (h->nclaims > 0)
		close(h->claim[--h->nclaims]);
	int rc = unlock_all(h), why = errno;
	free(h);
	errno = why;
	return rc;
}

int
hold_look(const struct hold_wish *w, bool *unseen, struct err *e)
{
	struct disk_hold *h = new_hold(w->path, e);

	*unseen = false;
	if (h == NULL)
		return -1;
	int rc = stat(w->path, &h->st) == 0 ? look(h, w, false, e)
	                                    : err_os(e, "%s", w->path);
	*unseen = h->unseen;
	return settle(&h, h, rc, e) == 0 ? hold_end(h) : -1;
}

/* Who writes it may have it open, or locked, for a moment only. */
static int
look_at_source(struct disk_hold *h, const struct inuse_query *query, struct err *e)
{
	const struct hold_wish w = { .path = query->path };
	struct inuse_query q = *query;
	struct inuse_found found;
	int rc;

	q.found = &found;
	do {
		found = (struct inuse_found){ .writer = false };
		rc = inuse_check(&q, e);
	} while (rc != 0 && found.writer && hold_waits(h));
	return rc == 0 ? lock_all(h, &w, e) : -1;
}

int
hold_look_source(const struct inuse_query *q, bool wait, struct err *e)
{
	struct disk_hold *h = new_hold(q->path, e);

	if (h == NULL)
		return -1;
	h->shared = true;
	if (!wait)
		h->until_us = 0;
	int rc = look_at_source(h, q, e);
	return settle(&h, h, rc, e) == 0 ? hold_end(h) : -1;
}
