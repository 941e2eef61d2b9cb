/* prepare_zones.c: finds where the partitions of an image of another program lie, so that
 * its windows end where those of this suite's own images do.  put.c calls this once for
 * each image, in the thread that has its chunks.
 *
 * Only chunk 0 is available, so logical partitions are mostly one zone.
 */
#include "common/image/read/imgtable.h"
#include "common/image/read/sectors_table.h"
#include "emustore/store/prepare.h"

static int
learn(struct imgtable *t, struct cut_zones *zones, const struct chunk *c,
    const void *bytes, struct err *e)
{
	struct err damaged;

	if (imgtable_learn(t, 0, c, bytes, &damaged) != 0)
		return 0;
	const struct ptable *pt = imgtable_table(t);
	return pt == NULL ? 0 : table_zones(pt, zones, e);
}

int
prepare_zones(struct prepare_shared *p, const void *bytes, struct err *e)
{
	struct imgtable *t;
	struct chunk c;
	struct err damaged;
	int rc = 0;

	if (chunk_parse(&c, bytes, &damaged) != 0)
		return 0;
	if (c.ext.fragments == NULL) {
		rc = imgtable_new(&t, e);
		if (rc == 0) {
			rc = learn(t, &p->zones, &c, bytes, e);
			imgtable_free(t);
		}
	}
	chunk_free(&c);
	return rc;
}
