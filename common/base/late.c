/* late.c: loads libraries (late.h).  disk_nbd_lib.c and curl_lib.c call it once each,
 * in the thread that needs the library first. */
#include "common/base/late.h"

#include <dlfcn.h>

const char *
late_load(const char *library, const char *const names[], void *functions[], size_t n)
{
	void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (loaded == NULL)
		return library;
	for (size_t i = 0; i < n; i++)
		if ((functions[i] = dlsym(loaded, names[i])) == NULL)
			return names[i];
	return NULL;
}
