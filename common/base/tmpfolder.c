/* tmpfolder.c: makes a folder for temporary files, and opens files without a name.  imagezip
 * --shrink calls this for its view of the disk, common/resize for the tools of filesystems, dolly
 * calibrate and emustore/store/spill.c for files, each in one thread. */
#include "common/base/tmpfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
tmpfolder_make(char path[TMPFOLDER_CAP], const char *name, struct err *e)
{
	const char *parent = getenv("TMPDIR");

	if (parent == NULL || parent[0] != '/' ||
	    snprintf(path, TMPFOLDER_CAP, "%s/%s-XXXXXX", parent, name) >= TMPFOLDER_CAP)
		snprintf(path, TMPFOLDER_CAP, "/tmp/%.30s-XXXXXX", name);
	if (mkdtemp(path) == NULL)
		return err_os(e, "%s: making a temporary folder", path);
	return 0;
}

int
tmpfolder_open_file(const char *folder, int flags)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_CLOEXEC | flags, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if ((size_t)snprintf(path, sizeof path, "%s/.tmp.XXXXXX", folder) >= sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC | (flags & ~O_ACCMODE));
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}
