/* md.h: superblocks of Linux RAID.
 *
 * The kernel's include/uapi/linux/raid/md_p.h has them: of version 1 in sector 0
 * (1.1), 8 (1.2) or near the end (1.0) of the member, of version 0.90 near the end, in
 * the byte order of who wrote it.  Both are little: what is read is 4 KiB.
 */
#ifndef FSMODS_MD_H
#define FSMODS_MD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/range.h"

enum { MD_BYTES = 4096, MD_LEVEL_MIRROR = 1 };

/* What a superblock says, in sectors of the member. */
struct md {
	uint32_t level;
	uint64_t at;        /* the superblock */
	uint64_t meta_from; /* it and all else that is not the array's data */
};

/* The sector of the superblock in a member of this many sectors; UINT64_MAX: the
 * member is too small. */
uint64_t md0_place(uint64_t sectors);
uint64_t md1_place(uint64_t sectors);

/* Is there one of version 0.90?  What cannot be read is none. */
bool md0_find(struct disk *, struct range member, struct md *);
/* Of version 1 in this sector of the member, which it must name as its own. */
bool md1_find(struct disk *, struct range member, uint64_t sector, struct md *);

/* Make a superblock of version 1 right for another sector: that, and its checksum.
 * false: it is none, or was damaged before. */
bool md1_move(uint8_t superblock[MD_BYTES], uint64_t sector);

#endif /* FSMODS_MD_H */
