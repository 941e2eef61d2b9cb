/* folder_room.c: what a folder of objects has and a bucket has not: the folder is made, a
 * writer locks it, it has a reserve of room, and no other program may write over its
 * files.  Called by the store, in the thread of its owner. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "emustore/objects/folder_impl.h"
#include "emustore/objects/own_file.h"

/* BLOCK_BYTES: the unit of st_blocks */
enum { ZEROS = 1 << 16, BLOCK_BYTES = 512 };

static const char reserve[] = "reserve";

static bool
is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool empty = d != NULL;

	while (empty && (entry = readdir(d)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 ||
		        strcmp(entry->d_name, "..") == 0;
	if (d != NULL)
		closedir(d);
	return empty;
}

int
folder_make(const char *dir, bool *made, struct err *e)
{
	*made = mkdir(dir, 0777) == 0;
	if (*made || (errno == EEXIST && is_empty(dir)))
		return 0;
	return errno == EEXIST ? err_set(e, ERR_REFUSED,
				     "%s: exists already, and is not empty", dir)
	                       : err_os(e, "%s", dir);
}

static const char *const folders[] = { "packs", "tables", "images", "new" };

int
folder_make_parts(struct objects *o, struct err *e)
{
	struct folder *f = o->ctx;
	size_t n = sizeof folders / sizeof *folders, made = 0;

	while (made < n && mkdirat(f->dirfd, folders[made], 0777) == 0)
		made++;
	int fd = made < n ? err_os(e, "%s/%s", f->dir, folders[made])
	                  : folder_open_file(f, "lock", O_RDWR | O_CREAT | O_EXCL, e);
	if (fd >= 0)
		return close(fd), 0;
	/* Another program may be making a store here: what it has made stays. */
	while (made-- > 0)
		unlinkat(f->dirfd, folders[made], AT_REMOVEDIR);
	return -1;
}

void
folder_undo(struct objects *o)
{
	struct folder *f = o->ctx;

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		unlinkat(f->dirfd, folders[i], AT_REMOVEDIR);
	unlinkat(f->dirfd, "lock", 0);
	unlinkat(f->dirfd, "format", 0);
}

/* Network filesystems are told by the number of their type (statfs(2), or their own
 * sources).  Filesystems that several machines have at once on a shared disk count, too. */
static bool
is_remote(const char *dir)
{
	static const uint32_t kinds[] = {
		NFS_SUPER_MAGIC,
		CIFS_SUPER_MAGIC,
		SMB2_SUPER_MAGIC,
		CEPH_SUPER_MAGIC,
		AFS_SUPER_MAGIC, /* of OpenAFS */
		AFS_FS_MAGIC,    /* of the kernel */
		CODA_SUPER_MAGIC,
		V9FS_MAGIC,
		FUSE_SUPER_MAGIC, /* which may be any of these */
		OCFS2_SUPER_MAGIC,
		0x01161970, /* GFS2 */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x19830326, /* BeeGFS */
		0x786f4256, /* VirtualBox */
	};
	struct statfs s;

	if (statfs(dir, &s) != 0)
		return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if ((uint32_t)s.f_type == kinds[i])
			return true;
	return false;
}

bool
folder_may_cache(const struct objects *o)
{
	const struct folder *f = o->ctx;

	return faccessat(f->dirfd, ".", W_OK, AT_EACCESS) == 0 &&
	       !is_remote(f->real);
}

static bool
is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return path != NULL && strncmp(path, folder, n) == 0 &&
	       (path[n] == '/' || path[n] == '\0');
}

/* Does the mount that dir is on keep locks to this machine?  Of the mounts above dir the one
 * that is nearest counts, and of several at one place the last (proc(5), nfs(5)).  Lustre has
 * the option localflock, GFS2 and OCFS2 have localflocks. */
static bool
locks_are_local(const char *dir)
{
	FILE *in = setmntent("/proc/self/mounts", "re");
	char text[16384];
	struct mntent m;
	size_t nearest = 0;
	bool local = false;

	while (in != NULL && getmntent_r(in, &m, text, sizeof text) != NULL) {
		const char *at = strcmp(m.mnt_dir, "/") == 0 ? "" : m.mnt_dir;
		if (strlen(at) < nearest || !is_below(dir, at))
			continue;
		nearest = strlen(at);
		local = hasmntopt(&m, "nolock") != NULL ||
		        strstr(m.mnt_opts, "local_lock=all") != NULL ||
		        strstr(m.mnt_opts, "local_lock=flock") != NULL ||
		        strstr(m.mnt_opts, "localflock") != NULL;
	}
	if (in != NULL)
		endmntent(in);
	return local;
}

int
folder_lock(struct objects *o, bool wait, struct err *e)
{
	struct folder *f = o->ctx;

	if (is_remote(f->real) && locks_are_local(f->real))
		return err_set(e, ERR_REFUSED,
		    "%s: is on a network filesystem that was mounted so that other "
		    "machines do not see its locks (nolock, local_lock, localflock): a program "
		    "that writes could not know of others that do",
		    f->dir);
	f->lock_fd = folder_open_file(f, "lock", O_RDWR | O_CREAT, e);
	if (f->lock_fd < 0)
		return e->os != EACCES
		           ? -1
		           : err_add(e, "only who may write this file may change the store");
	if (wait)
		return lock_wait(f->lock_fd, e) == 0 ? 0 : err_ctx(e, "%s/lock", f->dir);
	int got = lock_try(f->lock_fd, false);
	if (got == 1)
		return 0;
	if (got < 0)
		return err_os(e, "%s/lock", f->dir);
	err_set(e, ERR_REFUSED, "%s: another program is writing to this store", f->dir);
	e->os = EWOULDBLOCK;
	return -1;
}

void
folder_unlock(struct objects *o)
{
	struct folder *f = o->ctx;

	close(f->lock_fd);
	f->lock_fd = -1;
}

void
folder_read_mark(struct objects *o, char mark[FOLDER_MARK_BYTES])
{
	struct err ignored; /* a folder without a mark can be used all the same */
	int fd = folder_open_file(o->ctx, "lock", O_RDONLY, &ignored);
	ssize_t n = fd >= 0 ? pread(fd, mark, FOLDER_MARK_BYTES, 0) : -1;

	if (fd >= 0)
		close(fd);
	mark[n == FOLDER_MARK_BYTES - 1 ? n : 0] = '\0';
}

/* If the mark cannot be written, empty the file, which means that there is no mark: a
 * full disk may have no room for a first mark. */
int
folder_write_mark(
    struct objects *o, const char mark[FOLDER_MARK_BYTES], bool sync, struct err *e)
{
	struct folder *f = o->ctx;
	const ssize_t bytes = FOLDER_MARK_BYTES - 1;
	bool ok = pwrite(f->lock_fd, mark, (size_t)bytes, 0) == bytes;

	if (!ok)
		ok = ftruncate(f->lock_fd, 0) == 0;
	if (ok && sync)
		ok = fdatasync(f->lock_fd) == 0;
	return ok ? 0 : err_os(e, "%s/lock", f->dir);
}

uint64_t
folder_changed_ns(const struct objects *o, const char *name)
{
	const struct folder *f = o->ctx;
	struct stat st;

	if (fstatat(f->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

static int
write_zeros(int fd, uint64_t bytes)
{
	static const uint8_t zeros[ZEROS];

	for (uint64_t at = 0; at < bytes;) {
		size_t n = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
		ssize_t put = pwrite(fd, zeros, n, (off_t)at);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		at += (uint64_t)put;
	}
	return fsync(fd);
}

/* Give the file room.  Some filesystems, as ext2 and NFS before version 4.2, give room
 * only to what is written; some of these, which compress, give none to zeros. */
static int
give_room(int fd, uint64_t bytes)
{
	struct stat st;

	if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
		return -1;
	if (write_zeros(fd, bytes) != 0 || fstat(fd, &st) != 0)
		return -1;
	if ((uint64_t)st.st_blocks * BLOCK_BYTES >= bytes)
		return 0;
	errno = EOPNOTSUPP;
	return -1;
}

int
folder_reserve(struct objects *o, uint64_t bytes, struct err *e)
{
	struct folder *f = o->ctx;
	struct stat st;

	if (fstatat(f->dirfd, reserve, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	int fd = folder_open_file(f, reserve, O_RDWR | O_CREAT | O_EXCL, e);
	if (fd < 0)
		return -1;
	int rc = give_room(fd, bytes);
	if (rc != 0) {
		err_os(e, "%s/%s", f->dir, reserve);
		unlinkat(f->dirfd, reserve, 0);
	}
	close(fd);
	return rc;
}

bool
folder_use_reserve(struct objects *o)
{
	struct folder *f = o->ctx;

	return unlinkat(f->dirfd, reserve, 0) == 0;
}

bool
folder_holds(const char *dir, const char *path)
{
	char *real = realpath(dir, NULL);
	char *copy = strdup(path), *file = realpath(path, NULL);
	char *folder = copy != NULL ? realpath(dirname(copy), NULL) : NULL;
	bool holds = real != NULL && (is_below(file, real) || is_below(folder, real));

	free(real);
	free(copy);
	free(file);
	free(folder);
	return holds;
}
