/* memory.h: what a process does that the kernel's writes to the root filesystem may wait for. */
#ifndef STREAM_SWITCH_MEMORY_H
#define STREAM_SWITCH_MEMORY_H

#include "common/base/err.h"

/* From here on the process needs no page that is not in memory, and the kernel does not make it
 * wait for room in memory that would have to be written to the root filesystem first.  Programs
 * that it starts have the second alone.  ERR_IO: it may not. */
int memory_lock(struct err *);

#endif /* STREAM_SWITCH_MEMORY_H */
