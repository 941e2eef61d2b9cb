/* mounted.h: the files of filesystems that the kernel of this machine has mounted at a folder.
 *
 * Symbolic links lead where they would if the folder were the root of the machine, and so never
 * out of it. */
#ifndef STREAM_BOOT_MOUNTED_H
#define STREAM_BOOT_MOUNTED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* Open the folder.  The descriptor is the caller's, for the functions below.  -1 with ERR_ABSENT:
 * there is none; ERR_IO. */
int mounted_open(const char *folder, struct err *);
/* The kernel's name of the filesystem that `path` is on, as a module has it.  ERR_ABSENT: there is
 * no such path; ERR_UNSUPPORTED: the filesystem is none of ext4, XFS and btrfs; ERR_IO. */
int mounted_filesystem(int root, const char *path, const char **name, struct err *);

/* As the functions of tree.h that are called so.  ERR_IO: the kernel cannot read it. */
bool mounted_has(int root, const char *path);
int mounted_list(int root, const char *path, bool (*each)(void *arg, const char *name), void *arg,
    struct err *);
int mounted_read(int root, const char *path, size_t most_bytes, struct buf *, struct err *);

#endif /* STREAM_BOOT_MOUNTED_H */
