/* disk_nbd_lib.c: libnbd, loaded when somebody first opens an NBD export, in that thread.  It
 * brings along libraries of more than 40 MB, which a machine that only installs images does
 * not have. */
#include <pthread.h>
#include <strings.h>

#include "common/base/late.h"
#include "common/disk/disk_nbd_impl.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct nbd_lib functions;
static const char *missing; /* what could not be loaded; NULL: everything could */

static void
load(void)
{
#define X(name) "nbd_" #name,
	static const char *const names[] = { NBD_FUNCTIONS(X) };
#undef X

	missing = late_load(
	    "libnbd.so.0", names, (void **)&functions, sizeof names / sizeof names[0]);
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

struct nbd_handle *
nbd_handle_for(const struct nbd_lib *lib, const char *uri)
{
	struct nbd_handle *h = lib->create();

	if (h != NULL && strncasecmp(uri, "nbds", 4) == 0)
		lib->set_uri_allow_local_file(h, true);
	return h;
}
