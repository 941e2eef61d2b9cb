/* relocate.c: finds what in a captured partition depends on its place: a disklabel, LILO.
 * layout.c calls this in imagezip's first thread. */
#include "common/layout/relocate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/disk/bsdlabel.h"

enum { MBR_OPENBSD = 0xa6, MBR_NETBSD = 0xa9 };

/* The partition that is captured alone; NULL: the image is not of a single partition, or
 * the partition was not scanned, or no relocations are wanted. */
static const struct layout_part *
only_part(const struct layout *l, const struct capture_what *o)
{
	const struct layout_part *p = &l->parts[0];
	bool table = l->kind == EXT_KIND_DISK && p->number != 0;

	if (o->no_relocs || o->raw || l->nparts != 1 || table ||
	    (l->base == 0 && !o->force_relocs))
		return NULL;
	return p;
}

/* Check that all sectors which are changed are stored. */
static int
check_stored(const struct layout *l, struct err *e)
{
	for (size_t i = 0; i < l->relocs.npatches; i++) {
		uint64_t sector = l->relocs.patches[i].sector;
		if (!rangeset_contains(&l->store, sector) ||
		    rangeset_contains(&l->zero, sector))
			return err_set(e, ERR_UNSUPPORTED,
			    "the data that is adapted is in sector %" PRIu64
			    ", which is marked as free",
			    sector);
	}
	return 0;
}

static int
find(struct layout *l, struct disk *d, const struct layout_part *p, struct err *e)
{
	struct relocs *x = &l->relocs;
	struct bsdlabel label;

	if (strcmp(p->fs, "bsdlabel") == 0 && p->mbr_type == MBR_NETBSD)
		return err_set(e, ERR_UNSUPPORTED,
		    "it has a disklabel of NetBSD, for which there is no relocation");
	if (strcmp(p->fs, "bsdlabel") == 0) {
		if (bsdlabel_read(&label, d, p->sectors, e) != 0 ||
		    relocs_of_label(x, d, p->sectors,
			p->mbr_type == MBR_OPENBSD || label.version == 1, e) != 0)
			return -1;
	} else if (strcmp(p->fs, "ext4") == 0 &&
		   relocs_of_lilo(x, d, p->sectors, e) != 0) {
		return -1;
	}
	return check_stored(l, e) == 0 ? relocs_settle(x, e) : -1;
}

/* Refuse a delta with LILO: the checksum of a table cannot be made when only some of its
 * sectors are stored. */
static int
check_delta(const struct layout *l, const struct capture_what *o, struct err *e)
{
	if (o->sig_old == NULL || l->relocs.together.len == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: a delta (-H) cannot be made of a partition with LILO in its boot "
	    "sector",
	    o->source);
}

int
relocate_find(struct layout *l, struct disk *d, const struct capture_what *o, struct err *e)
{
	const struct layout_part *p = only_part(l, o);

	if (p == NULL)
		return 0;
	if (find(l, d, p, e) == 0)
		return check_delta(l, o, e);
	if (e->kind == ERR_NOMEM)
		return -1;
	relocs_free(&l->relocs);
	snprintf(l->reloc_warning, sizeof l->reloc_warning,
	    "%s: stored unchanged, so it is valid only at its old place", e->text);
	return 0;
}
