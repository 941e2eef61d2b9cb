/* place.c: names and locks the files in which dsync remembers things.  bases.c and record.c call
 * this, in one thread. */
#include "dsync/run/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/lock.h"

char *
place_file(const char *folder, const char *kind, const char *name, struct err *e)
{
	char *below = NULL, *path = NULL;

	if (asprintf(&below, "%s/%s", folder, kind) < 0)
		below = NULL;
	if (below == NULL || asprintf(&path, "%s/%s", below, name + (name[0] == '/')) < 0)
		path = NULL;
	if (path == NULL)
		err_nomem(e, "a name");
	/* The name of the file has no slash and no blank. */
	for (char *p = path != NULL ? path + strlen(below) + 1 : NULL; p != NULL && *p != '\0'; p++)
		if (*p == '/' || *p == ' ')
			*p = '-';
	free(below);
	return path;
}

int
place_make(const char *path, struct err *e)
{
	char *below = strdup(path), *folder = below != NULL ? strdup(path) : NULL;
	int rc = folder != NULL ? 0 : err_nomem(e, path);

	if (rc == 0) {
		*strrchr(below, '/') = '\0';
		strcpy(folder, below);
		*strrchr(folder, '/') = '\0';
		if (folder[0] != '\0' && mkdir(folder, 0755) != 0 && errno != EEXIST)
			rc = err_os(e, "%s", folder);
		else if (mkdir(below, 0755) != 0 && errno != EEXIST)
			rc = err_os(e, "%s", below);
	}
	free(below);
	free(folder);
	return rc;
}

static char *
lock_name(const char *path)
{
	char *name;

	return asprintf(&name, "%s.lock", path) >= 0 ? name : NULL;
}

int
place_lock(const char *path, const char *why, int *fd, struct err *e)
{
	char *name = lock_name(path);

	*fd = -1;
	if (name == NULL)
		return err_nomem(e, path);
	int rc = lock_file(fd, name, path, why, e);
	free(name);
	return rc;
}

void
place_unlock(const char *path, int fd)
{
	char *name = fd >= 0 ? lock_name(path) : NULL;

	/* The name goes before the lock ends: a lock of a file without a name is none. */
	if (name != NULL && access(path, F_OK) != 0 && errno == ENOENT)
		unlink(name);
	free(name);
	if (fd >= 0)
		close(fd);
}
