/* consistent.c: finds whether a device could be written while it was read.  extract.c calls this,
 * in its first thread. */
#include "dsync/extract/consistent.h"

#include <stdio.h>
#include <string.h>

#include "common/disk/inuse.h"

/* Whether nobody can write the device now: 0, or -1 with an error that names who can.  A device
 * that is read-only is no proof: a filesystem that was mounted before still writes to it, and
 * the file behind a read-only loop device can be written. */
static int
look(struct consistency *m, struct err *e)
{
	struct inuse_query q = { .root = "", .path = disk_name(m->disk),
		.purpose = INUSE_TO_READ };
	int fd = disk_fd(m->disk);

	if (fd < 0)
		return err_set(e, ERR_REFUSED,
		    "%s: whether something writes to it cannot be found out",
		    disk_name(m->disk));
	if (fstat(fd, &q.st) != 0)
		return err_os(e, "%s", disk_name(m->disk));
	return inuse_check(&q, e);
}

void
consistency_begin(struct consistency *m, struct disk *d)
{
	struct err e;

	memset(m, 0, sizeof *m);
	m->disk = d;
	m->steady = look(m, &e) == 0;
	if (!m->steady)
		snprintf(m->why, sizeof m->why, "%s", e.text);
	if (disk_fd(d) < 0 || fstat(disk_fd(d), &m->before) != 0)
		memset(&m->before, 0, sizeof m->before);
}

bool
consistency_held(struct consistency *m)
{
	struct stat now;
	struct err e;

	if (!m->steady)
		return false;
	if (look(m, &e) != 0) {
		snprintf(m->why, sizeof m->why, "%s", e.text);
		return false;
	}
	/* The times of a file also show a writer that has closed it again. */
	if (disk_kind(m->disk) == DISK_FILE && fstat(disk_fd(m->disk), &now) == 0 &&
	    (now.st_mtim.tv_sec != m->before.st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != m->before.st_mtim.tv_nsec ||
		now.st_size != m->before.st_size)) {
		snprintf(m->why, sizeof m->why, "%s was written while it was read",
		    disk_name(m->disk));
		return false;
	}
	return true;
}
