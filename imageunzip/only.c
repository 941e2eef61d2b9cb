/* only.c: called once, before the first chunk is fed.  Of the image it reads every
 * header, chunk 0, and the chunks with the tables of logical partitions. */
#include "imageunzip/only.h"

#include <stdlib.h>

#include "common/image/read/chunk.h"

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
learn(struct run *r, uint32_t number, void *buf, struct err *e)
{
	if (image_read(r->image, number, buf, e) != 0)
		return -1;
	if (install_learn(r->install, number, buf, e) != 0)
		return err_ctx(e, "%s", image_name(r->image));
	return 0;
}

static int
find_partitions(struct run *r, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint64_t sector;

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = learn(r, 0, buf, e);
	while (rc == 0 && install_lacks(r->install, &sector)) {
		uint32_t i = chunk_with(r->image, sector, e);
		if (i == UINT32_MAX)
			rc = -1;
		else if (i < image_chunks(r->image))
			rc = learn(r, i, buf, e);
		else
			rc = install_cannot(r->install, sector, e);
	}
	free(buf);
	return rc;
}

static int
mark_wanted(struct run *r, struct err *e)
{
	uint32_t n = image_chunks(r->image);
	struct ndz_header h;

	r->wanted = calloc(n, sizeof *r->wanted);
	if (r->wanted == NULL)
		return err_nomem(e, "the list of chunks");
	for (uint32_t i = 0; i < n; i++)
		if (image_header(r->image, i, &h, e) != 0 ||
		    install_consider(r->install, &h, &r->wanted[i], e) != 0)
			return -1;
	/* It has the list of lost sectors. */
	r->wanted[n - 1] = true;
	return install_considered(r->install, e);
}

int
only_prepare(struct run *r, uint64_t *sectors, struct err *e)
{
	*sectors = 0;
	if (!image_seekable(r->image))
		return 0;
	if (install_only_source(r->install, INSTALL_FILE, image_chunks(r->image), e) !=
		0 ||
	    find_partitions(r, e) != 0 || mark_wanted(r, e) != 0)
		return -1;
	*sectors = install_only_sectors(r->install);
	return 0;
}
