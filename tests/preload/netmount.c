/* netmount.so: a folder that is on NFS, as far as a program can ask.
 *	LD_PRELOAD=netmount.so NETMOUNT=FOLDER NETMOUNT_TABLE=FILE [NETMOUNT_TYPE=N] program...
 * What lies in this folder is on NFS for the program, or on the filesystem whose number is N, and the
 * table of mounts is the one in FILE.  With NETMOUNT_LOST the answers to link(2) are lost: the second
 * request finds what the first has made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool
is_there(const char *path)
{
	const char *folder = getenv("NETMOUNT");

	return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static long
type(void)
{
	const char *number = getenv("NETMOUNT_TYPE");

	return number != NULL ? strtol(number, NULL, 0) : NFS_SUPER_MAGIC;
}

int
statfs(const char *path, struct statfs *out)
{
	int (*real)(const char *, struct statfs *) = dlsym(RTLD_NEXT, "statfs");
	int rc = real(path, out);

	if (rc == 0 && is_there(path))
		out->f_type = type();
	return rc;
}

int
statfs64(const char *path, struct statfs64 *out)
{
	int (*real)(const char *, struct statfs64 *) = dlsym(RTLD_NEXT, "statfs64");
	int rc = real(path, out);

	if (rc == 0 && is_there(path))
		out->f_type = type();
	return rc;
}

int
linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
	int rc = real(from_at, from, to_at, to, flags);

	if (rc != 0 || getenv("NETMOUNT_LOST") == NULL)
		return rc;
	errno = EEXIST;
	return -1;
}

FILE *
setmntent(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "setmntent");
	const char *table = getenv("NETMOUNT_TABLE");

	return real(table != NULL ? table : path, mode);
}
