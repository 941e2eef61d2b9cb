/* tree.h: the files of a system, in an ext2, ext3 or ext4 filesystem of a disk that nobody has
 * mounted, or in a folder where the kernel has mounted its filesystems.
 *
 * libext2fs reads a filesystem in this process.  The system is one that the machine is going to be
 * started from, so it is trusted as far as that. */
#ifndef STREAM_BOOT_TREE_H
#define STREAM_BOOT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/disk/disk.h"

struct tree;

/* Open the filesystem in these sectors of the disk, which is borrowed until tree_close().
 * ERR_UNSUPPORTED: there is none that the library can read; ERR_NOMEM. */
int tree_open(struct tree **, struct disk *, struct range part, struct err *);
/* Open a folder where the root filesystem is mounted, and in it what belongs to the system.
 * ERR_ABSENT: there is none; ERR_IO; ERR_NOMEM. */
int tree_open_mounted(struct tree **, const char *folder, struct err *);
/* NULL is allowed. */
void tree_close(struct tree *);

/* The module that reads the filesystem with this path: "ext4", "xfs" or "btrfs".  ERR_ABSENT: there
 * is no such path; ERR_UNSUPPORTED: it is another one; ERR_IO. */
int tree_filesystem(struct tree *, const char *path, const char **name, struct err *);
/* Is there a file or folder with this path?  Paths begin at the root, and symbolic links in them are
 * followed inside it. */
bool tree_has(struct tree *, const char *path);
/* Call each(arg, name) for each name in a folder, except "." and "..", until it returns false.
 * Names are valid during the call.  ERR_ABSENT: there is no such folder; ERR_FORMAT;
 * ERR_IO. */
int tree_list(struct tree *, const char *path, bool (*each)(void *arg, const char *name),
    void *arg, struct err *);
/* Append a file's bytes to b.  ERR_ABSENT: there is no such file; ERR_UNSUPPORTED: it has more
 * than most_bytes; ERR_FORMAT: it cannot be read; ERR_IO; ERR_NOMEM. */
int tree_read(
    struct tree *, const char *path, size_t most_bytes, struct buf *b, struct err *);

#endif /* STREAM_BOOT_TREE_H */
