/* disk_nbd_lib.c: libnbd, loaded when somebody first opens an NBD export, in that thread.  It
 * brings along libraries of more than 40 MB, which a machine that only installs images does
 * not have. */
#include <dlfcn.h>
#include <pthread.h>

#include "common/disk/disk_nbd_impl.h"

#define LIBRARY "libnbd.so.0"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct nbd_lib functions;
static const char *missing; /* what could not be loaded; NULL: everything could */

static void *
find(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (f == NULL)
		missing = name;
	return f;
}

static void
load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		missing = LIBRARY;
		return;
	}
#define X(name) *(void **)&functions.name = find(library, "nbd_" #name);
	NBD_FUNCTIONS(X)
#undef X
}

const struct nbd_lib *
nbd_lib(struct err *e)
{
	pthread_once(&once, load);
	if (missing == NULL)
		return &functions;
	err_set(e, ERR_ABSENT,
	    "%s: this library is not installed, and sources of NBD need it (libnbd)",
	    missing);
	return NULL;
}
