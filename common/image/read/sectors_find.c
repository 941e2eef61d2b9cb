/* sectors_find.c: finds the chunk of an image that has a sector, and the sector's place in its
 * data; and reads whole chunks, or only their header and table.  Whoever reads the image by
 * sector calls this, in any thread once the image is open. */
#include <inttypes.h>

#include "common/image/read/partial.h"
#include "common/image/read/places.h"
#include "common/image/read/sectors_impl.h"

/* The chunk whose span the sector is in. */
static uint32_t
find_chunk(const struct sectors *s, uint64_t sector)
{
	uint32_t lo = 0, hi = image_chunks(s->img);

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->spans[mid].off <= sector)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint32_t
sectors_chunk_of(const struct sectors *s, uint64_t sector, uint64_t *end)
{
	uint32_t i = find_chunk(s, sector);

	*end = range_end(s->spans[i]);
	return i;
}

static int
check_whole(struct sectors *s, const struct chunk *c, const void *bytes, struct err *e)
{
	if (image_identity_check(&s->id, &c->h, &c->ext, e) != 0)
		return -1;
	return s->proved ? 0 : chunk_check_digest(c, bytes, e);
}

int
sectors_whole_chunk(
    struct sectors *s, uint32_t i, void *bytes, struct chunk *c, struct err *e)
{
	if (image_read(s->img, i, bytes, e) != 0)
		return -1;
	int rc = chunk_parse(c, bytes, e);
	if (rc == 0 && check_whole(s, c, bytes, e) != 0) {
		chunk_free(c);
		rc = -1;
	}
	return rc == 0 ? 0 : err_ctx(e, "%s: chunk %u", sectors_name(s), i);
}

int
sectors_read_table(struct sectors *s, uint32_t i, void *bytes, struct chunk *c,
    struct blockmap *here, struct err *e)
{
	enum partial_step step;
	struct blockmap need;

	*here = (struct blockmap){ { 0 } };
	while ((step = partial_next(bytes, here, &need, c)) == PARTIAL_MORE) {
		need = blockmap_minus(need, here);
		if (image_blocks(s->img, i, &need, bytes, e) != 0)
			return -1;
		blockmap_add(here, &need);
	}
	if (step == PARTIAL_WHOLE)
		return 0;
	if (image_identity_check(&s->id, &c->h, &c->ext, e) == 0)
		return 1;
	chunk_free(c);
	return err_ctx(e, "%s: chunk %u", sectors_name(s), i);
}

int
sectors_place(const struct sectors *s, uint32_t i, const struct chunk *c, struct range r,
    uint64_t *sectors, uint64_t *at, struct err *e)
{
	*sectors = places_sectors(&c->h, r, at);
	if (*sectors > 0)
		return 0;
	/* The file may have changed since its headers were read. */
	return err_set(e, ERR_FORMAT, "%s: chunk %u: sector %" PRIu64 " is missing",
	    sectors_name(s), i, r.off);
}
