/* survey.c: finds what can be known of an image before its data is read. imageunzip calls
 * this, in its main thread, before the target is opened. */
#include "common/image/format/tiling.h"
#include "imageunzip/install/install_from.h"

/* Leave the tail out of the sectors that the target must have: whether the tail goes
 * there is decided, and checked, when chunk 0 is fed. */
static void
spare_tail(struct survey *s)
{
	const struct tail *t = &s->first.tail;

	if (t->n > 0 && t->needed < s->needed_sectors)
		s->needed_sectors = t->needed;
}

/* Find the size of the installed disk and the end of what is stored, and check that the
 * chunks tile the disk. */
static int
survey_headers(struct survey *s, struct image *img, struct err *e)
{
	struct tiling tiling;
	struct ndz_header h;
	struct range gap;
	int rc = 0;

	tiling_init(&tiling);
	for (uint32_t i = 0; i < image_chunks(img) && rc == 0; i++) {
		rc = image_header(img, i, &h, e);
		if (rc != 0)
			break; /* it names the file and the chunk */
		uint64_t end = range_end(h.regions[h.nregions - 1]);
		s->needed_sectors = end > s->needed_sectors ? end : s->needed_sectors;
		s->total_sectors = h.lastsect > s->total_sectors ? h.lastsect
		                                                 : s->total_sectors;
		rc = tiling_add(&tiling, i, &h, e);
	}
	if (rc == 0 && tiling_check(&tiling, &gap, e) != 0)
		rc = err_ctx(e, "%s", image_name(img));
	tiling_free(&tiling);
	return rc;
}

int
survey_image(struct survey *s, struct image *img, struct err *e)
{
	*s = (struct survey){ .total_sectors = 0 };
	int rc = image_first(img, &s->first, e) < 0 ? -1 : 0;
	if (rc == 0 && image_seekable(img))
		rc = survey_headers(s, img, e);
	if (rc == 0)
		spare_tail(s);
	else
		survey_free(s);
	return rc;
}

void
survey_free(struct survey *s)
{
	ext_free(&s->first);
	*s = (struct survey){ .total_sectors = 0 };
}
