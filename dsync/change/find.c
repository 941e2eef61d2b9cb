/* find.c: finds the tracker of a mapped device in the device's table.  dmextract and dsync call
 * this, in their first thread, when the user names no source of change. */
#include "dsync/change/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsync/change/mapper.h"

int
find_tracker(const char *device, char since[FIND_SINCE_BYTES], struct err *e)
{
	struct mapped m;
	struct err why;

	if (!mapper_is_name(device))
		return err_set(e, ERR_USAGE,
		    "%s: --since must say how it is known what has changed", device);
	if (mapper_table(&m, device, &why) != 0)
		return err_set(e, ERR_USAGE,
		    "--since must say how it is known what has changed: %.400s", why.text);
	if (strcmp(m.target, "era") != 0 && strcmp(m.target, "thin") != 0)
		return err_set(e, ERR_USAGE,
		    "%s: is a \"%s\" device, which tracks nothing; --since must say how it is "
		    "known what has changed",
		    device, m.target);
	char path[MAPPED_WORD_BYTES];
	if (mapper_path(m.args[0], path, e) != 0)
		return -1;
	snprintf(since, FIND_SINCE_BYTES, "%s:%s", m.target, path);
	return 0;
}
