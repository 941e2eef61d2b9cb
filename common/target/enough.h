/* enough.h: is a target long enough for the partitions and filesystems of an image?
 *
 * What an image stores can fit where its filesystems do not. A filesystem that is cut cannot
 * be used, so the image is refused before anything is written. Every way of installing asks
 * here: the installation of imageunzip, frisbee and dolly, and a streaming disk.
 */
#ifndef COMMON_TARGET_ENOUGH_H
#define COMMON_TARGET_ENOUGH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/format/ext_reach.h"

/* What is asked of a target. */
struct enough {
	const char *target; /* for messages: "/dev/sdb", "/dev/sdb: partition 2" */
	uint64_t room;      /* its sectors; UINT64_MAX: as many as needed */
	/* The target is a disk, and gets the partition table of the image. */
	bool disk;
	/* Sectors of the image that are installed, the first one to sector 0; len 0:
	 * all. */
	struct range only;
	uint32_t sector_bytes; /* of the target; 0: not known, as those of a file */
	/* The image is of a program that lets it be installed anywhere (Emulab's
	 * imagezip): what would be refused is a warning. */
	bool lenient;
	bool has_force; /* the program has an option --force */
	/* Called with a warning, which names a partition; NULL: not called. */
	void (*warn)(void *arg, const char *sentence);
	void *arg;
};

/* Compare the parts of an image with the target. ERR_REFUSED: a filesystem of which the
 * image stores something, or on a disk such a partition, reaches beyond the target, or
 * cannot be used on its sectors. Warns of a partition that lies beyond a disk, and of
 * which nothing is stored. NULL: the image does not say how far it reaches, and nothing
 * is refused. */
int enough_check(const struct enough *, const struct reach *, struct err *);

#endif /* COMMON_TARGET_ENOUGH_H */
