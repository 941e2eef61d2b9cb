/* find.c: finds the tracker of a mapped device in the device's table.  dmextract and dsync call
 * this, in their first thread, when the user names no source of change. */
#include "dsync/change/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsync/run/mapper.h"

int
find_tracker(const char *device, char since[FIND_SINCE_BYTES], struct err *e)
{
	char name[MAPPED_WORD_BYTES];
	struct mapped m;
	struct err why;

	if (!mapper_name(device, name))
		return err_set(e, ERR_USAGE,
		    "%s: is no device of the device mapper, so --since must name a source of "
		    "change: for a file or any disk, --since=scan:FILE",
		    device);
	if (mapper_table(&m, device, &why) != 0)
		return err_set(e, ERR_USAGE,
		    "--since must name a source of change: %.400s", why.text);
	if (strcmp(m.target, "era") != 0 && strcmp(m.target, "thin") != 0)
		return err_set(e, ERR_USAGE,
		    "%s: is a \"%s\" device, which does not track changes; --since "
		    "must name a source of change",
		    device, m.target);
	char path[MAPPED_WORD_BYTES];
	if (mapper_path(m.args[0], path, e) != 0)
		return -1;
	snprintf(since, FIND_SINCE_BYTES, "%s:%s", m.target, path);
	return 0;
}
