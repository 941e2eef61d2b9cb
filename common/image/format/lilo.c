/* lilo.c: decodes and encodes the addresses in LILO's boot sector and map, and computes
 * its checksum. reloc_lilo.c calls this in the decoders' threads, and imagezip when it
 * captures a partition. */
#include "common/image/format/lilo.h"

#include <inttypes.h>

#include "common/base/rd.h"
#include "common/base/zero.h"

enum {
	SECTOR,
	TRACK,
	DEVICE,
	HEAD,
	COUNT, /* bytes of an address */
	LINEAR = 0x40,
	LBA32 = 0x30,
	NO_COUNT = 0x10,
	SUM_START = 0xabcd,
};

bool
lilo_is_none(const uint8_t address[LILO_ADDRESS_BYTES])
{
	return is_zero(address, LILO_ADDRESS_BYTES);
}

static bool
has_high_byte(const uint8_t *address)
{
	return (address[DEVICE] & LINEAR) == 0 && (address[DEVICE] & NO_COUNT) != 0;
}

int
lilo_get(const uint8_t address[LILO_ADDRESS_BYTES], uint64_t *sector, struct err *e)
{
	if ((address[DEVICE] & (LINEAR | LBA32)) == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "LILO uses addresses of cylinders, heads and sectors, which cannot "
		    "be adapted");
	*sector = (uint64_t)address[SECTOR] | (uint64_t)address[TRACK] << 8 |
	          (uint64_t)address[HEAD] << 16;
	if (has_high_byte(address))
		*sector |= (uint64_t)address[COUNT] << 24;
	return 0;
}

int
lilo_put(uint8_t address[LILO_ADDRESS_BYTES], uint64_t sector, struct err *e)
{
	if (sector >> (has_high_byte(address) ? 32 : 24) != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "sector %" PRIu64 " is too far for LILO's address", sector);
	address[SECTOR] = (uint8_t)sector;
	address[TRACK] = (uint8_t)(sector >> 8);
	address[HEAD] = (uint8_t)(sector >> 16);
	if (has_high_byte(address))
		address[COUNT] = (uint8_t)(sector >> 24);
	return 0;
}

uint16_t
lilo_sum(const uint8_t table[LILO_TABLE_BYTES])
{
	struct rd r = rd_from(table, LILO_TABLE_BYTES);
	uint16_t sum = SUM_START;

	rd_skip(&r, 2);
	while (rd_left(&r) > 0)
		sum ^= rd_le16(&r);
	return sum;
}
