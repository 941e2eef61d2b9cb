/* btrfs_sum.h: the four checksums that a btrfs may protect its metadata with. */
#ifndef FSMODS_BTRFS_BTRFS_SUM_H
#define FSMODS_BTRFS_BTRFS_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BTRFS_SUM_BYTES = 32 }; /* the field; shorter sums are followed by zeros */

/* As the superblock numbers them. */
enum btrfs_sum_type { BTRFS_CRC32C, BTRFS_XXHASH64, BTRFS_SHA256, BTRFS_BLAKE2B };

/* False for a type that is not known, and when there is no memory. */
bool btrfs_sum(
    unsigned type, const void *data, size_t len, uint8_t sum[BTRFS_SUM_BYTES]);
/* Does the block begin with the checksum of all that follows the field? */
bool btrfs_sum_right(unsigned type, const uint8_t *block, size_t len);

#endif /* FSMODS_BTRFS_BTRFS_SUM_H */
