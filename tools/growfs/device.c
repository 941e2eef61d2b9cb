/* device.c: gives programs the last partition of the disk as a device of its own: the
 * kernel's, or a loop device.  main.c calls this, in the program's thread; what losetup
 * prints is read in a thread of base/child. */
#include "tools/growfs/device.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/args.h"

/* The kernel's own device of the partition, in name; false: it has none. */
static bool
kernel_partition(const struct device *v, char *name, size_t cap)
{
	char names[8][INUSE_NAME_CAP];
	unsigned n = inuse_partitions("", &v->st, v->part.sectors, names, 8);

	for (unsigned i = 0; i < n; i++) {
		struct disk *d;
		struct err e;
		if (disk_open(&d, names[i], DISK_READ, &e) != 0)
			continue;
		bool same = disk_size_bytes(d) == v->part.sectors.len * SECTOR_BYTES;
		disk_close(d, &e);
		if (same) {
			snprintf(name, cap, "%.255s", names[i]);
			return true;
		}
	}
	return false;
}

static void
note_loop(void *arg, enum child_stream which, const char *line)
{
	struct device *v = arg;

	if (which == CHILD_OUTPUT)
		snprintf(v->loop, sizeof v->loop, "%.200s", line);
}

static int
detach_loop(struct device *v, struct err *e)
{
	struct args a = { 0 };

	if (v->loop[0] == '\0')
		return 0;
	args_add(&a, "losetup");
	args_add(&a, "-d");
	args_add(&a, v->loop);
	return args_run(&a, e);
}

static int
attach_loop(struct device *v, struct err *e)
{
	struct args a = { 0 };
	struct err ignored;

	args_add(&a, "losetup");
	args_add(&a, "--show");
	args_add(&a, "-f");
	args_addf(&a, "--offset=%" PRIu64, v->part.sectors.off * SECTOR_BYTES);
	args_addf(&a, "--sizelimit=%" PRIu64, v->part.sectors.len * SECTOR_BYTES);
	args_add(&a, v->disk);
	if (args_run_telling(&a, note_loop, v, e) == 0 && v->loop[0] == '/')
		return 0;
	/* A signal may end this program's work when losetup has attached a device
	 * already. */
	if (v->loop[0] == '/')
		detach_loop(v, &ignored);
	v->loop[0] = '\0';
	return err_ctx(e, "%s: a device for partition %u", v->disk, v->part.number);
}

int
device_with(struct device *v, device_act_fn *act, struct resize *fs, struct err *e)
{
	char name[INUSE_NAME_CAP];
	struct err detaching;

	if (v->part.number == 0)
		return act(v->disk, fs, e);
	if (kernel_partition(v, name, sizeof name))
		return act(name, fs, e);
	if (attach_loop(v, e) != 0)
		return -1;
	int rc = act(v->loop, fs, e);
	if (rc != 0)
		err_ctx(e, "%s: partition %u", v->disk, v->part.number);
	if (detach_loop(v, &detaching) != 0 && rc == 0) {
		*e = detaching;
		rc = -1;
	}
	v->loop[0] = '\0';
	return rc;
}
