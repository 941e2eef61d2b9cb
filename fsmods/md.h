/* md.h: superblocks of Linux RAID.
 *
 * Source: the kernel's include/uapi/linux/raid/md_p.h. A superblock of version 1 is in
 * sector 0 (1.1), in sector 8 (1.2) or near the end (1.0) of the member. One of version
 * 0.90 is near the end, in the byte order of the machine that wrote it. 4 KiB are read of
 * either.
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
	uint64_t meta_from; /* first sector of the metadata at the end of the member */
};

/* Where the superblock of version 0.90 (md0) or 1.0 (md1) lies in a member of `sectors`
 * sectors; UINT64_MAX: the member is too small. */
uint64_t md0_place(uint64_t sectors);
uint64_t md1_place(uint64_t sectors);

/* Is there a superblock of version 0.90? It is then decoded into *md. Returns false also
 * when it cannot be read. */
bool md0_find(struct disk *, struct range member, struct md *);
/* Is there a superblock of version 1 in this sector of the member, and does it name this
 * sector as its own? It is then decoded into *md. Returns false also when it cannot be
 * read. */
bool md1_find(struct disk *, struct range member, uint64_t sector, struct md *);

/* Make a superblock of version 1 right for another sector of the member: changes its
 * place and its checksum. Returns false, and changes nothing, when these bytes are no
 * such superblock, or a damaged one. */
bool md1_move(uint8_t superblock[MD_BYTES], uint64_t sector);

#endif /* FSMODS_MD_H */
