/* place.c: gives programs a place on a disk as a device of its own: the kernel's, or a
 * loop device.  follow.c calls this, in its caller's thread; what losetup prints is read in
 * a thread of base/child. */
#include "common/resize/place.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/disk/disk.h"
#include "common/disk/inuse.h"

enum { NAMES_MAX = 8 };

struct place {
	const char *disk;
	struct range sectors;
	struct stat st;            /* of the disk */
	char path[INUSE_NAME_CAP]; /* of the device */
	char loop[INUSE_NAME_CAP]; /* the loop device; "": none is attached */
	int fd; /* keeps the loop device, which is detached when nobody has it open; -1 */
};

static int
find_bytes(const char *path, struct place *p, uint64_t *bytes, struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = p != NULL && fstat(disk_fd(d), &p->st) != 0 ? err_os(e, "%s", path) : 0;
	*bytes = disk_size_bytes(d);
	disk_close(d, &closing); /* only read: nothing to lose */
	return rc;
}

/* Does the kernel's partition of this name have that sector? */
static bool
has_sector(const struct place *p, const char *name, uint64_t sector)
{
	char names[NAMES_MAX][INUSE_NAME_CAP];
	struct range one = { sector, 1 };
	unsigned n = inuse_partitions("", &p->st, one, names, NAMES_MAX);

	while (n > 0)
		if (strcmp(names[--n], name) == 0)
			return true;
	return false;
}

/* The kernel's own device of these sectors; false: it has none. */
static bool
find_kernels(struct place *p)
{
	char names[NAMES_MAX][INUSE_NAME_CAP];
	struct range one = { p->sectors.off, 1 };
	unsigned n = inuse_partitions("", &p->st, one, names, NAMES_MAX);
	uint64_t bytes;
	struct err e;

	for (unsigned i = 0; i < n; i++) {
		if (find_bytes(names[i], NULL, &bytes, &e) != 0 ||
		    bytes != p->sectors.len * SECTOR_BYTES ||
		    (one.off > 0 && has_sector(p, names[i], one.off - 1)))
			continue;
		memcpy(p->path, names[i], sizeof p->path);
		return true;
	}
	return false;
}

static void
note_loop(void *arg, enum child_stream which, const char *line)
{
	struct place *p = arg;

	if (which == CHILD_OUTPUT)
		snprintf(p->loop, sizeof p->loop, "%.200s", line);
}

/* Detach a device that is not kept yet. */
static void
drop_loop(const struct place *p)
{
	struct args a = { 0 };
	struct err ignored;

	args_add(&a, "losetup");
	args_add(&a, "-d");
	args_add(&a, p->loop);
	args_run(&a, &ignored);
}

/* The kernel detaches the device when the last program closes it: also when this one, and
 * the tool that it runs, are killed. */
static int
keep_loop(struct place *p, struct err *e)
{
	struct loop_info64 info;

	p->fd = open(p->loop, O_RDONLY | O_CLOEXEC);
	if (p->fd >= 0 && ioctl(p->fd, LOOP_GET_STATUS64, &info) == 0) {
		info.lo_flags |= LO_FLAGS_AUTOCLEAR;
		if (ioctl(p->fd, LOOP_SET_STATUS64, &info) == 0) {
			memcpy(p->path, p->loop, sizeof p->path);
			return 0;
		}
	}
	err_os(e, "%s", p->loop);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	drop_loop(p);
	return -1;
}

/* What the tools wrote must have reached the disk. */
static int
detach_loop(struct place *p, struct err *e)
{
	if (p->fd < 0)
		return 0;
	int rc = fsync(p->fd) == 0 ? 0 : err_os(e, "%s: it could not be flushed", p->loop);
	close(p->fd);
	return rc;
}

/* The kernel makes the devices when its module is there. */
static void
need_module(void)
{
	struct args a = { 0 };
	struct err ignored;

	if (access("/dev/loop-control", F_OK) == 0)
		return;
	args_add(&a, "modprobe");
	args_add(&a, "loop");
	args_run(&a, &ignored);
}

bool
place_can(void)
{
	need_module();
	return geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

static int
attach_loop(struct place *p, struct err *e)
{
	struct args a = { 0 };

	need_module();
	args_add(&a, "losetup");
	args_add(&a, "--show");
	args_add(&a, "-f");
	args_addf(&a, "--offset=%" PRIu64, p->sectors.off * SECTOR_BYTES);
	args_addf(&a, "--sizelimit=%" PRIu64, p->sectors.len * SECTOR_BYTES);
	args_add(&a, p->disk);
	int rc = args_run_telling(&a, note_loop, p, e);
	if (rc == 0 && p->loop[0] == '/')
		rc = keep_loop(p, e);
	/* A signal may end this program's work when losetup has attached a device
	 * already. */
	else if (p->loop[0] == '/')
		drop_loop(p);
	else if (rc == 0)
		rc = err_set(e, ERR_IO, "losetup names no device");
	return rc == 0 ? 0
	               : err_ctx(e, "%s: a device for the sectors from %" PRIu64 " on",
			     p->disk, p->sectors.off);
}

int
place_with(const char *disk, struct range sectors, bool own, place_act_fn *act, void *arg,
    struct err *e)
{
	struct place p = { .disk = disk, .sectors = sectors, .fd = -1 };
	struct err detaching;
	uint64_t bytes;

	if (find_bytes(disk, &p, &bytes, e) != 0)
		return -1;
	/* LVM takes no file for a device. */
	bool as_it_is = S_ISBLK(p.st.st_mode) || geteuid() != 0;
	if (as_it_is && sectors.off == 0 && sectors.len == bytes / SECTOR_BYTES)
		return act(arg, disk, e);
	if ((own || !find_kernels(&p)) && attach_loop(&p, e) != 0)
		return -1;
	int rc = act(arg, p.path, e);
	if (detach_loop(&p, &detaching) != 0 && rc == 0) {
		*e = detaching;
		rc = -1;
	}
	return rc;
}
