/* device.c: opens the source of an extract.  The extract and dsync call device_open(), in one
 * thread; several threads read the disk that it returns. */
#include "dsync/read/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/disk/disk_nbd.h"

int
device_open(struct disk **out, const char *name, struct err *e)
{
	char path[300];

	if (disk_nbd_is(name))
		return disk_open_nbd(out, name, e);
	if (strchr(name, '/') == NULL && access(name, F_OK) != 0) {
		snprintf(path, sizeof path, "/dev/mapper/%.250s", name);
		if (access(path, F_OK) != 0)
			return err_set(e, ERR_ABSENT,
			    "%s: is not a file, and %s does not exist", name, path);
		name = path;
	}
	int rc = disk_open(out, name, DISK_READ, e);
	if (rc == 0 && !disk_seekable(*out)) {
		struct err ignored;
		disk_close(*out, &ignored);
		*out = NULL;
		rc = err_set(e, ERR_UNSUPPORTED, "%s: is neither a device nor a file", name);
	}
	return rc;
}
