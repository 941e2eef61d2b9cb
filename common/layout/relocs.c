/* relocs.c: keeps the list of relocations, and the sectors that are changed before they
 * are stored. relocate.c, relocs_lilo.c and bootimage.c call this in imagezip's first
 * thread. */
#include "common/layout/relocs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/image/format/reloc.h"
#include "common/image/read/window.h"

enum { LABEL_SECTOR = 1, LABEL_BYTES = 276 };

void
relocs_free(struct relocs *x)
{
	free(x->relocs);
	free(x->patches);
	*x = (struct relocs){ 0 };
}

int
relocs_add(struct relocs *x, uint32_t type, uint64_t sector, uint32_t offset,
    uint64_t bytes, struct err *e)
{
	if (grow_array(&x->relocs, &x->cap, x->n, sizeof *x->relocs, "relocations", e) != 0)
		return -1;
	x->relocs[x->n++] = (struct ndz_reloc){ type, sector, offset, bytes };
	return 0;
}

uint8_t *
relocs_patch(
    struct relocs *x, struct disk *d, uint64_t base, uint64_t sector, struct err *e)
{
	for (size_t i = 0; i < x->npatches; i++)
		if (x->patches[i].sector == sector) {
			err_set(
			    e, ERR_FORMAT, "sector %" PRIu64 " has two uses", sector);
			return NULL;
		}
	if (grow_array(&x->patches, &x->patch_cap, x->npatches, sizeof *x->patches,
		"relocations", e) != 0)
		return NULL;
	struct patch *p = &x->patches[x->npatches];
	p->sector = sector;
	if (disk_read(
		d, p->bytes, sizeof p->bytes, (base + sector) * SECTOR_BYTES, e) != 0)
		return NULL;
	x->npatches++;
	return p->bytes;
}

static int
by_sector(const void *a, const void *b)
{
	const struct patch *p = a, *q = b;

	return (p->sector > q->sector) - (p->sector < q->sector);
}

int
relocs_settle(struct relocs *x, struct err *e)
{
	size_t first = 0;

	if (x->npatches > 0)
		qsort(x->patches, x->npatches, sizeof *x->patches, by_sector);
	if (x->n > 0)
		qsort(x->relocs, x->n, sizeof *x->relocs, ndz_reloc_order);
	for (size_t i = 0; i < x->n; i++) {
		if (x->relocs[i].sector / WINDOW_SECTORS !=
		    x->relocs[first].sector / WINDOW_SECTORS)
			first = i;
		if (i - first >= WINDOW_RELOCS_MAX)
			return err_set(e, ERR_UNSUPPORTED,
			    "more than %d relocations near sector %" PRIu64,
			    WINDOW_RELOCS_MAX, x->relocs[i].sector);
	}
	return 0;
}

int
relocs_of_label(
    struct relocs *x, struct disk *d, struct range slice, bool openbsd, struct err *e)
{
	uint32_t type = openbsd ? NDZ_RELOC_OPENBSD_LABEL : NDZ_RELOC_FREEBSD_LABEL;
	uint8_t *label = relocs_patch(x, d, slice.off, LABEL_SECTOR, e);

	if (label == NULL || reloc_label_relative(label, type, slice, e) != 0)
		return -1;
	return relocs_add(x, type, LABEL_SECTOR, 0, LABEL_BYTES, e);
}
