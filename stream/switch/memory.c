/* memory.c: locks the memory of a process.  streamswitch calls this, in its one thread, before it
 * exchanges a table (switch.c), and before it guards a server (guard.c). */
#include "stream/switch/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57 /* linux/prctl.h, since Linux 5.6 */
#endif

int
memory_lock(struct err *e)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return err_os(e, "the memory of the process cannot be locked");
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) != 0 && errno != EINVAL)
		return err_os(e, "the process cannot be made one that writes memory back");
	return 0;
}
