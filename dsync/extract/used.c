/* used.c: asks imagezip's layout which bytes of a device are used.  extract.c calls this, in one
 * thread. */
#include "dsync/extract/used.h"

#include "common/layout/layout.h"

static int
in_bytes(const struct rangeset *sectors, uint64_t device_bytes, struct rangeset *to,
    struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(sectors); i++) {
		struct range r = rangeset_get(sectors, i);
		rc = rangeset_add(to,
		    range_clip((struct range){ r.off * SECTOR_BYTES, r.len * SECTOR_BYTES }, 0,
		        device_bytes),
		    e);
	}
	return rc;
}

int
used_find(struct disk *d, struct rangeset *used, struct err *e)
{
	const struct capture_what what = { .source = disk_name(d), .store_outside = true,
		.no_relocs = true };
	uint64_t bytes = disk_size_bytes(d);
	struct layout l;

	rangeset_init(used);
	if (layout_make(&l, d, &what, e) != 0)
		return -1;
	int rc = in_bytes(&l.store, bytes, used, e);
	uint64_t seen = l.total * SECTOR_BYTES;
	if (rc == 0 && seen < bytes)
		rc = rangeset_add(used, (struct range){ seen, bytes - seen }, e);
	layout_free(&l);
	rangeset_seal(used);
	if (rc != 0)
		rangeset_free(used);
	return rc;
}
