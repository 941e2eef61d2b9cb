/* openfiles.c: raises the limit of open files (openfiles.h).  mfrisbeed, frisbeed and the controller
 * call this in their first thread, before they open what they serve; a store is opened in any
 * thread.  Servers ask for half of the limit, each in the thread of its loop. */
#include "common/base/openfiles.h"

#include <sys/resource.h>

void
openfiles_allow(uint64_t most)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return;
	rlim_t wanted = most < r.rlim_max ? (rlim_t)most : r.rlim_max;
	if (r.rlim_cur >= wanted)
		return;
	r.rlim_cur = wanted;
	/* Under the old limit less is open at once. */
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

unsigned
openfiles_half(unsigned most)
{
	struct rlimit r;
	rlim_t half = getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur / 2 : RLIM_INFINITY;

	return half < most ? (unsigned)half : most;
}
