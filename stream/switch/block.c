/* block.c: opens block devices and asks the kernel about them.  switch.c and keep.c call this, in
 * the first thread. */
#include "stream/switch/block.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/disk/range.h"

void
block_close(struct block *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

int
block_open(struct block *b, const char *path, struct err *e)
{
	struct stat st;
	uint64_t bytes;

	b->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (b->fd < 0) {
		err_os(e, "%s", path);
		e->kind = e->os == ENOENT ? ERR_ABSENT : ERR_IO;
		return -1;
	}
	if (fstat(b->fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    ioctl(b->fd, BLKGETSIZE64, &bytes) == 0 &&
	    ioctl(b->fd, BLKSSZGET, &b->sector_bytes) == 0) {
		b->number = st.st_rdev;
		b->sectors = bytes / SECTOR_BYTES;
		return 0;
	}
	block_close(b);
	return err_set(e, ERR_UNSUPPORTED, "%s: is not a block device", path);
}

int
block_name(dev_t number, char buf[BLOCK_NAME_CAP], struct err *e)
{
	char path[64], to[PATH_MAX];

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(number), minor(number));
	ssize_t n = readlink(path, to, sizeof to - 1);
	if (n < 0)
		return err_os(e, "%s", path);
	to[n] = '\0';
	const char *last = strrchr(to, '/');
	snprintf(buf, BLOCK_NAME_CAP, "/dev/%.64s", last != NULL ? last + 1 : to);
	return 0;
}
