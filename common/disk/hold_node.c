/* hold_node.c: which nodes and files are locked for a device.  hold.c alone calls this,
 * in its caller's thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/disk/hold_impl.h"
#include "common/disk/inuse_impl.h"

/* The bytes are those of something that lies in `outer` of something else. */
static void
move_into(struct hold_node *n, struct range outer)
{
	n->bytes.off += outer.off;
	if (n->bytes.len == 0)
		n->bytes.len = outer.len;
}

/* Read a number of a device from sysfs; 0: it has none. */
static uint64_t
number_of(dev_t dev, const char *file)
{
	char line[64];
	uint64_t n = 0;

	if (!inuse_line("", line, sizeof line, "sys/dev/block/%u:%u/%s", major(dev),
		minor(dev), file) ||
	    sscanf(line, "%" SCNu64, &n) != 1)
		return 0;
	return n;
}

/* The bytes of a partition on its disk. */
static struct range
sysfs_range(dev_t dev)
{
	return (struct range){ number_of(dev, "start") * SECTOR_BYTES,
		number_of(dev, "size") * SECTOR_BYTES };
}

/* All programs lock the same node, by whatever name they know the device. */
static bool
name_node(char name[PATH_MAX], dev_t dev)
{
	char path[INUSE_NAME_BYTES];
	struct stat st;

	inuse_node_name("", dev, path, sizeof path);
	if (stat(path, &st) != 0 || !S_ISBLK(st.st_mode) || st.st_rdev != dev)
		return false;
	snprintf(name, PATH_MAX, "%s", path);
	return true;
}

void
hold_node_of(struct hold_node *n, const struct stat *st)
{
	dev_t disk = S_ISBLK(st->st_mode) ? inuse_disk_of("", st->st_rdev) : 0;

	if (disk != 0 && name_node(n->name, disk))
		move_into(n, sysfs_range(st->st_rdev));
	else if (S_ISBLK(st->st_mode))
		(void)name_node(n->name, st->st_rdev); /* else the name serves */
}

bool
hold_node_below(struct hold_node *n, const struct stat *st)
{
	if (!S_ISBLK(st->st_mode) ||
	    !inuse_line("", n->name, sizeof n->name,
		"sys/dev/block/%u:%u/loop/backing_file", major(st->st_rdev),
		minor(st->st_rdev)))
		return false;
	uint64_t from = number_of(st->st_rdev, "loop/offset");
	if (from != 0 || number_of(st->st_rdev, "loop/sizelimit") != 0)
		move_into(n, (struct range){
				 from, number_of(st->st_rdev, "size") * SECTOR_BYTES });
	return true;
}
