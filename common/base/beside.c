/* beside.c: finds the files that were built or installed with the program that runs.  process.c,
 * controllerd and streamdisk call this, in any thread. */
#include "common/base/beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool
beside_find(char *path, size_t cap, const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	int len = snprintf(path, cap, "%s/%s", self, name);
	return len >= 0 && (size_t)len < cap && access(path, R_OK) == 0;
}
