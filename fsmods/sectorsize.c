/* sectorsize.c: notices a partition table that counts in sectors of a size that the disk
 * does not have. imagezip's layout.c, the installer's target_open.c (for -s) and
 * imagehash's compare.c call this, in their first threads. */
#include "fsmods/sectorsize.h"

#include <inttypes.h>

#include "fsmods/fsmod.h"

enum { SECTOR_4K = 4096, FACTOR = SECTOR_4K / SECTOR_BYTES };

/* The first partition in which something is recognised, or NULL. */
static const struct partition *
recognised(struct disk *d, const struct ptable *t, uint64_t factor)
{
	uint64_t sectors = disk_size_bytes(d) / SECTOR_BYTES;

	for (unsigned i = 0; i < t->nparts; i++) {
		struct range r = t->parts[i].sectors;
		if (t->parts[i].logical)
			continue; /* its boot record would be in another place, too */
		r = (struct range){ r.off * factor, r.len * factor };
		if (range_within(r, sectors) && fsmods_probe(d, r, FS_ALONE) != NULL)
			return &t->parts[i];
	}
	return NULL;
}

int
sectorsize_check(struct disk *d, const struct ptable *t, struct err *e)
{
	if (disk_kind(d) != DISK_FILE || t->kind != PTABLE_MBR ||
	    t->sector_bytes != SECTOR_BYTES || recognised(d, t, 1) != NULL)
		return 0;
	const struct partition *p = recognised(d, t, FACTOR);
	if (p == NULL)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: its partition table counts in sectors of %d bytes: partition %u has "
	    "its filesystem at byte %" PRIu64 "; losetup -b %d makes a disk of it",
	    disk_name(d), SECTOR_4K, p->number, p->sectors.off * SECTOR_4K, SECTOR_4K);
}
