/* reloc_lilo.c: adapts the addresses in LILO's boot sector and map to the place where the
 * partition lands. reloc.c calls this in the thread that has the chunk's data. */
#include <inttypes.h>

#include "common/base/field.h"
#include "common/image/format/lilo.h"
#include "common/image/format/reloc_impl.h"

static int
move(uint8_t *address, struct range slice, struct err *e)
{
	uint64_t sector;

	if (lilo_get(address, &sector, e) != 0)
		return -1;
	return lilo_put(address, sector + slice.off, e);
}

static int
move_all(uint8_t *map, struct range slice, struct err *e)
{
	for (unsigned i = 0; i < LILO_MAP_ADDRESSES; i++, map += LILO_ADDRESS_BYTES) {
		if (lilo_is_none(map))
			break;
		if (move(map, slice, e) != 0)
			return -1;
	}
	return 0;
}

int
reloc_lilo(const struct ndz_reloc *r, struct range slice, uint8_t *data, size_t n,
    struct err *e)
{
	static const size_t need[] = {
		[NDZ_RELOC_LILO_ADDRESS] = LILO_ADDRESS_BYTES,
		[NDZ_RELOC_LILO_MAP] = SECTOR_BYTES,
		[NDZ_RELOC_LILO_CHECKSUM] = LILO_TABLE_BYTES,
	};
	int rc = 0;

	if (n < need[r->type])
		return err_set(e, ERR_FORMAT,
		    "the relocation of type %u at sector %" PRIu64 " is cut in two",
		    r->type, r->sector);
	if (r->type == NDZ_RELOC_LILO_ADDRESS)
		rc = lilo_is_none(data) ? 0 : move(data, slice, e);
	else if (r->type == NDZ_RELOC_LILO_MAP)
		rc = move_all(data, slice, e);
	else
		put_le16(data, lilo_sum(data));
	return rc == 0 ? 0 : err_ctx(e, "relocation at sector %" PRIu64, r->sector);
}
