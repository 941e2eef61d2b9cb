/* destination.c: makes a disk, a file or a rehearsal the sink of an image that comes over
 * a network (destination.h).  feeder_new() calls destination_open(), in the thread that
 * begins to load. */
#include "imageunzip/install/destination.h"

#include <sys/stat.h>

#include "common/disk/disk.h"
#include "imageunzip/install/install_sink.h"

/* A disk must have room for all of the data. */
static int
check_room(const char *path, uint64_t bytes, struct err *e)
{
	struct err ignored;
	struct disk *d;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	uint64_t room = disk_size_bytes(d);
	(void)disk_close(d, &ignored);
	if (room >= bytes)
		return 0;
	return err_set(e, ERR_REFUSED, "%s: has %llu bytes, and the data needs %llu",
	    path, (unsigned long long)room, (unsigned long long)bytes);
}

/* Nothing but a disk is opened here: to open a named pipe is to wait for its other end.
 */
static int
check_place(const struct destination *d, struct err *e)
{
	struct stat st;

	if (d->bytes == 0 || stat(d->name, &st) != 0)
		return 0;
	if (!d->install.force && S_ISREG(st.st_mode) && st.st_size > 0)
		return err_set(
		    e, ERR_REFUSED, "%s: exists already; --force replaces it", d->name);
	return S_ISBLK(st.st_mode) ? check_room(d->name, d->bytes, e) : 0;
}

static int
open_file(const struct destination *d, struct sink *sink, struct err *e)
{
	const struct sink_file_config file = { .path = d->name,
		.force = d->install.force,
		.guard = d->install.guard };

	return check_place(d, e) == 0 ? sink_to_file(sink, &file, e) : -1;
}

int
destination_open(void *destination, struct sink *sink, struct err *e)
{
	struct destination *d = destination;
	struct install_sink_config disk = { .install = d->install,
		.target = d->name,
		.stats = &d->stats };

	if (d->any_file)
		return open_file(d, sink, e);
	disk.install.gentle = true;
	if (d->dry != NULL)
		return sink_to_rehearsal(
		    sink, &disk.install, d->name, NULL, d->dry, e);
	return sink_to_install(sink, &disk, e);
}
