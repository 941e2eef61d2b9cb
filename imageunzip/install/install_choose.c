/* install_choose.c: looks into an image whose chunks can be read in any order, before any is
 * fed: where the partitions of --only are, and which chunks have something of them; or how
 * far the partitions reach of an image that does not say it. install_from.c calls this in the
 * thread that feeds chunks. It reads headers, chunk 0, and chunks with tables. part_search.c
 * asks here, too, what of the table is needed. */
#include <stdlib.h>

#include "common/image/read/imgtable.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"

static int
learn(struct install *in, uint32_t number, void *buf, struct err *e)
{
	if (in->again.read(in->again.arg, number, buf, e) != 0)
		return -1;
	return install_learn(in, number, buf, e) == 0 ? 0 : err_ctx(e, "%s", in->again.name);
}

bool
install_lacks(struct install *in, uint64_t *sector)
{
	if (in->fit != NULL)
		return fit_needs(in->fit, sector);
	return install_is_only(in) ? !in->known && imgtable_needs(in->table, sector)
	                           : in->guess != NULL && guess_lacks(in->guess, sector);
}

int
install_cannot(struct install *in, uint64_t sector, struct err *e)
{
	if (in->fit != NULL)
		return fit_cannot(in, sector, e);
	if (!install_is_only(in))
		return guess_cannot(in->guess, sector, e);
	return imgtable_cannot(in->table, sector, e) == 0 ? only_settle(in, e) : -1;
}

/* Learn from the chunk that answers for a sector. */
static int
learn_sector(struct install *in, uint64_t sector, void *buf, struct err *e)
{
	struct ndz_header h;

	for (uint32_t i = 0; i < in->again.nchunks; i++) {
		if (in->again.header(in->again.arg, i, &h, e) != 0)
			return -1;
		if (sector >= h.firstsect && sector < h.lastsect)
			return learn(in, i, buf, e);
	}
	return install_cannot(in, sector, e);
}

static int
learn_all(struct install *in, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint64_t sector;

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = learn(in, 0, buf, e);
	while (rc == 0 && install_lacks(in, &sector))
		rc = learn_sector(in, sector, buf, e);
	free(buf);
	return rc;
}

/* Does the place want the chunk? What it stores must fit. */
static int
consider(struct place *p, const struct ndz_header *h, bool *wanted, bool *stores,
    struct err *e)
{
	uint64_t end = only_stored_end(h, p->target.only);

	*wanted |= only_touches(h, p->target.only);
	*stores |= end > 0;
	return only_fits(p, end, e);
}

static int
mark_wanted(struct place *p, bool *wanted, struct err *e)
{
	const struct install_again *a = &p->in->again;
	struct ndz_header h;
	bool stores = p->in->delta;

	for (uint32_t i = 0; i < a->nchunks; i++)
		if (a->header(a->arg, i, &h, e) != 0 ||
		    consider(p, &h, &wanted[i], &stores, e) != 0)
			return -1;
	return stores ? 0 : only_nothing(p, e);
}

int
install_choose(struct install *in, bool **wanted, uint64_t *sectors, struct err *e)
{
	uint32_t n = in->again.nchunks;
	int rc = 0;

	*wanted = NULL;
	if (n != 0)
		rc = learn_all(in, e);
	if (rc != 0 || n == 0 || !install_is_only(in))
		return rc;
	*sectors = 0;
	*wanted = calloc(n, sizeof **wanted);
	if (*wanted == NULL)
		return err_nomem(e, "the list of chunks");
	for (unsigned i = 0; rc == 0 && i < in->n; i++) {
		rc = mark_wanted(&in->place[i], *wanted, e);
		*sectors += in->place[i].target.only.len;
	}
	/* The last chunk has the list of lost sectors. */
	(*wanted)[n - 1] = true;
	return rc;
}
