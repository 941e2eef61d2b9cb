/* inuse.h: does somebody use this block device or file, so that writing to it would
 * do harm, or so that it changes while it is read?
 *
 * The bytes of a device are also those of its partitions, of the disk that it is a
 * partition of, of what holds it (LVM, md, dm, bcache), and of a loop device on it;
 * those of a loop device are also those of the file behind it.  All these places are
 * looked at.  The siblings of a partition are not.
 *
 * It must not be written when one of the places is mounted, used as swap, held by
 * another block device, or open for writing in a process.  It must not be read when one
 * of the places is mounted
 * read-write, used as swap, open for writing in a process, claimed by something that
 * cannot be seen, or a member of an array that is being rebuilt.  A read-only mount
 * and an array or volume that nobody uses do no harm to a reader.
 *
 * Not counted are this process and, when it is to be written, those that started it and
 * those that it has started: their descriptors are often the same as ours.
 *
 * Sources: the kernel's documentation of /proc/PID/mountinfo, /proc/PID/fdinfo,
 * /proc/swaps, /sys/dev/block and /sys/fs/btrfs.  Processes of other users can only
 * be looked into by root.
 */
#ifndef COMMON_DISK_INUSE_H
#define COMMON_DISK_INUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/range.h"

enum { INUSE_NAME_CAP = 256 };

enum inuse_purpose { INUSE_TO_WRITE, INUSE_TO_READ };

/* What is known of an answer besides its sentence. */
struct inuse_found {
	bool writer; /* a process has it open for writing: that may pass */
	bool unseen; /* there are processes that could not be looked into */
};

struct inuse_query {
	const char *root; /* a prefix of /proc, /sys and the paths that they name: ""
	                     except in tests; neither /proc nor /sys need exist */
	const char *path; /* of the device or file: the name for messages */
	struct stat st;   /* of the device or file */
	enum inuse_purpose purpose;
	/* Are any of these sectors of the device or file of interest?  A partition or
	 * loop device of other sectors does not matter.  NULL: all of them are. */
	bool (*wants)(const void *arg, struct range sectors);
	const void *arg;
	bool no_writers; /* to write: processes that have it open for writing do no harm */
	/* To write: does this process do no harm that has it open?  NULL: none. */
	bool (*is_fellow)(const void *fellows, long pid);
	const void *fellows;
	struct inuse_found *found; /* NULL: not wanted */
};

/* Is the device or file in use?  0: nothing is known to use it; -1 with ERR_REFUSED and a
 * sentence that says what uses it: "/dev/sdb is in use: /dev/sdb1 is mounted on /home"; or
 * ERR_NOMEM. */
int inuse_check(const struct inuse_query *, struct err *);
/* The sentence of a warning, for inuse_found.unseen.  Returns text. */
enum { INUSE_UNSEEN_BYTES = 600 };
const char *inuse_unseen_text(const char *path, char text[INUSE_UNSEEN_BYTES]);
/* inuse_check() for writing these sectors alone: partitions that have none of them, nor
 * share a page of 4 KiB with them, may be in use.  The query's wants() is not called. */
int inuse_check_area(const struct inuse_query *, struct range area, struct err *);
/* The names of the kernel's partitions of a block device that have some of these
 * sectors, `most` names at most.  Returns the number of names.  root: see struct inuse_query. */
unsigned inuse_partitions(const char *root, const struct stat *, struct range area,
    char names[][INUSE_NAME_CAP], unsigned most);
/* Is this a block device that sysfs calls a partition of another device?  root: see struct
 * inuse_query. */
bool inuse_is_partition(const char *root, const struct stat *);
/* The disk that a device is a partition of; 0: it is none.  root: see struct inuse_query. */
dev_t inuse_disk_of(const char *root, dev_t);
/* The name that the kernel gives the node of a block device: "/dev/sdb1".  root: see struct
 * inuse_query. */
void inuse_node_name(const char *root, dev_t, char *name, size_t cap);

#endif /* COMMON_DISK_INUSE_H */
