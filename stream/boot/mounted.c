/* mounted.c: reads files of a folder where the kernel has mounted filesystems.  tree.c calls this,
 * in the first thread. */
#include "stream/boot/mounted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

static int
open_at(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static int
fail(struct err *e, const char *path)
{
	bool absent = errno == ENOENT || errno == ENOTDIR;

	err_os(e, "%s", path);
	e->kind = absent ? ERR_ABSENT : ERR_IO;
	return -1;
}

int
mounted_open(const char *folder, struct err *e)
{
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root >= 0 ? root : fail(e, folder);
}

static const char *
filesystem_of(const struct statfs *s)
{
	switch (s->f_type) {
	case EXT4_SUPER_MAGIC:
		return "ext4";
	case XFS_SUPER_MAGIC:
		return "xfs";
	case BTRFS_SUPER_MAGIC:
		return "btrfs";
	default:
		return NULL;
	}
}

int
mounted_filesystem(int root, const char *path, const char **name, struct err *e)
{
	struct statfs s;
	int fd = open_at(root, path, O_PATH);

	if (fd < 0)
		return fail(e, path);
	int rc = fstatfs(fd, &s) == 0 ? 0 : fail(e, path);
	close(fd);
	if (rc != 0)
		return -1;
	*name = filesystem_of(&s);
	return *name != NULL ? 0
	                     : err_set(e, ERR_UNSUPPORTED,
	                           "%s: is on a filesystem that is none of ext4, XFS and btrfs", path);
}

bool
mounted_has(int root, const char *path)
{
	int fd = open_at(root, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
mounted_list(int root, const char *path, bool (*each)(void *arg, const char *name), void *arg,
    struct err *e)
{
	int fd = open_at(root, path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	bool more = true;

	if (d == NULL) {
		fail(e, path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	errno = 0;
	for (struct dirent *x; more && (x = readdir(d)) != NULL; errno = 0)
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			more = each(arg, x->d_name);
	int rc = !more || errno == 0 ? 0 : fail(e, path);
	closedir(d);
	return rc;
}

static int
read_all(int fd, const char *path, size_t most_bytes, struct buf *b, struct err *e)
{
	size_t had = b->len;
	ssize_t n;

	do {
		uint8_t *to = buf_room(b, READ_BYTES);
		if (to == NULL)
			return err_nomem(e, path);
		n = read(fd, to, READ_BYTES);
		if (n < 0)
			return fail(e, path);
		b->len -= READ_BYTES - (size_t)n;
		if (b->len - had > most_bytes)
			return err_set(
			    e, ERR_UNSUPPORTED, "%s: has more than %zu bytes", path, most_bytes);
	} while (n > 0);
	return 0;
}

int
mounted_read(int root, const char *path, size_t most_bytes, struct buf *b, struct err *e)
{
	struct stat st;
	/* A named pipe is opened without a writer, and refused then. */
	int fd = open_at(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return fail(e, path);
	int rc = fstat(fd, &st) == 0 ? 0 : fail(e, path);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = err_set(e, ERR_FORMAT, "%s: is not a file", path);
	if (rc == 0)
		rc = read_all(fd, path, most_bytes, b, e);
	close(fd);
	return rc;
}
