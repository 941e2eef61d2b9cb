/* bootimage.h: an image that boots from one partition: the others are not in it, and
 * not in its partition table. */
#ifndef IMAGEZIP_CAPTURE_BOOTIMAGE_H
#define IMAGEZIP_CAPTURE_BOOTIMAGE_H

#include <stdbool.h>

#include "common/disk/ptable.h"
#include "imagezip/capture/relocs.h"

/* Is it the root partition, or a partition that starts the machine (EFI system, BIOS boot)? */
bool bootimage_has(const struct partition *, unsigned root);
/* Patch the sectors of the table: only those partitions are left.  ERR_USAGE when there
 * is no such root, ERR_UNSUPPORTED with logical partitions. */
int bootimage_table(
    struct relocs *, struct disk *, const struct ptable *, unsigned root, struct err *);

#endif /* IMAGEZIP_CAPTURE_BOOTIMAGE_H */
