/* lilo.h: the addresses and tables of LILO 21, as relocations need them.
 *
 * An address is 5 bytes: sector, track, device, head, count. The number of its sector is
 * sector | track << 8 | head << 16 if device has 0x40 (linear), 0x20 or 0x10 (LBA32);
 * with 0x10 and without 0x40, count << 24 belongs to the number, too. Zeros mean that
 * there is no address. Sources: the image format specification, section 7, and LILO's
 * header common.h.
 */
#ifndef COMMON_IMAGE_FORMAT_LILO_H
#define COMMON_IMAGE_FORMAT_LILO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	LILO_ADDRESS_BYTES = 5,
	LILO_MAP_ADDRESSES = 102, /* in a map sector; the last one leads to the next map sector */
	LILO_TABLE_BYTES = 1024,  /* descriptors: u16 sum, 19 of 52 bytes, 34 more */
	LILO_TABLE_END = 990,
};

/* Is there no address? */
bool lilo_is_none(const uint8_t address[LILO_ADDRESS_BYTES]);
/* Get the sector of an address. ERR_UNSUPPORTED: it counts in cylinders, heads and
 * sectors. */
int lilo_get(const uint8_t address[LILO_ADDRESS_BYTES], uint64_t *sector, struct err *);
/* Put a sector into an address that lilo_get() could read.  ERR_UNSUPPORTED: the number is
 * too large for that form. */
int lilo_put(uint8_t address[LILO_ADDRESS_BYTES], uint64_t sector, struct err *);
/* Compute the sum that a table should have. */
uint16_t lilo_sum(const uint8_t table[LILO_TABLE_BYTES]);

#endif /* COMMON_IMAGE_FORMAT_LILO_H */
