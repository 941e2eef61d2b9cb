/* reloc.c: applies relocations to the data of a chunk. job_cursor.c and moved_part.c call this
 * in the threads that decode, install_check.c asks which relocations are known, and
 * imagehash applies them to compare. */
#include "common/image/format/reloc.h"

#include "common/image/format/lilo.h"
#include "common/image/format/reloc_impl.h"

static bool
is_label(const struct ndz_reloc *r)
{
	return r->type == NDZ_RELOC_FREEBSD_LABEL || r->type == NDZ_RELOC_OPENBSD_LABEL;
}

static bool
is_lilo(const struct ndz_reloc *r)
{
	return r->type == NDZ_RELOC_LILO_ADDRESS || r->type == NDZ_RELOC_LILO_MAP ||
	       r->type == NDZ_RELOC_LILO_CHECKSUM;
}

bool
reloc_known(const struct ndz_reloc *r)
{
	return r->type <= NDZ_RELOC_GPT_FIX;
}

/* LILO's addresses count from the beginning of the partition, so they need no change when
 * the partition begins at sector 0 of the disk. */
bool
reloc_changes(const struct ndz_reloc *r, struct range slice)
{
	return slice.len != 0 && (is_label(r) || (is_lilo(r) && slice.off != 0));
}

uint64_t
reloc_bytes(const struct ndz_reloc *r)
{
	return r->type == NDZ_RELOC_LILO_CHECKSUM ? LILO_TABLE_BYTES : r->size;
}

int
reloc_apply(
    const struct ndz_reloc *r, struct range slice, void *data, size_t n, struct err *e)
{
	if (!reloc_changes(r, slice))
		return 0;
	return is_label(r) ? reloc_label(r, slice, data, n, e)
	                   : reloc_lilo(r, slice, data, n, e);
}

/* The place of the first byte that the relocation changes or needs; false: an impossible
 * place. */
static bool
first_byte(const struct ndz_reloc *r, uint64_t *sector, uint64_t *offset)
{
	uint64_t back = r->type == NDZ_RELOC_LILO_CHECKSUM ? LILO_TABLE_END : 0;

	if (r->sector > UINT64_MAX / SECTOR_BYTES - SECTOR_BYTES)
		return false;
	uint64_t at = r->sector * SECTOR_BYTES + r->offset;
	if (at < back)
		return false;
	*sector = (at - back) / SECTOR_BYTES;
	*offset = (at - back) % SECTOR_BYTES;
	return true;
}

uint64_t
reloc_at(const struct ndz_header *h, const struct ndz_reloc *r)
{
	uint64_t sector, offset, before = 0;

	if (!first_byte(r, &sector, &offset))
		return UINT64_MAX;
	for (unsigned i = 0; i < h->nregions; i++) {
		struct range g = h->regions[i];
		if (sector >= g.off && sector - g.off < g.len) {
			uint64_t in = (sector - g.off) * SECTOR_BYTES + offset;
			bool whole = reloc_bytes(r) <= g.len * SECTOR_BYTES - in;
			return whole ? before + in : UINT64_MAX;
		}
		before += g.len * SECTOR_BYTES;
	}
	return UINT64_MAX;
}
