/* path.h: the path of a file in a folder. */
#ifndef COMMON_BASE_PATH_H
#define COMMON_BASE_PATH_H

#include <stdio.h>

#include "common/base/err.h"

enum { PATH_BYTES = 4096 };

/* Makes FOLDER/NAME.  ERR_USAGE: it is too long. */
static inline int
path_in(char path[PATH_BYTES], const char *folder, const char *name, struct err *e)
{
	return snprintf(path, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES
	           ? 0
	           : err_set(e, ERR_USAGE, "%.100s...: the path is too long", folder);
}

#endif /* COMMON_BASE_PATH_H */
