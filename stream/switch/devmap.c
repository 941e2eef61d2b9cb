/* devmap.c: asks the kernel's device mapper for devices with one linear target, by ioctl(2).
 * switch.c and keep.c call this, in the first thread. */
#include "stream/switch/devmap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { REQUEST_BYTES = 2048 };

/* A request, and the kernel's answer in its place: the header, then a target with its words. */
union request {
	struct dm_ioctl head;
	uint8_t bytes[REQUEST_BYTES];
};

static struct dm_target_spec *
target_of(union request *r)
{
	return (void *)(r->bytes + sizeof r->head);
}

static char *
words_of(union request *r)
{
	return (char *)(r->bytes + sizeof r->head + sizeof(struct dm_target_spec));
}

static int
prepare(union request *r, const char *name, struct err *e)
{
	memset(r, 0, sizeof *r);
	r->head.version[0] = DM_VERSION_MAJOR;
	r->head.data_size = sizeof *r;
	r->head.data_start = sizeof r->head;
	if (name[0] == '\0' || strchr(name, '/') != NULL || strlen(name) >= DEVMAP_NAME_CAP)
		return err_set(e, ERR_USAGE,
		    "\"%s\": cannot be the name of a device of the device mapper", name);
	snprintf(r->head.name, sizeof r->head.name, "%s", name);
	return 0;
}

/* Ask the kernel.  `what` says in an error what failed, behind the device's name. */
static int
ask(int fd, unsigned long command, union request *r, const char *what, struct err *e)
{
	char name[DEVMAP_NAME_CAP];

	snprintf(name, sizeof name, "%s", r->head.name);
	if (ioctl(fd, command, r) == 0)
		return 0;
	if (errno == ENXIO)
		return err_set(e, ERR_ABSENT, "/dev/mapper/%s: there is no such device", name);
	return err_os(e, "/dev/mapper/%s: %s", name, what);
}

int
devmap_open(struct err *e)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	err_os(e, "/dev/mapper/control");
	if (e->os != ENOENT && e->os != ENODEV && e->os != ENXIO)
		return -1;
	e->kind = ERR_ABSENT;
	return err_ctx(e, "the kernel's device mapper is not there; its module is dm_mod");
}

int
devmap_create(int fd, const char *name, const char *uuid, dev_t *device, struct err *e)
{
	union request r;

	if (prepare(&r, name, e) != 0)
		return -1;
	snprintf(r.head.uuid, sizeof r.head.uuid, "%s", uuid);
	if (ask(fd, DM_DEV_CREATE, &r, "cannot be made", e) != 0)
		return -1;
	*device = (dev_t)r.head.dev;
	return 0;
}

int
devmap_load(int fd, const char *name, const struct linear *t, struct err *e)
{
	union request r;

	if (prepare(&r, name, e) != 0)
		return -1;
	struct dm_target_spec *target = target_of(&r);
	r.head.target_count = 1;
	target->length = t->sectors;
	snprintf(target->target_type, sizeof target->target_type, "linear");
	snprintf(words_of(&r), REQUEST_BYTES - sizeof r.head - sizeof *target, "%u:%u %" PRIu64,
	    major(t->onto), minor(t->onto), t->first);
	return ask(fd, DM_TABLE_LOAD, &r, "its new table cannot be loaded", e);
}

void
devmap_unload(int fd, const char *name)
{
	union request r;
	struct err ignored; /* the table in effect stays */

	if (prepare(&r, name, &ignored) == 0)
		ask(fd, DM_TABLE_CLEAR, &r, "", &ignored);
}

int
devmap_resume(int fd, const char *name, struct err *e)
{
	union request r;

	if (prepare(&r, name, e) != 0)
		return -1;
	/* Neither DM_SUSPEND_FLAG: this resumes; nor DM_NOFLUSH_FLAG: requests that are under
	 * way end first. */
	r.head.flags = DM_SKIP_LOCKFS_FLAG;
	return ask(fd, DM_DEV_SUSPEND, &r, "cannot be resumed", e);
}

/* Read "MAJOR:MINOR FIRST", the words of a linear target. */
static int
read_words(struct linear *t, const char *words)
{
	unsigned maj, min;
	char rest;

	if (sscanf(words, "%u:%u %" SCNu64 "%c", &maj, &min, &t->first, &rest) != 3)
		return -1;
	t->onto = makedev(maj, min);
	return 0;
}

int
devmap_table(int fd, const char *name, struct linear *t, dev_t *device, struct err *e)
{
	union request r;

	if (prepare(&r, name, e) != 0)
		return -1;
	r.head.flags = DM_STATUS_TABLE_FLAG;
	if (ask(fd, DM_TABLE_STATUS, &r, "its table cannot be read", e) != 0)
		return -1;
	if (r.head.flags & DM_SUSPEND_FLAG)
		return err_set(e, ERR_REFUSED, "/dev/mapper/%s: is suspended", name);
	const struct dm_target_spec *target = target_of(&r);
	r.bytes[REQUEST_BYTES - 1] = '\0';
	t->sectors = target->length;
	if (r.head.data_start != sizeof r.head || r.head.target_count != 1 ||
	    target->sector_start != 0 ||
	    strncmp(target->target_type, "linear", sizeof target->target_type) != 0 ||
	    read_words(t, words_of(&r)) != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "/dev/mapper/%s: does not consist of one linear target", name);
	if (device != NULL)
		*device = (dev_t)r.head.dev;
	return 0;
}

int
devmap_remove(int fd, const char *name, struct err *e)
{
	union request r;

	if (prepare(&r, name, e) != 0)
		return -1;
	return ask(fd, DM_DEV_REMOVE, &r, "cannot be removed", e);
}
