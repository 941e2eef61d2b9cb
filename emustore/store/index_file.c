/* index_file.c: how SQLite gets the file of an index; index_open() calls it.
 *
 * Whoever may write to the folder opens the file as SQLite does, which makes the files
 * by which readers and a writer keep apart.  Whoever may not write has two ways.  While
 * somebody else has the index open, those files are there, and are read.  Else the
 * index is copied while the store's lock, taken for reading, keeps writers away, and the copy
 * is read; where there is no room for a copy, the lock is kept as long as the index is
 * open.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "emustore/store/index_impl.h"
#include "emustore/store/own.h"

enum { WAIT_MS = 20000, PAUSE_MS = 20, COPY_BYTES = 1 << 20 };

/* The file of an index, apart from its folder. */
struct place {
	const struct index *x;
	int dirfd;
	char dir[PATH_MAX]; /* without links */
	char name[64];
};

static int
find_place(struct place *p, const struct index *x, struct err *e)
{
	char copy[INDEX_PATH_BYTES], title[INDEX_PATH_BYTES + 8];
	static const char *const ends[] = { "", "-wal", "-shm" };

	p->x = x;
	strcpy(copy, x->path);
	snprintf(p->name, sizeof p->name, "%s", basename(copy));
	strcpy(copy, x->path);
	if (realpath(dirname(copy), p->dir) == NULL)
		return err_os(e, "%s", x->path);
	p->dirfd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dirfd < 0)
		return err_os(e, "%s", x->path);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char name[80];
		snprintf(name, sizeof name, "%s%s", p->name, ends[i]);
		snprintf(title, sizeof title, "%s%s", x->path, ends[i]);
		if (own_check(p->dirfd, name, false, title, e) != 0) {
			close(p->dirfd);
			return -1;
		}
	}
	return 0;
}

/* As an URI with ?immutable=1: nobody changes it. */
static int
open_unchanging(struct index *x, const char *path, struct err *e)
{
	char uri[3 * PATH_MAX + 32] = "file:";
	size_t n = strlen(uri);

	for (const char *p = path; *p != '\0' && n + 16 < sizeof uri; p++)
		n += (size_t)snprintf(uri + n, sizeof uri - n,
		    strchr("%?#", *p) != NULL ? "%%%02x" : "%c", *p);
	snprintf(uri + n, sizeof uri - n, "?immutable=1");
	return sqlite3_open_v2(uri, &x->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
		   NULL) == SQLITE_OK
	           ? 0
	           : err_index(x, e);
}

static int
open_as(struct index *x, const struct place *p, int flags, struct err *e)
{
	char path[PATH_MAX + 80];

	snprintf(path, sizeof path, "%s/%s", p->dir, p->name);
	if (sqlite3_open_v2(path, &x->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) !=
	    SQLITE_OK)
		return err_index(x, e);
	sqlite3_busy_timeout(x->db, WAIT_MS);
	return 0;
}

static void
close_db(struct index *x)
{
	sqlite3_close(x->db);
	x->db = NULL;
}

static int
copy_bytes(int from, int to)
{
	char *buf = malloc(COPY_BYTES);
	ssize_t n = buf == NULL ? -1 : 0;

	for (off_t at = 0; buf != NULL; at += n) {
		n = pread(from, buf, COPY_BYTES, at);
		if (n <= 0 || pwrite(to, buf, (size_t)n, at) != n)
			break;
	}
	free(buf);
	return n == 0 ? 0 : -1;
}

/* The lock is held.  The copy has no name any more as soon as it is open. */
static int
open_copy(struct index *x, int file, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%.2000s/emustore.XXXXXX",
	    tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	int fd = mkstemp(path);
	if (fd < 0)
		return err_os(e, "%s", path);
	int rc = copy_bytes(file, fd) != 0 ? err_os(e, "%s", path)
	                                   : open_unchanging(x, path, e);
	close(fd);
	unlink(path);
	return rc;
}

/* 1: a writer is at work, or its log is there; so SQLite can keep apart from it. */
static int
lock_out_writers(const struct place *p, int *lock, struct err *e)
{
	char name[80], title[INDEX_PATH_BYTES + 8];
	struct stat wal;

	snprintf(title, sizeof title, "%.500s/lock", p->dir);
	*lock = own_open(p->dirfd, "lock", O_RDONLY, 0, title, e);
	if (*lock < 0 && e->os != ENOENT) /* none: nobody has ever written */
		return -1;
	if (*lock >= 0 && flock(*lock, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? 1 : err_os(e, "%s", title);
	snprintf(name, sizeof name, "%s-wal", p->name);
	return fstatat(p->dirfd, name, &wal, AT_SYMLINK_NOFOLLOW) == 0 &&
	       wal.st_size > 0;
}

/* Nobody has the index open, as it seems.  1: somebody has. */
static int
open_alone(struct index *x, const struct place *p, struct err *e)
{
	char path[PATH_MAX + 80];
	int lock, file, rc = lock_out_writers(p, &lock, e);

	if (rc == 0) {
		file = own_open(p->dirfd, p->name, O_RDONLY, 0, x->path, e);
		rc = file < 0 ? -1 : open_copy(x, file, e);
		if (file >= 0)
			close(file);
		if (file >= 0 && rc != 0) { /* no room for a copy */
			close_db(x);
			snprintf(path, sizeof path, "%s/%s", p->dir, p->name);
			rc = open_unchanging(x, path, e);
			x->lock_fd = lock;
			lock = -1;
		}
	}
	if (lock >= 0)
		close(lock);
	return rc;
}

/* Can the index be read, with what SQLite needs beside it? */
static bool
can_read(struct index *x)
{
	return sqlite3_exec(x->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) ==
	       SQLITE_OK;
}

static int
open_reader(struct index *x, const struct place *p, struct err *e)
{
	for (int ms = 0; ms < WAIT_MS; ms += PAUSE_MS) {
		if (open_as(x, p, SQLITE_OPEN_READONLY, e) == 0 && can_read(x))
			return 0;
		int code = sqlite3_errcode(x->db) & 0xff;
		err_index(x, e);
		close_db(x);
		if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY &&
		    code != SQLITE_IOERR && code != SQLITE_FULL)
			return -1;
		int rc = open_alone(x, p, e);
		if (rc <= 0)
			return rc;
		if (cancel_check(e) != 0)
			return -1;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
	}
	return err_set(e, ERR_REFUSED,
	    "%s: a writer is at work, or was cut short, and what it has left cannot be "
	    "taken in without room and the right to write to the store",
	    x->path);
}

static bool
may_write(const struct place *p)
{
	return faccessat(p->dirfd, p->name, W_OK, AT_EACCESS) == 0 &&
	       faccessat(p->dirfd, ".", W_OK, AT_EACCESS) == 0;
}

static int
open_there(struct index *x, const struct place *p, enum index_access access,
    struct err *e)
{
	if (may_write(p))
		return open_as(x, p, SQLITE_OPEN_READWRITE, e);
	return access == INDEX_READ ? open_reader(x, p, e) : err_os(e, "%s", x->path);
}

int
index_file_open(struct index *x, enum index_access access, struct err *e)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct place p;

	if (strcmp(x->path, ":memory:") == 0)
		return sqlite3_open(x->path, &x->db) == SQLITE_OK ? 0 : err_index(x, e);
	if (find_place(&p, x, e) != 0)
		return -1;
	int rc = access == INDEX_CREATE ? open_as(x, &p, flags, e)
	                                : open_there(x, &p, access, e);
	close(p.dirfd);
	return rc;
}

int
index_file_reopen(struct index *x, struct err *e)
{
	struct place p;

	close_db(x);
	if (find_place(&p, x, e) != 0)
		return -1;
	int rc = open_reader(x, &p, e);
	close(p.dirfd);
	return rc;
}
