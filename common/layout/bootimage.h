/* bootimage.h: makes an image that boots from one partition (-B): the other partitions
 * are neither in the image nor in its partition table. */
#ifndef COMMON_LAYOUT_BOOTIMAGE_H
#define COMMON_LAYOUT_BOOTIMAGE_H

#include <stdbool.h>

#include "common/disk/ptable.h"
#include "common/layout/relocs.h"

/* Is the partition in a boot image? The root partition is, and so are partitions that
 * start the machine (EFI system, BIOS boot). */
bool bootimage_has(const struct partition *, unsigned root);
/* Patch the sectors of the table, so that only partitions of bootimage_has() are left in
 * it. ERR_ABSENT when there is no such root partition, ERR_UNSUPPORTED with logical
 * partitions. */
int bootimage_table(
    struct relocs *, struct disk *, const struct ptable *, unsigned root, struct err *);

#endif /* COMMON_LAYOUT_BOOTIMAGE_H */
