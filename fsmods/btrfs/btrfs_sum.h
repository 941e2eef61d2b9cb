/* btrfs_sum.h: the four checksums that a btrfs may protect its metadata with. */
#ifndef FSMODS_BTRFS_BTRFS_SUM_H
#define FSMODS_BTRFS_BTRFS_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BTRFS_SUM_BYTES = 32 }; /* the field; shorter sums are followed by zeros */

/* As the superblock numbers them. */
enum btrfs_sum_type { BTRFS_CRC32C, BTRFS_XXHASH64, BTRFS_SHA256, BTRFS_BLAKE2B };

/* Compute the checksum of data[len] into sum; shorter sums are followed by zeros. Returns
 * false for an unknown type, and when there is no memory. */
bool btrfs_sum(
    unsigned type, const void *data, size_t len, uint8_t sum[BTRFS_SUM_BYTES]);
/* Does block[len] begin with a checksum field that is right for the bytes behind it? */
bool btrfs_sum_right(unsigned type, const uint8_t *block, size_t len);

#endif /* FSMODS_BTRFS_BTRFS_SUM_H */
