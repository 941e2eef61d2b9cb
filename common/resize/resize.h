/* resize.h: a filesystem is made as large as its partition, or as small as its files allow, by
 * its own tools. */
#ifndef COMMON_RESIZE_RESIZE_H
#define COMMON_RESIZE_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/resize/script.h"

struct resize {
	char type[32]; /* as blkid(8) calls it: "ext4", "swap"; "": nothing was recognised */
	char version[16]; /* as blkid(8) calls it: "FAT32"; "": none */
	uint64_t was_bytes, is_bytes; /* its length before and now; 0: not known */
	uint32_t unit_bytes; /* its tool makes it a multiple of that */
	uint64_t spare_bytes; /* what resize_shrink() was to leave to spare */
	bool to_be_checked;  /* resize_grow() has left it marked to be checked */
	/* Why nothing was done: "swap space is not grown"; "": it was done, or the filesystem
	 * has the right length already. */
	char left_alone[256];
};

/* Is a tool absent that makes this filesystem larger?  type: as blkid(8), or an image, calls
 * it. */
bool resize_absent(const char *type, char tool[SCRIPT_TOOL_CAP]);
/* Say what is in a partition, and whether resize_grow() can grow it (left_alone); nothing is
 * changed.  `path` is a block device or a file that has the partition, and nothing else.
 * ERR_FORMAT: it looks like two filesystems at once; ERR_IO. */
int resize_look(const char *path, struct resize *, struct err *);
/* resize_look() for a partition that is these bytes of a disk; length 0: to its end. */
int resize_look_in(
    const char *path, struct range bytes, struct resize *, struct err *);
/* How long would the filesystem be that resize_look() has found, if its partition had
 * part_bytes? Its present length when nothing is to be done.  The tool may leave out the
 * last few MiB, when they are too few for its own data. */
uint64_t resize_grown_bytes(const struct resize *, uint64_t part_bytes);
/* Let the filesystem reach to the end of its partition, which must not be in use; `path` has
 * the partition, and nothing else.  ext2, ext3, ext4 and NTFS may be in a file; XFS and btrfs
 * are mounted for it, in a mount namespace of its own, so root must do it.  The filesystem is
 * checked before (e2fsck, ntfsresize) and by mounting it, and afterwards by its own tool.
 * Where a tool is not installed, left_alone says so.  ERR_IO: a tool failed, with its own
 * error and whether the filesystem is left to be checked; and errors of resize_look(). */
int resize_grow(const char *path, struct resize *, struct err *);
/* As much to spare as lets a system start from the filesystem before it grows again: 256 MiB of
 * ext2, ext3 and ext4, for logs, lists of packages and one more kernel; 1 GiB of btrfs, which
 * takes room for its trees 256 MiB at a time, and refuses to write when it finds none; 1 GiB of
 * NTFS, as Windows makes its page file and its logs before anybody can log in. */
#define RESIZE_SPARE_DEFAULT UINT64_MAX

/* Make the filesystem spare_bytes longer than the least length that its own tool can give it.
 * left_alone says why that is not possible; ext2, ext3, ext4, NTFS and btrfs can be made smaller.
 * The filesystem is checked afterwards.
 * Errors of resize_grow(); NTFS may be made smaller all the same with more to spare. */
int resize_shrink(
    const char *path, uint64_t spare_bytes, struct resize *, struct err *);
/* After resize_shrink(), when the partition was made shorter, too: put to its new end what the
 * filesystem keeps there.  `path` has the shorter partition.  Errors of resize_grow(). */
int resize_settle(const char *path, struct resize *, struct err *);

#endif /* COMMON_RESIZE_RESIZE_H */
