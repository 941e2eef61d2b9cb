/* keep.c: holds a disk through the device mapper, and hides it from udev.  streamswitch calls
 * this, in its one thread.
 *
 * The rules are in files of two orders.  Files 08 come before all rules of udev and of the device
 * mapper, which look at the variables that are set here; file 98 comes behind those that find
 * filesystems, and before those of systemd. */
#include "stream/switch/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/disk/disk.h"
#include "common/disk/partitions.h"
#include "stream/switch/block.h"
#include "stream/switch/switch.h"

/* DM_UDEV_PRIMARY_SOURCE_FLAG: the rules of the device mapper take devices that udev finds when
 * it starts for incomplete ones unless this is set. */
static const char early_rules[] =
    "SUBSYSTEM==\"block\", ATTR{dm/uuid}==\"frisbee-*|part*-frisbee-*\", "
    "ENV{DM_UDEV_PRIMARY_SOURCE_FLAG}=\"1\"\n";
/* For systems without the rules of the device mapper, which set DM_UDEV_RULES_VSN. */
static const char late_rules[] =
    "ACTION!=\"add|change\", GOTO=\"frisbee_end\"\n"
    "SUBSYSTEM!=\"block\", GOTO=\"frisbee_end\"\n"
    "ATTR{dm/uuid}!=\"frisbee-*|part*-frisbee-*\", GOTO=\"frisbee_end\"\n"
    "ENV{SYSTEMD_READY}==\"0\", GOTO=\"frisbee_end\"\n"
    "ENV{DM_UDEV_RULES_VSN}==\"?*\", GOTO=\"frisbee_end\"\n"
    "SYMLINK+=\"mapper/$attr{dm/name}\"\n"
    "IMPORT{builtin}=\"blkid\"\n"
    "ENV{ID_FS_UUID_ENC}==\"?*\", SYMLINK+=\"disk/by-uuid/$env{ID_FS_UUID_ENC}\"\n"
    "ENV{ID_FS_LABEL_ENC}==\"?*\", SYMLINK+=\"disk/by-label/$env{ID_FS_LABEL_ENC}\"\n"
    "ENV{ID_PART_ENTRY_UUID}==\"?*\", SYMLINK+=\"disk/by-partuuid/$env{ID_PART_ENTRY_UUID}\"\n"
    "TAG+=\"systemd\"\n"
    "LABEL=\"frisbee_end\"\n";

static int
make_folders(const char *folder, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s", folder);
	for (char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
		if (p != NULL)
			*p = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return err_os(e, "%s", path);
		if (p == NULL)
			return 0;
		*p = '/';
	}
}

static int
write_file(const char *folder, const char *file, const char *text, struct err *e)
{
	char path[PATH_MAX];

	if (make_folders(folder, e) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/%s", folder, file);
	FILE *f = fopen(path, "we");
	bool ok = f != NULL && fwrite(text, 1, strlen(text), f) == strlen(text);
	if (f != NULL && fclose(f) != 0)
		ok = false;
	return ok ? 0 : err_os(e, "%s", path);
}

int
keep_write_rules(const char *rules, struct err *e)
{
	if (write_file(rules, "08-frisbee.rules", early_rules, e) != 0)
		return -1;
	return write_file(rules, "98-frisbee.rules", late_rules, e);
}

/* Set `kernel` to the kernel's name of a block device, such as "sda", and `file` to that of its
 * rule. */
static int
names_of(const char *device, char kernel[BLOCK_NAME_CAP], char file[2 * BLOCK_NAME_CAP],
    struct err *e)
{
	char path[BLOCK_NAME_CAP];
	struct block b;

	if (block_open(&b, device, e) != 0)
		return -1;
	int rc = block_name(b.number, path, e);
	block_close(&b);
	if (rc != 0)
		return -1;
	snprintf(kernel, BLOCK_NAME_CAP, "%s", path + strlen("/dev/"));
	snprintf(file, 2 * BLOCK_NAME_CAP, "08-frisbee-hide-%s.rules", kernel);
	return 0;
}

static int
remove_partitions(const char *disk, struct err *e)
{
	struct block b;

	if (block_open(&b, disk, e) != 0)
		return -1;
	int rc = partitions_remove(b.fd, disk, e);
	block_close(&b);
	return rc;
}

static void
read_partitions(const char *disk)
{
	struct block b;
	struct err ignored; /* the partitions come back at the next start */

	if (block_open(&b, disk, &ignored) != 0)
		return;
	ioctl(b.fd, BLKRRPART);
	block_close(&b);
}

/* Write the rule that hides a device from udev; the nodes of its partitions stay. */
static int
write_hiding_rule(const char *device, const char *rules, struct err *e)
{
	char kernel[BLOCK_NAME_CAP], file[2 * BLOCK_NAME_CAP], text[1000];

	if (names_of(device, kernel, file, e) != 0)
		return -1;
	snprintf(text, sizeof text,
	    "SUBSYSTEM==\"block\", KERNEL==\"%s\", "
	    "ENV{UDEV_DISABLE_PERSISTENT_STORAGE_RULES_FLAG}=\"1\", "
	    "ENV{DM_UDEV_DISABLE_OTHER_RULES_FLAG}=\"1\", "
	    "ENV{DM_UDEV_DISABLE_DISK_RULES_FLAG}=\"1\", ENV{UDISKS_IGNORE}=\"1\", "
	    "ENV{SYSTEMD_READY}=\"0\", SYMLINK:=\"\", OPTIONS:=\"nowatch\"\n",
	    kernel);
	return write_file(rules, file, text, e);
}

int
keep_hide(const char *device, const char *rules, struct err *e)
{
	if (write_hiding_rule(device, rules, e) != 0)
		return -1;
	if (remove_partitions(device, e) == 0)
		return 0;
	keep_show(device, rules);
	return -1;
}

void
keep_show(const char *device, const char *rules)
{
	char kernel[BLOCK_NAME_CAP], file[2 * BLOCK_NAME_CAP], path[PATH_MAX];
	struct err ignored; /* a device that is gone needs no rule */

	if (names_of(device, kernel, file, &ignored) != 0)
		return;
	snprintf(path, sizeof path, "%s/%s", rules, file);
	unlink(path);
	read_partitions(device);
}

/* Refuse a disk that is in use, or has a partition that is: its user would lose what is there. */
static int
check_unused(const char *disk, struct err *e)
{
	struct disk *d;
	struct err ignored; /* nothing was written */

	if (disk_open(&d, disk, DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	disk_close(d, &ignored);
	return 0;
}

static void
mapped_path(char out[PATH_MAX], const char *name)
{
	snprintf(out, PATH_MAX, "/dev/mapper/%.200s", name);
}

/* The partitions are taken away first: while one of them is open, the kernel does not let the
 * device mapper have the disk. */
static int
take(const char *disk, const char *name, const char *rules, struct err *e)
{
	char mapped[PATH_MAX];
	struct err ignored; /* the first error counts */
	unsigned none;

	if (keep_hide(disk, rules, e) != 0 || switch_make(name, disk, false, &none, e) != 0)
		return -1;
	mapped_path(mapped, name);
	if (write_hiding_rule(mapped, rules, e) == 0)
		return 0;
	switch_remove(name, &ignored);
	return -1;
}

int
keep_take(const char *disk, const char *name, const char *rules, struct err *e)
{
	if (check_unused(disk, e) != 0)
		return -1;
	if (take(disk, name, rules, e) == 0)
		return 0;
	keep_show(disk, rules);
	return -1;
}

int
keep_remove(const char *name, const char *rules, struct err *e)
{
	char kernel[BLOCK_NAME_CAP], file[2 * BLOCK_NAME_CAP], path[PATH_MAX];

	/* The rule has the kernel's name in it, which is gone with the device. */
	mapped_path(path, name);
	if (names_of(path, kernel, file, e) != 0 || switch_remove(name, e) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/%s", rules, file);
	unlink(path);
	return 0;
}

int
keep_drop(const char *disk, const char *name, const char *rules, struct err *e)
{
	if (keep_remove(name, rules, e) != 0)
		return -1;
	keep_show(disk, rules);
	return 0;
}
