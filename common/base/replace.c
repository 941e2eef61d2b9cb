/* replace.c: files are replaced as a whole (replace.h).  Called by all that keep a small file,
 * and for the last step of larger ones by whoever has written them, in any thread. */
#include "common/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/whole.h"

int
replace_sync_name(const char *path, struct err *e)
{
	char *copy = strdup(path);

	if (copy == NULL)
		return err_nomem(e, path);
	const char *dir = dirname(copy);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	/* Not every directory can be opened, and not every filesystem can flush one; only a
	 * failure of the disk counts. */
	if (fd >= 0 && fsync(fd) != 0 && errno == EIO)
		rc = err_os(e, "%s: flushing the directory", dir);
	if (fd >= 0)
		close(fd);
	free(copy);
	return rc;
}

int
replace_name(const char *made, const char *path, enum replace_flags flags, struct err *e)
{
	if (rename(made, path) != 0)
		return err_os(e, "%s: cannot rename it to %s", made, path);
	return (flags & REPLACE_UNSYNCED) != 0 ? 0 : replace_sync_name(path, e);
}

static int
fill(int fd, const void *bytes, size_t n, mode_t mode)
{
	if (ftruncate(fd, 0) != 0 || write_whole(fd, bytes, n) != 0)
		return -1;
	fchmod(fd, mode); /* where files have modes */
	return 0;
}

int
replace_file(const char *path, const void *bytes, size_t n, mode_t mode,
    enum replace_flags flags, struct err *e)
{
	bool sync = (flags & REPLACE_UNSYNCED) == 0;
	struct stat old;
	char *made;
	int fd, rc;

	if (lstat(path, &old) != 0 || S_ISLNK(old.st_mode))
		old.st_mode = S_IFREG | mode;
	if (!S_ISREG(old.st_mode))
		return err_set(e, ERR_REFUSED, "%s: is no file that can be replaced", path);
	if (asprintf(&made, "%s" REPLACE_PARTIAL, path) < 0)
		return err_nomem(e, path);
	rc = lock_file(&fd, made, path, "another program is writing it", e);
	if (rc == 0) {
		if (fill(fd, bytes, n, old.st_mode & 0777) != 0 || (sync && fsync(fd) != 0))
			rc = err_os(e, "%s", made);
		else
			rc = replace_name(made, path, flags, e);
		if (rc != 0)
			unlink(made);
		close(fd);
	}
	free(made);
	return rc;
}
