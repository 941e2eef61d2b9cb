/* layout_zones.c: finds the parts of the image that have a grid of blocks of their own:
 * its partitions, and the partitions inside of BSD slices. layout.c calls this in
 * imagezip's first thread. */
#include <string.h>

#include "common/disk/bsdlabel.h"
#include "imagezip/capture/layout_impl.h"

/* Add the partitions inside a slice. A slice whose label cannot be read stays one zone. */
static int
add_slice(struct layout *l, struct disk *d, const struct layout_part *p, struct err *e)
{
	struct bsdlabel label;
	uint64_t at = p->sectors.off - l->base;
	struct err ignored;

	if (bsdlabel_read(&label, d, p->sectors, &ignored) != 0)
		return 0;
	for (unsigned i = 0; i < label.nparts; i++) {
		struct range r = label.parts[i].sectors;
		r.off += at;
		if (cut_zones_add(&l->zones, r, e) != 0)
			return -1;
	}
	return 0;
}

int
layout_zones(struct layout *l, struct disk *d, struct err *e)
{
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		struct range r = { p->sectors.off - l->base, p->sectors.len };
		if (r.len == UINT64_MAX)
			continue; /* a pipe, which is one zone */
		if (cut_zones_add(&l->zones, r, e) != 0 ||
		    (strcmp(p->fs, "bsdlabel") == 0 && add_slice(l, d, p, e) != 0))
			return -1;
	}
	cut_zones_settle(&l->zones);
	return 0;
}
