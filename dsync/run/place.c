/* place.c: names and locks the files in which dsync remembers things.  bases.c and record.c call
 * this, in one thread. */
#include "dsync/run/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Open and lock the file.  Returns 1; 0 if its name was removed meanwhile; or -1. */
static int
lock_once(const char *name, const char *path, const char *why, int *fd, struct err *e)
{
	struct stat st;

	*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		return err_os(e, "%s", name);
	int rc = flock(*fd, LOCK_EX | LOCK_NB) != 0
	             ? err_set(e, ERR_REFUSED, "%s: %s", path, why)
	         : fstat(*fd, &st) != 0 ? err_os(e, "%s", name)
	                                : st.st_nlink > 0;
	if (rc == 1)
		return 1;
	close(*fd);
	*fd = -1;
	return rc;
}

int
place_lock(const char *path, const char *why, int *fd, struct err *e)
{
	char *name = lock_name(path);
	int rc;

	*fd = -1;
	if (name == NULL)
		return err_nomem(e, path);
	do
		rc = lock_once(name, path, why, fd, e);
	while (rc == 0);
	free(name);
	return rc < 0 ? -1 : 0;
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
