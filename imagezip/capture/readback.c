/* readback.c: reads an image back that was just written (readback.h).  main.c calls this, in the first
 * thread. */
#include "imagezip/capture/readback.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/image/write/sigimage.h"

/* A filesystem that is a program, as ntfs-3g, reads its device as any file: the kernel keeps what it wrote. */
static void
forget_device(dev_t dev)
{
	char link[64], target[PATH_MAX], node[PATH_MAX + 8];

	snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
	ssize_t n = readlink(link, target, sizeof target - 1);
	if (n < 0)
		return; /* no device of this machine */
	target[n] = '\0';
	const char *slash = strrchr(target, '/');
	snprintf(node, sizeof node, "/dev/%s", slash != NULL ? slash + 1 : target);
	int fd = open(node, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* What is cached of a file goes only after it has reached the medium. */
static int
forget_cached(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_os(e, "%s", path);
	int rc = fsync(fd) == 0 && fstat(fd, &st) == 0 ? 0 : err_os(e, "%s", path);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* what is on tmpfs has no other place */
	if (rc == 0)
		forget_device(st.st_dev);
	close(fd);
	return rc;
}

int
readback_check(const char *path, const struct sig *stored, struct err *e)
{
	struct sectors *image;
	struct sig is = { 0 };
	uint32_t sector;

	if (forget_cached(path, e) != 0 || sectors_open(&image, path, e) != 0)
		return -1;
	int rc = sig_of_image(&is, image, stored->hash, stored->block_sectors, NULL, NULL, e);
	sectors_close(image);
	if (rc == 0 && !sig_is_same(stored, &is, &sector))
		rc = err_set(e, ERR_FORMAT, "%s: what was read back differs from what was stored, from sector %u on", path,
		    sector);
	sig_free(&is);
	return rc;
}
