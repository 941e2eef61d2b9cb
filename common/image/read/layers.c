/* layers.c: finds from which image each sector of a base and its deltas comes: the topmost
 * image that stores a sector, or calls it free, decides.  Programs that make one image of
 * several call this from the thread that reads, random.c from any thread. */
#include "common/image/read/layers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/walk.h"

struct layer {
	struct sectors *image;
	struct rangeset own; /* sectors that come from it */
};

struct layers {
	struct layer *v;
	size_t n;
	struct rangeset stored;
	uint64_t total;
	struct lostset lost;
	struct walk walk;
	struct ndz_reloc *relocs;
	struct reloc_walk reloc_walk;
};

static int
cover(struct layer *below, const struct sectors *above, struct err *e)
{
	return rangeset_minus(&below->own, sectors_stored(above), e) != 0 ||
	               rangeset_minus(&below->own, sectors_freed(above), e) != 0
	           ? -1
	           : 0;
}

/* Version 1 does not know the size of its disk. */
static uint64_t
total_of(const struct sectors *image)
{
	return sectors_header(image)->version == 1 ? 0 : sectors_total(image);
}

/* Put an image on top: it covers all images below, which end where its disk ends. */
static int
put_on_top(struct layers *l, size_t i, struct err *e)
{
	struct sectors *image = l->v[i].image;
	uint64_t total = total_of(image);

	for (size_t k = 0; k < i; k++) {
		if (cover(&l->v[k], image, e) != 0)
			return -1;
		if (total != 0)
			rangeset_clip(&l->v[k].own, 0, total);
	}
	if (total != 0 || sectors_total(image) > l->total)
		l->total = sectors_total(image);
	return rangeset_union(&l->v[i].own, sectors_stored(image), e);
}

static int
share_out(struct layers *l, struct err *e)
{
	for (size_t i = 0; i < l->n; i++)
		if (put_on_top(l, i, e) != 0)
			return -1;
	for (size_t i = 0; i < l->n; i++)
		if (rangeset_union(&l->stored, &l->v[i].own, e) != 0 ||
		    lostset_add(
			&l->lost, sectors_lost(l->v[i].image), &l->v[i].own, e) != 0)
			return -1;
	return 0;
}

/* Take the relocations of a layer whose data still comes from that layer. */
static int
take_relocs(struct layers *l, struct layer *v, struct err *e)
{
	size_t n;
	const struct ndz_reloc *r = sectors_relocs(v->image, &n);

	for (size_t i = 0; i < n; i++) {
		struct range span = reloc_sectors(&r[i]);
		uint64_t have = rangeset_total_in(&v->own, span);
		if (have == 0)
			continue;
		if (have < rangeset_total_in(sectors_stored(v->image), span))
			return err_set(e, ERR_FORMAT,
			    "%s: for a relocation at sector %" PRIu64
			    ", a later image has only a part of the sector",
			    sectors_name(v->image), r[i].sector);
		l->relocs[l->reloc_walk.n++] = r[i];
	}
	return 0;
}

static int
collect_relocs(struct layers *l, struct err *e)
{
	size_t most = 0, n;

	for (size_t i = 0; i < l->n; i++) {
		sectors_relocs(l->v[i].image, &n);
		most += n;
	}
	l->relocs = calloc(most + 1, sizeof *l->relocs);
	if (l->relocs == NULL)
		return err_nomem(e, "relocations");
	for (size_t i = 0; i < l->n; i++)
		if (take_relocs(l, &l->v[i], e) != 0)
			return -1;
	qsort(l->relocs, l->reloc_walk.n, sizeof *l->relocs, ndz_reloc_order);
	l->reloc_walk.relocs = l->relocs;
	return 0;
}

int
layers_new(struct layers **out, struct sectors *const images[], size_t n, struct err *e)
{
	struct layers *l = calloc(1, sizeof *l);

	assert(n > 0);
	if (l == NULL)
		return err_nomem(e, "layers");
	l->v = calloc(n, sizeof *l->v);
	rangeset_init(&l->stored);
	lostset_init(&l->lost);
	int rc = l->v != NULL ? 0 : err_nomem(e, "layers");
	for (; rc == 0 && l->n < n; l->n++) {
		l->v[l->n].image = images[l->n];
		rangeset_init(&l->v[l->n].own);
	}
	if (rc == 0)
		rc = share_out(l, e);
	if (rc == 0)
		rc = collect_relocs(l, e);
	if (rc != 0) {
		layers_free(l);
		return -1;
	}
	l->walk = (struct walk){ .set = &l->stored };
	*out = l;
	return 0;
}

void
layers_free(struct layers *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++)
		rangeset_free(&l->v[i].own);
	rangeset_free(&l->stored);
	lostset_free(&l->lost);
	free(l->v);
	free(l->relocs);
	free(l);
}

const struct rangeset *
layers_stored(const struct layers *l)
{
	return &l->stored;
}

uint64_t
layers_total(const struct layers *l)
{
	return l->total;
}

struct lostset *
layers_lost(struct layers *l)
{
	return &l->lost;
}

size_t
layers_owner(const struct layers *l, uint64_t sector, uint64_t *end)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct rangeset *own = &l->v[i].own;
		size_t k = rangeset_find(own, sector);
		if (k < rangeset_count(own) && rangeset_get(own, k).off <= sector) {
			*end = range_end(rangeset_get(own, k));
			return i;
		}
	}
	assert(!"a sector that no layer stores");
	return 0;
}

int
layers_read(struct layers *l, struct range r, void *buf, struct err *e)
{
	uint8_t *out = buf;
	uint64_t end;

	while (r.len > 0) {
		struct layer *v = &l->v[layers_owner(l, r.off, &end)];
		struct range now = range_clip(r, r.off, end);
		if (sectors_read(v->image, now, out, e) != 0)
			return -1;
		out += now.len * SECTOR_BYTES;
		r.off += now.len;
		r.len -= now.len;
	}
	return 0;
}

static bool
window_has(const struct window *w, uint64_t sector)
{
	for (unsigned i = 0; i < w->nregions; i++)
		if (sector >= w->regions[i].off && sector < range_end(w->regions[i]))
			return true;
	return false;
}

/* LILO's table of 1,024 bytes must not be cut in two, and is not when it begins a chunk.  The
 * relocation of its checksum is at byte 990 of the table.  Does such a table begin in the
 * window?  Its first sector becomes fresh_at. */
static bool
begins_table(const struct reloc_walk *r, struct window *w)
{
	uint64_t end = range_end(w->regions[w->nregions - 1]);

	for (size_t i = r->at; i < r->n && r->relocs[i].sector <= end + 1; i++) {
		const struct ndz_reloc *x = &r->relocs[i];
		uint64_t back = x->offset < 478 ? 2 : 1;
		w->fresh_at = x->sector - back;
		if (x->type == NDZ_RELOC_LILO_CHECKSUM && x->sector >= back &&
		    window_has(w, w->fresh_at))
			return true;
	}
	return false;
}

void
reloc_walk_take(struct reloc_walk *r, struct window *w)
{
	uint64_t from = w->regions[0].off, end = range_end(w->regions[w->nregions - 1]);

	while (r->at < r->n && r->relocs[r->at].sector < from)
		r->at++;
	w->fresh = begins_table(r, w);
	w->relocs = &r->relocs[r->given];
	w->nrelocs = 0;
	for (; r->at < r->n && r->relocs[r->at].sector < end; r->at++)
		if (window_has(w, r->relocs[r->at].sector)) {
			r->relocs[r->given++] = r->relocs[r->at];
			w->nrelocs++;
		}
}

ssize_t
layers_next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct layers *l = arg;
	size_t bytes = 0;

	w->nrelocs = 0;
	w->nregions = walk_next(&l->walk, w->regions);
	for (unsigned i = 0; i < w->nregions; i++) {
		if (layers_read(l, w->regions[i], (uint8_t *)buf + bytes, e) != 0)
			return -1;
		bytes += w->regions[i].len * SECTOR_BYTES;
	}
	if (bytes > 0)
		reloc_walk_take(&l->reloc_walk, w);
	return (ssize_t)bytes;
}

int
layers_done(struct layers *l, struct err *e)
{
	for (size_t i = 0; i < l->n; i++)
		if (sectors_done(l->v[i].image, e) != 0)
			return -1;
	return 0;
}
