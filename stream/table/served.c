/* served.c: lets other programs know that the disk of a sector table is served.  The engine of a
 * streaming disk (stream/disk) says so, and the source of change "map" (dsync/change) asks, in one
 * thread each.
 *
 * The sign is a lock on the table's headers, which belongs to the open file: it ends with the
 * program, whatever ends that, and not when the program goes into the background.  udev's locks on
 * block devices are of another kind, and do not meet it. */
#include <fcntl.h>

#include "stream/table/table_impl.h"

static struct flock
headers_of(const struct table *t, short type)
{
	return (struct flock){ .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)t->at_bytes,
		.l_len = HEADER_FRAMES * FRAME_BYTES };
}

static int
file_of(const struct table *t)
{
	return t->on != NULL ? disk_fd(t->on) : -1;
}

void
table_be_served(struct table *t)
{
	struct flock l = headers_of(t, F_WRLCK);

	if (file_of(t) >= 0)
		fcntl(file_of(t), F_OFD_SETLK, &l);
}

bool
table_is_served(const struct table *t)
{
	struct flock l = headers_of(t, F_WRLCK);

	return file_of(t) >= 0 && fcntl(file_of(t), F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}
