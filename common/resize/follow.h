/* follow.h: the filesystems of a disk follow their partitions, which were made longer.
 *
 * One code grows what is in a partition, whoever made the partition longer.  Programs
 * get a device of the partition's place: the kernel's, or a loop device, so that the
 * first 4 KiB of the disk need not be there yet.  Nothing is moved, and no partition
 * table is read or written.
 */
#ifndef COMMON_RESIZE_FOLLOW_H
#define COMMON_RESIZE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/json.h"
#include "common/behind/behind.h"
#include "common/disk/range.h"
#include "common/resize/resize.h"

/* Enough for follow_text(). */
enum { FOLLOW_TEXT_CAP = 1000 };

enum follow_became {
	FOLLOW_FILLS,      /* it reaches to the end of its partition: nothing was to be done */
	FOLLOW_GREW,       /* it was grown, and its own tool finds it whole */
	FOLLOW_LEFT_ALONE, /* fs.left_alone says why */
	FOLLOW_FAILED,     /* why says it; it may have grown */
};

struct follow_part {
	/* The caller's. */
	unsigned number;      /* 0: the disk has no table, but a filesystem */
	struct range sectors; /* where it is on the disk now */
	uint64_t was_sectors; /* its length before it grew */
	bool skip; /* it is not touched; fs.left_alone, which the caller fills, says why */
	/* What became of it. */
	enum follow_became became;
	/* What was in it, and what it is now: the filesystem, or the physical volume of
	 * LVM. */
	struct resize fs;
	char volume[256];        /* LVM: the volume that got the room: "VG/LV"; "": none */
	struct resize volume_fs; /* what is in that volume */
	char volume_note[300];   /* LVM: why no volume got it; "": one did */
	struct err why;          /* FOLLOW_FAILED */
};

struct follow {
	const char *disk; /* the path of a block device or file; borrowed */
	/* LVM: "VG/LV", the volume that gets the room; NULL: the one that holds the root of
	 * a system, if there is just one in its group. */
	const char *fit_lv;
	struct follow_part *parts; /* borrowed */
	size_t n;
	/* For an installation, which is done again if it does not end: the kernel may know an
	 * older table of the disk, a signal ends tools, too, and what looks like two
	 * filesystems is left alone. */
	bool installs;
	/* What is to be done in a partition, before it begins; NULL: nobody is told. */
	void (*begins)(void *arg, const char *what);
	/* A sentence about each partition, when it is done; NULL: nobody is told. */
	void (*say)(void *arg, const char *sentence);
	void *arg;
};

/* Look at what is in each partition, and what it would become: nothing is changed, and no
 * tool is run.  FOLLOW_GREW: it would grow.  Errors of reading a partition. */
int follow_look(struct follow *, struct err *);
/* After follow_look(): leave a partition alone if something that has an owner lies behind
 * its filesystem, in the length that the partition had; *b: what lies there.  Errors of
 * behind_find(). */
int follow_heed(struct follow_part *, struct disk *, struct behind *, struct err *);
/* Let what is in each partition reach to the partition's end, in the order of the
 * list, and go on behind one that fails.  What an earlier run has not finished is
 * finished.  The caller holds the disk, lends the lock (hold_lend()), and has flushed
 * what it wrote; nothing of the partitions is in use.  0: none has failed; -1: *e is the first
 * failure: ERR_CANCELLED, ERR_IO. */
int follow_grow(struct follow *, struct err *);
/* What became of a partition, for people: "partition 2: ext4 grew from 16 MB to 33 MB".
 * would: after follow_look().  Returns buf. */
const char *follow_text(
    const struct follow_part *, bool would, char *buf, size_t cap);
/* The same as members of an object that is begun; would: after follow_look(). */
void follow_json(struct json *, const struct follow_part *, bool would);

#endif /* COMMON_RESIZE_FOLLOW_H */
