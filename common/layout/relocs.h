/* relocs.h: the data of a captured partition that depends on the partition's place:
 * sectors that are changed before they are stored, and the relocations that adapt
 * them at the target's place. */
#ifndef COMMON_LAYOUT_RELOCS_H
#define COMMON_LAYOUT_RELOCS_H

#include "common/disk/disk.h"
#include "common/image/format/format.h"

struct patch {
	uint64_t sector;             /* of the image */
	uint8_t bytes[SECTOR_BYTES]; /* stored instead of the source's */
};

struct relocs {
	size_t n, cap;
	struct ndz_reloc *relocs; /* ascending, once they are settled; owned */
	size_t npatches, patch_cap;
	struct patch *patches; /* ascending, once they are settled; owned */
	/* Sectors that must be in one chunk and one 256 KiB piece of it; len 0: none.
	 */
	struct range together;
};

void relocs_free(struct relocs *); /* the struct is empty afterwards */
/* Add a relocation; sector: of the image. ERR_NOMEM. */
int relocs_add(struct relocs *, uint32_t type, uint64_t sector, uint32_t offset,
    uint64_t bytes, struct err *);
/* Make a patch for a sector, filled with what the source (where the image's sector 0 is
 * `base`) has there.  Valid until the next call.  ERR_FORMAT when the sector has a patch
 * already. */
uint8_t *relocs_patch(
    struct relocs *, struct disk *, uint64_t base, uint64_t sector, struct err *);
/* Sort all relocations; ERR_UNSUPPORTED when a window has more than fit into a chunk. */
int relocs_settle(struct relocs *, struct err *);

/* Add the relocations and patches of a disklabel, or of LILO in the boot sector, of the
 * partition `slice`. An error other than ERR_NOMEM says why it cannot be relocated. */
int relocs_of_label(
    struct relocs *, struct disk *, struct range slice, bool openbsd, struct err *);
int relocs_of_lilo(struct relocs *, struct disk *, struct range slice, struct err *);

#endif /* COMMON_LAYOUT_RELOCS_H */
