/* compare.h: compares a disk with the records of a signature. */
#ifndef TOOLS_IMAGEHASH_COMPARE_H
#define TOOLS_IMAGEHASH_COMPARE_H

#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/image/format/sig.h"

struct target {
	struct disk *disk;  /* owned; compare_close() */
	struct range slice; /* sectors of the disk that are compared */
	bool any_length;    /* the disk's length need not be a multiple of 512 bytes */
};

/* Open the disk at `path`, and find partition number `slice` of it (0: the whole disk).  On
 * success compare_close() is to be called.  ERR_USAGE: it is a pipe; ERR_ABSENT: it has no
 * such partition; ERR_UNSUPPORTED: its length is not a multiple of 512 bytes and any_length is false.  Otherwise errors as
 * disk_open(), ptable_read() and sectorsize_check(). */
int compare_open(
    struct target *, const char *path, uint64_t slice, bool any_length, struct err *);
void compare_close(struct target *);
/* Does the record's hash differ from the hash of these sectors of the slice?  Returns 1, 0, or
 * -1 with the error of disk_read() or sig_hash_range().  A record with sectors behind the end
 * of the slice differs. */
int target_differs(
    struct target *, const struct sig *, const struct sig_record *, struct err *);

#endif /* TOOLS_IMAGEHASH_COMPARE_H */
