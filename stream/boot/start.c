/* start.c: loads a kernel with kexec_file_load(2), and starts it.  streamdisk calls this, in the
 * first thread. */
#include "stream/boot/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/disk/disk.h"

enum { WORDS_CAP = 2048 }; /* what kernels take: COMMAND_LINE_SIZE of x86 */

static int
open_in(const char *folder, const char *name, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%.4000s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : err_os(e, "%s", path);
}

/* Put the first line of the file cmdline, and the further words, into out. */
static int
read_words(const char *folder, const char *words, char out[WORDS_CAP], struct err *e)
{
	/* One character more than a kernel takes shows that there are more. */
	char path[PATH_MAX], line[WORDS_CAP + 1];
	struct err ignored; /* it was only read */
	struct disk *d;

	snprintf(path, sizeof path, "%.4000s/cmdline", folder);
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	ssize_t n = disk_read_upto(d, line, sizeof line - 1, 0, e);
	disk_close(d, &ignored);
	if (n < 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	int len = snprintf(
	    out, WORDS_CAP, "%s%s%s", line, words != NULL ? " " : "", words != NULL ? words : "");
	if (len >= WORDS_CAP)
		return err_set(e, ERR_USAGE, "%s: the kernel takes %d characters, and these are %d",
		    path, WORDS_CAP - 1, len);
	return 0;
}

static int
load(int kernel, int ramdisk, const char *words, struct err *e)
{
	if (syscall(SYS_kexec_file_load, kernel, ramdisk, strlen(words) + 1, words, 0L) == 0)
		return 0;
	err_os(e, "the kernel of the image cannot be loaded");
	if (e->os == ENOSYS || e->os == EPERM || e->os == EKEYREJECTED || e->os == ENODATA)
		e->kind = ERR_UNSUPPORTED;
	return -1;
}

static int
load_files(const char *folder, const char *words, struct err *e)
{
	int rc = -1, ramdisk = -1, kernel = open_in(folder, "vmlinuz", e);

	if (kernel >= 0)
		ramdisk = open_in(folder, "initrd.img", e);
	if (ramdisk >= 0)
		rc = load(kernel, ramdisk, words, e);
	if (kernel >= 0)
		close(kernel);
	if (ramdisk >= 0)
		close(ramdisk);
	return rc;
}

int
boot_start(const char *folder, const char *words, struct err *e)
{
	char all[WORDS_CAP];

	if (read_words(folder, words, all, e) != 0 || load_files(folder, all, e) != 0)
		return -1;
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	return err_os(e, "the kernel of the image cannot be started");
}
