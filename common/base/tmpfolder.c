/* tmpfolder.c: makes a folder for temporary files.  imagezip --shrink calls this for its view of
 * the disk, and common/resize for the tools of filesystems, each in one thread. */
#include "common/base/tmpfolder.h"

#include <stdio.h>
#include <stdlib.h>

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
