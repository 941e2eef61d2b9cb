/* folder.c: objects as files.  Called through objects.h, in any thread.
 *
 * Others may be able to write to the folder: no link is followed below it, neither in the
 * place of a file nor of a folder (own_file.h).
 */
#include "emustore/objects/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/whole.h"
#include "emustore/objects/folder_impl.h"
#include "emustore/objects/own_file.h"

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, DIR_MAX = 500 };

static int
err_key(const struct folder *f, const char *key, struct err *e)
{
	if (errno == ELOOP || errno == ENOTDIR)
		return err_set(e, ERR_REFUSED,
		    "%.500s/%.200s: is not a regular file, so it cannot belong to a "
		    "store",
		    f->dir, key);
	return err_os(e, "%.500s/%.200s", f->dir, key);
}

/* Say that the first n characters of a key, which must be a folder, are a file.  In a folder the file of
 * one image, such as images/lab/0000000001 of lab:1, and the folder of others, of images called
 * lab/0000000001, exclude each other. */
static int
err_is_file(const struct folder *f, const char *key, size_t n, struct err *e)
{
	err_set(e, ERR_REFUSED,
	    "%.250s/%.*s: is a file, so nothing can lie below it; an image whose name begins "
	    "like this needs another name",
	    f->dir, (int)(n < 200 ? n : 200), key);
	e->os = ENOTDIR;
	return -1;
}

/* Say that there is something of this key, which is called `name` in the folder `at`: the object, or a
 * folder with objects of longer keys. */
static int
err_exists(const struct folder *f, const char *key, int at, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
		err_set(e, ERR_REFUSED,
		    "%.250s/%.200s: is a folder of other images, so no image can have this "
		    "name and version",
		    f->dir, key);
		e->os = EISDIR;
		return -1;
	}
	err_set(e, ERR_REFUSED, "%.250s/%.200s: exists already", f->dir, key);
	e->os = EEXIST;
	return -1;
}

static bool
is_file(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int
make_and_open(int at, const char *name)
{
	int fd = openat(at, name, FOLDER_FLAGS);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(at, name, 0777) != 0 && errno != EEXIST)
		return -1;
	return fsync(at) == 0 ? openat(at, name, FOLDER_FLAGS) : -1;
}

static bool
is_same_file(int at, const char *name, int other_at, const char *other)
{
	struct stat a, b;

	return fstatat(at, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(other_at, other, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
has_entry(int at, const char *name)
{
	int fd = openat(at, ".", FOLDER_FLAGS);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry = NULL;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(d)) != NULL && strcmp(entry->d_name, name) != 0)
		;
	closedir(d);
	return entry != NULL;
}

/* Is the folder's name spelled exactly like this?  A filesystem that makes no difference
 * between capital and small letters finds a folder called Web as web, too. */
static bool
is_called(int at, const char *name)
{
	char swapped[OBJECT_KEY_MAX + 1];

	snprintf(swapped, sizeof swapped, "%s", name);
	for (char *p = swapped; *p != '\0'; p++)
		*p = (char)(islower((unsigned char)*p) ? toupper((unsigned char)*p)
		                                       : tolower((unsigned char)*p));
	return strcmp(swapped, name) == 0 || !is_same_file(at, name, at, swapped) ||
	       has_entry(at, name);
}

/* Say that the first n characters of a key are a folder whose name has other letters. */
static int
err_letters(const struct folder *f, const char *key, size_t n, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "%.250s/%.*s: exists with other capital letters, and this filesystem makes no "
	    "difference between them; an image whose name begins like this needs another name",
	    f->dir, (int)(n < 150 ? n : 150), key);
}

/* PARENT_FIND accepts a folder whose name has other capital letters, if the filesystem
 * does: the caller has the key from a list.  PARENT_EXACT, for a key that a user may have
 * written, does not, nor does PARENT_MAKE. */
enum parent_how { PARENT_FIND, PARENT_EXACT, PARENT_MAKE };

/* Open the folder that holds the object of this key, creating folders if that is asked for; *name
 * becomes the object's name in that folder. */
static int
open_parent(struct folder *f, const char *key, enum parent_how how, const char **name,
    struct err *e)
{
	const bool make = how == PARENT_MAKE;
	const char *whole = key;
	char part[OBJECT_KEY_MAX + 1];
	int at = openat(f->dirfd, ".", FOLDER_FLAGS);

	for (const char *slash; at >= 0 && (slash = strchr(key, '/')) != NULL;
	     key = slash + 1) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - key), key);
		int next = make ? make_and_open(at, part) : openat(at, part, FOLDER_FLAGS);
		int why = errno;
		bool file = next < 0 && why == ENOTDIR && is_file(at, part);
		bool called = next < 0 || how == PARENT_FIND || is_called(at, part);
		close(at);
		if (file)
			return err_is_file(f, whole, (size_t)(slash - whole), e);
		if (!called) {
			close(next);
			if (make)
				return err_letters(f, whole, (size_t)(slash - whole), e);
			errno = ENOENT;
			return err_key(f, whole, e);
		}
		errno = why;
		at = next;
	}
	*name = key;
	return at >= 0 ? at : err_key(f, key, e);
}

int
folder_open_file(struct folder *f, const char *key, int flags, struct err *e)
{
	char title[OBJECT_KEY_MAX + DIR_MAX + 2];
	const char *name;
	int parent = open_parent(f, key, PARENT_FIND, &name, e);

	if (parent < 0)
		return -1;
	snprintf(title, sizeof title, "%.500s/%s", f->dir, key);
	int fd = own_file_open(parent, name, flags, 0666, title, e);
	close(parent);
	return fd;
}

static int
open_object(void *ctx, const char *key, struct err *e)
{
	return folder_open_file(ctx, key, O_RDONLY, e);
}

static int
get_object(void *ctx, const char *key, uint64_t from, size_t bytes, void *out,
    struct err *e)
{
	struct folder *f = ctx;
	int fd = open_object(f, key, e);

	if (fd < 0)
		return -1;
	ssize_t n = own_file_read(fd, out, bytes, from);
	int rc = n < 0 ? err_key(f, key, e) : 0;
	close(fd);
	if (rc == 0 && (size_t)n != bytes)
		rc = err_set(e, ERR_FORMAT, "%.500s/%s: ends too early", f->dir, key);
	return rc;
}

static int
load_object(void *ctx, const char *key, size_t max, struct buf *out, struct err *e)
{
	struct folder *f = ctx;
	struct stat st;
	int fd = open_object(f, key, e);

	if (fd < 0)
		return -1;
	int rc = fstat(fd, &st) != 0 ? err_key(f, key, e) : 0;
	if (rc == 0 && (uint64_t)st.st_size > max)
		rc = err_set(e, ERR_FORMAT, "%.500s/%s: is too long", f->dir, key);
	size_t n = rc == 0 ? (size_t)st.st_size : 0, before = out->len;
	void *to = rc == 0 ? buf_room(out, n + 1) : NULL;
	if (rc == 0 && to == NULL)
		rc = err_nomem(e, key);
	ssize_t got = rc == 0 ? own_file_read(fd, to, n, 0) : 0;
	if (got < 0)
		rc = err_key(f, key, e);
	out->len = rc == 0 ? before + (size_t)got : before;
	close(fd);
	return rc;
}

/* Write a synced file into new/, the folder `at`; `name` becomes its name there. */
static int
write_new(struct folder *f, int at, const char *key, const void *data, size_t bytes,
    char name[FOLDER_NEW_BYTES], struct err *e)
{
	snprintf(name, FOLDER_NEW_BYTES, "%ld.%u", (long)getpid(),
	    atomic_fetch_add(&f->serial, 1));
	unlinkat(at, name, 0); /* of a process that had the same number */
	int fd = openat(
	    at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_key(f, key, e);
	int rc = write_whole(fd, data, bytes) == 0 ? fsync(fd) : -1;
	int why = errno;
	if (close(fd) != 0 && rc == 0)
		rc = -1, why = errno;
	if (rc == 0)
		return 0;
	unlinkat(at, name, 0);
	errno = why;
	return err_key(f, key, e);
}

/* Name a file on a filesystem without hard links.  The holder of the lock is the only writer. */
static int
name_without_link(int from_at, const char *from, int to_at, const char *to)
{
	struct stat st;

	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
		return -1;
	if (fstatat(to_at, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return errno = EEXIST, -1;
	return renameat(from_at, from, to_at, to);
}

/* Give a new file a name that no file has yet.  When the answer to a request is lost, NFS
 * repeats the request, and is told that the name exists: the first request has made
 * it. */
static int
give_name(int from_at, const char *from, int to_at, const char *to)
{
	if (linkat(from_at, from, to_at, to, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return name_without_link(from_at, from, to_at, to);
	if (is_same_file(from_at, from, to_at, to))
		return 0;
	return errno = EEXIST, -1;
}

/* common/base/replace does not do it: no link may be followed on the way, and most names must not
 * be there yet. */
static int
put_file(struct folder *f, const char *key, const void *data, size_t bytes, bool replace,
    struct err *e)
{
	char temp[FOLDER_NEW_BYTES];
	const char *name;
	int made = make_and_open(f->dirfd, "new");
	int parent = made < 0 ? err_key(f, "new", e) : open_parent(f, key, PARENT_MAKE, &name, e);
	int rc = parent < 0 ? -1 : write_new(f, made, key, data, bytes, temp, e);

	if (rc == 0) {
		rc = replace ? renameat(made, temp, parent, name)
		             : give_name(made, temp, parent, name);
		int why = errno;
		unlinkat(made, temp, 0);
		errno = why;
		if (rc == 0)
			rc = fsync(parent);
		if (rc != 0)
			rc = errno == EEXIST ? err_exists(f, key, parent, name, e)
			                     : err_key(f, key, e);
	}
	if (parent >= 0)
		close(parent);
	if (made >= 0)
		close(made);
	return rc;
}

static int
put_object(
    void *ctx, const char *key, const void *data, size_t bytes, struct err *e)
{
	return put_file(ctx, key, data, bytes, false, e);
}

int
folder_replace(
    struct objects *o, const char *key, const void *data, size_t bytes, struct err *e)
{
	return put_file(o->ctx, key, data, bytes, true, e);
}

/* Remove folders that have become empty; a folder at the top of the store stays. */
static void
remove_empty(struct folder *f, const char *key)
{
	char path[OBJECT_KEY_MAX + 1];
	char *slash;

	snprintf(path, sizeof path, "%s", key);
	while ((slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		if (strchr(path, '/') == NULL ||
		    unlinkat(f->dirfd, path, AT_REMOVEDIR) != 0)
			break;
	}
}

static int
remove_object(void *ctx, const char *key, struct err *e)
{
	struct folder *f = ctx;
	const char *name;
	int parent = open_parent(f, key, PARENT_EXACT, &name, e);

	if (parent < 0)
		return e->os == ENOENT ? 0 : -1;
	int rc = unlinkat(parent, name, 0);
	if (rc == 0)
		rc = fsync(parent);
	else if (errno == ENOENT)
		rc = 0;
	if (rc != 0)
		rc = err_key(f, key, e);
	close(parent);
	if (rc == 0)
		remove_empty(f, key);
	return rc;
}

struct walk {
	struct folder *f;
	const char *folder; /* that was asked for; the keys of the objects have it in front */
	object_fn *fn;
	void *arg;
	struct object o;
};

/* Report a file, with its size, its time, and an etag of its inode and time.  A folder
 * that has the key that was asked for is no object. */
static int
tell_file(struct walk *w, int at, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : err_key(w->f, w->o.key, e);
	if (S_ISDIR(st.st_mode))
		return 0;
	w->o.bytes = (uint64_t)st.st_size;
	w->o.modified = (uint64_t)st.st_mtim.tv_sec;
	snprintf(w->o.etag, sizeof w->o.etag, "%" PRIx64 "-%lld.%09ld",
	    (uint64_t)st.st_ino, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return w->fn(w->arg, &w->o, e);
}

/* A link may stand for a folder of images.  A list without these images is wrong: gc would
 * remove what they need. */
static int
err_link(const struct walk *w, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "%.200s/%.60s%.150s: is a link, and links in a store are not followed",
	    w->f->dir, w->folder, w->o.key);
}

static int walk_folder(struct walk *, int fd, struct err *);

static int
tell_entry(struct walk *w, int at, const struct dirent *d, struct err *e)
{
	size_t n = strlen(w->o.key), more = strlen(d->d_name);
	struct stat st;
	int rc;

	if (d->d_name[0] == '.' || n + more + 2 > sizeof w->o.key)
		return 0;
	memcpy(w->o.key + n, d->d_name, more + 1);
	bool folder = d->d_type == DT_DIR, is_link = d->d_type == DT_LNK;
	if (d->d_type == DT_UNKNOWN &&
	    fstatat(at, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		folder = S_ISDIR(st.st_mode);
		is_link = S_ISLNK(st.st_mode);
	}
	if (is_link)
		return err_link(w, e);
	if (folder) {
		int fd = openat(at, d->d_name, FOLDER_FLAGS);
		strcpy(w->o.key + n + more, "/");
		rc = fd >= 0 ? walk_folder(w, fd, e)
		             : errno == ENOENT ? 0 : err_key(w->f, w->o.key, e);
	} else
		rc = tell_file(w, at, d->d_name, e);
	w->o.key[n] = '\0';
	return rc;
}

/* Walk the folder; fd is closed. */
static int
walk_folder(struct walk *w, int fd, struct err *e)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (d == NULL) {
		close(fd);
		return err_nomem(e, "a folder");
	}
	while (rc == 0 && (errno = 0, entry = readdir(d)) != NULL)
		rc = tell_entry(w, dirfd(d), entry, e);
	if (rc == 0 && errno != 0)
		rc = err_key(w->f, w->o.key, e);
	closedir(d);
	return rc;
}

static int
list_objects(void *ctx, const char *folder, object_fn *fn, void *arg, uint64_t *now,
    struct err *e)
{
	struct folder *f = ctx;
	const char *name;
	int rc = 0;

	if (now != NULL)
		*now = (uint64_t)time(NULL);
	int fd = open_parent(f, folder, PARENT_EXACT, &name, e);
	if (fd < 0)
		return e->os == ENOENT ? 0 : -1;
	struct walk *w = calloc(1, sizeof *w);
	if (w == NULL)
		rc = err_nomem(e, "a list of objects");
	else {
		*w = (struct walk){ .f = f, .folder = folder, .fn = fn, .arg = arg };
		if (*name == '\0') {
			rc = walk_folder(w, fd, e);
			fd = -1;
		} else
			rc = tell_file(w, fd, name, e);
	}
	if (fd >= 0)
		close(fd);
	free(w);
	return rc;
}

static void
close_folder(void *ctx)
{
	struct folder *f = ctx;

	close(f->dirfd);
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	free(f->dir);
	free(f->real);
	free(f);
}

static const struct object_ops ops = { .put = put_object,
	.get = get_object,
	.load = load_object,
	.list = list_objects,
	.remove = remove_object,
	.open = open_object,
	.close = close_folder,
	.exclusive = true };

static int
err_dir(const char *dir, struct err *e)
{
	bool absent = errno == ENOENT;

	err_os(e, "%s", dir);
	return absent ? err_add(e, "emustore init makes a store") : -1;
}

int
folder_open(struct objects **out, const char *dir, struct err *e)
{
	struct folder *f = calloc(1, sizeof *f);

	if (f == NULL)
		return err_nomem(e, dir);
	f->lock_fd = -1;
	f->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->dir = strdup(dir);
	f->real = realpath(dir, NULL);
	if (strlen(dir) > DIR_MAX)
		err_set(e, ERR_USAGE, "the store's path is too long");
	else if (f->dirfd < 0 || f->real == NULL)
		err_dir(dir, e);
	else if (f->dir == NULL || (*out = objects_new(&ops, f, f->dir, f->real)) == NULL)
		err_nomem(e, dir);
	else
		return 0;
	if (f->dirfd >= 0)
		close(f->dirfd);
	free(f->dir);
	free(f->real);
	free(f);
	return -1;
}
