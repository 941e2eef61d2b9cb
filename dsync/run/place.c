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

/* Create `folder`, and the folder `below` that lies in it. */
static int
make_folders(const char *folder, const char *below, struct err *e)
{
	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return err_os(e, "%s", folder);
	if (mkdir(below, 0755) != 0 && errno != EEXIST)
		return err_os(e, "%s", below);
	return 0;
}

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
	else if (make_folders(folder, below, e) != 0)
		free(path), path = NULL;
	/* The name of the file has no slash and no blank. */
	for (char *p = path != NULL ? path + strlen(below) + 1 : NULL; p != NULL && *p != '\0'; p++)
		if (*p == '/' || *p == ' ')
			*p = '-';
	free(below);
	return path;
}

int
place_lock(const char *path, const char *why, int *fd, struct err *e)
{
	char *name = NULL;
	int rc = 0;

	if (asprintf(&name, "%s.lock", path) < 0)
		return err_nomem(e, path);
	*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		rc = err_os(e, "%s", name);
	else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
		rc = err_set(e, ERR_REFUSED, "%s: %s", path, why);
	free(name);
	return rc;
}
