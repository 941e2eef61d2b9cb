/* from_only.c: chooses the chunks of an image that are read when only some of its
 * partitions are installed, and looks at the partitions of one that does not say how far
 * they reach. install_from() calls this once, in its thread, before the first chunk is
 * fed. It reads every header of the image, chunk 0, and the chunks with the tables of
 * logical partitions. */
#include <stdlib.h>

#include "common/image/read/chunk.h"
#include "imageunzip/install/from_impl.h"

/* The chunk that answers for a sector: its number, image_chunks() when there is none,
 * and UINT32_MAX after an error. */
static uint32_t
chunk_with(struct image *img, uint64_t sector, struct err *e)
{
	uint32_t n = image_chunks(img);
	struct ndz_header h;

	for (uint32_t i = 0; i < n; i++) {
		if (image_header(img, i, &h, e) != 0)
			return UINT32_MAX;
		if (sector >= h.firstsect && sector < h.lastsect)
			return i;
	}
	return n;
}

static int
learn(struct feed *f, uint32_t number, void *buf, struct err *e)
{
	if (image_read(f->image, number, buf, e) != 0)
		return -1;
	if (install_learn(f->install, number, buf, e) != 0)
		return err_ctx(e, "%s", image_name(f->image));
	return 0;
}

static int
find_partitions(struct feed *f, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint64_t sector;

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = learn(f, 0, buf, e);
	while (rc == 0 && install_lacks(f->install, &sector)) {
		uint32_t i = chunk_with(f->image, sector, e);
		if (i == UINT32_MAX)
			rc = -1;
		else if (i < image_chunks(f->image))
			rc = learn(f, i, buf, e);
		else
			rc = install_cannot(f->install, sector, e);
	}
	free(buf);
	return rc;
}

static int
mark_wanted(struct feed *f, struct err *e)
{
	uint32_t n = image_chunks(f->image);
	struct ndz_header h;

	f->wanted = calloc(n, sizeof *f->wanted);
	if (f->wanted == NULL)
		return err_nomem(e, "the list of chunks");
	for (uint32_t i = 0; i < n; i++)
		if (image_header(f->image, i, &h, e) != 0 ||
		    install_consider(f->install, &h, &f->wanted[i], e) != 0)
			return -1;
	/* The last chunk has the list of lost sectors. */
	f->wanted[n - 1] = true;
	return install_considered(f->install, e);
}

int
feed_look(struct feed *f, struct err *e)
{
	return image_seekable(f->image) ? find_partitions(f, e) : 0;
}

int
feed_choose(struct feed *f, uint64_t *sectors, struct err *e)
{
	*sectors = 0;
	if (!image_seekable(f->image))
		return 0;
	if (install_only_source(f->install, INSTALL_FILE, image_chunks(f->image), e) !=
		0 ||
	    find_partitions(f, e) != 0 || mark_wanted(f, e) != 0)
		return -1;
	*sectors = install_only_sectors(f->install);
	return 0;
}
