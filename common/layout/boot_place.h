/* boot_place.h: boot sectors that say where their partition begins on the disk. */
#ifndef COMMON_LAYOUT_BOOT_PLACE_H
#define COMMON_LAYOUT_BOOT_PLACE_H

#include "common/disk/disk.h"
#include "common/disk/range.h"

/* Let the boot sectors of NTFS, FAT and exFAT, of boot loaders that look like them, and their
 * copies say that the partition begins where it lies on the disk now (`is`), if they say that
 * it begins where it did (`was`).  It may be done again after a crash.  Errors of reading and
 * writing. */
int boot_place_adapt(struct disk *, struct range was, struct range is, struct err *);

#endif /* COMMON_LAYOUT_BOOT_PLACE_H */
