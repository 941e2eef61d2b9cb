/* badlib.so: libraries that read filesystems and do what a disk's maker wants, and a system
 * that filters no system calls.
 *	LD_PRELOAD=badlib.so BADLIB=WHAT program...
 * WHAT:
 *	crash	a process that has a filesystem opened by libntfs-3g or libext2fs is killed
 *	leave	it ends, with status 0
 *	nofilter	the kernel knows no seccomp
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ntfs_device;
void *ntfs_device_mount(struct ntfs_device *, unsigned long);
long ext2fs_open2(const char *, const char *, int, int, unsigned, void *, void **);

static bool
asked(const char *what)
{
	const char *want = getenv("BADLIB");

	return want != NULL && strcmp(want, what) == 0;
}

static void
misbehave(void)
{
	if (asked("crash"))
		raise(SIGKILL);
	if (asked("leave"))
		_exit(0);
}

void *
ntfs_device_mount(struct ntfs_device *dev, unsigned long flags)
{
	void *(*real)(struct ntfs_device *, unsigned long);

	misbehave();
	*(void **)&real = dlsym(RTLD_NEXT, "ntfs_device_mount");
	return real(dev, flags);
}

long
ext2fs_open2(const char *name, const char *options, int flags, int super,
    unsigned block_bytes, void *manager, void **fs)
{
	long (*real)(const char *, const char *, int, int, unsigned, void *, void **);

	misbehave();
	*(void **)&real = dlsym(RTLD_NEXT, "ext2fs_open2");
	return real(name, options, flags, super, block_bytes, manager, fs);
}

int
prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP && asked("nofilter")) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

long
syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_seccomp && asked("nofilter")) {
		errno = ENOSYS;
		return -1;
	}
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
