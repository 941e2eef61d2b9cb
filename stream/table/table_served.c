/* table_served.c: lets other programs know that the disk of a sector table is served. 
 * The engine of a streaming disk (stream/disk) says so, and the source of change "map"
 * (dsync/change) asks, in one thread each.
 *
 * The sign is a lock on the table's headers, which belongs to the open file: it ends with the
 * program, whatever ends that, and not when the program goes into the background.  udev's locks on
 * block devices are of another kind, and do not meet it. */
#include "common/base/lock.h"
#include "stream/table/table_impl.h"

enum { HEADERS_BYTES = HEADER_FRAMES * FRAME_BYTES };

static int
file_of(const struct table *t)
{
	return t->on != NULL ? disk_fd(t->on) : -1;
}

void
table_be_served(struct table *t)
{
	if (file_of(t) >= 0)
		lock_try_bytes(file_of(t), t->at_bytes, HEADERS_BYTES);
}

bool
table_is_served(const struct table *t)
{
	return file_of(t) >= 0 && lock_is_taken(file_of(t), t->at_bytes, HEADERS_BYTES);
}
