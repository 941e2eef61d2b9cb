/* sectors_open.c: every header of an image is read and checked before any of its data is
 * asked for.  imageunzip and the tools call this in their first thread, and whoever opens
 * an image that is read anywhere. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/grow.h"
#include "common/image/format/tiling.h"
#include "common/image/read/sectors_impl.h"
#include "common/image/read/source.h"

static int
add_reloc(struct sectors *s, const struct ndz_reloc *r, struct err *e)
{
	if (grow_array(&s->relocs, &s->relocs_cap, s->nrelocs, sizeof *s->relocs,
		"relocations", e) != 0)
		return -1;
	s->relocs[s->nrelocs++] = *r;
	return 0;
}

static bool
stores(const struct ndz_header *h, uint64_t sector)
{
	for (unsigned i = 0; i < h->nregions; i++)
		if (sector >= h->regions[i].off &&
		    sector - h->regions[i].off < h->regions[i].len)
			return true;
	return false;
}

/* Take the relocations that change data; the others are left out. */
static int
take_relocs(struct sectors *s, const struct ndz_header *h, struct err *e)
{
	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *r = &h->relocs[i];
		if (r->type == NDZ_RELOC_NONE || r->type == NDZ_RELOC_GPT_FIX)
			continue;
		if (!stores(h, r->sector))
			return err_set(e, ERR_FORMAT,
			    "a relocation at sector %" PRIu64 ", whose data is "
			    "not in the chunk",
			    r->sector);
		if (add_reloc(s, r, e) != 0)
			return -1;
	}
	return 0;
}

static int
take_header(struct sectors *s, uint32_t i, const struct ndz_header *h, struct err *e)
{
	uint64_t end = range_end(h->regions[h->nregions - 1]);

	if (i > 0 && h->regions[0].off < range_end(s->spans[i - 1]))
		return err_set(e, ERR_UNSUPPORTED,
		    "its sectors do not come after those of the chunk "
		    "before it");
	s->spans[i] = (struct range){ h->regions[0].off, end - h->regions[0].off };
	s->total = h->lastsect > s->total ? h->lastsect : s->total;
	for (unsigned k = 0; k < h->nregions; k++)
		if (rangeset_add(&s->stored, h->regions[k], e) != 0)
			return -1;
	return take_relocs(s, h, e);
}

static int
take_first(struct sectors *s, struct err *e)
{
	struct chunk *c = calloc(1, sizeof *c);

	if (c == NULL)
		return err_nomem(e, "a chunk");
	int rc = image_read(s->img, 0, s->open.bytes, e);
	if (rc == 0 && chunk_parse(c, s->open.bytes, e) != 0)
		rc = err_ctx(e, "%s: chunk 0", image_name(s->img));
	if (rc == 0) {
		rc = image_identity_check(&s->id, &c->h, &c->ext, e);
		s->header = c->h;
		s->header.nregions = s->header.nrelocs = 0;
		s->ext = c->ext;
		s->ext.fragments = NULL;
		s->ext.freed = NULL;
		s->ext.nfragments = s->ext.nfreed = 0;
		s->ext.samples = s->ext.shared = (struct samples){ 0 };
		s->ext.lost = (struct lost){ 0 };
		c->ext.reach = NULL;
		chunk_free(c);
	}
	free(c);
	return rc;
}

/* The list of lost sectors is in the last chunk. */
static int
take_last(struct sectors *s, struct err *e)
{
	struct chunk *c = &s->open.c;

	if (image_read(s->img, image_chunks(s->img) - 1, s->open.bytes, e) != 0)
		return -1;
	if (chunk_parse(c, s->open.bytes, e) != 0)
		return err_ctx(
		    e, "%s: chunk %u", image_name(s->img), image_chunks(s->img) - 1);
	s->lost = c->ext.lost;
	c->ext.lost = (struct lost){ 0 };
	chunk_free(c);
	return 0;
}

/* Read the header of a chunk; where chunks must be proved, the whole chunk is read and
 * proved first. */
static int
look_at(struct sectors *s, uint32_t i, struct ndz_header *h, struct err *e)
{
	struct chunk *c = &s->open.c;

	if (!s->proved)
		return image_header(s->img, i, h, e);
	if (image_read(s->img, i, s->open.bytes, e) != 0)
		return -1;
	if (chunk_parse(c, s->open.bytes, e) != 0)
		return err_ctx(e, "%s: chunk %u", image_name(s->img), i);
	*h = c->h;
	int rc = image_identity_check(&s->id, &c->h, &c->ext, e);
	chunk_free(c);
	return rc == 0 ? 0 : err_ctx(e, "%s: chunk %u", image_name(s->img), i);
}

static bool
stores_some(const struct ndz_header *h, struct range r)
{
	for (unsigned i = 0; i < h->nregions; i++)
		if (range_clip(r, h->regions[i].off, range_end(h->regions[i])).len > 0)
			return true;
	return false;
}

/* How many of chunk 0's samples are of the whole disk.  Behind them come those of what it
 * replaces, which ascend.  With none of the first kind, all count as such, so that a chunk 0
 * of another size has some, too. */
static size_t
count_spread(const struct samples *s, const struct ndz_header *h)
{
	uint64_t end = h->lastsect;
	size_t n = s->n;

	for (; n > 0 && range_end(s->v[n - 1].sectors) <= end; n--)
		end = s->v[n - 1].sectors.off;
	return n > 0 ? n : s->n;
}

/* Take samples [from, to) of what a chunk replaces.  A shared sample comes twice, and those
 * of sectors that the chunk does not store are of no use. */
static int
take_replaced(struct sectors *s, const struct samples *v, size_t from, size_t to,
    const struct ndz_header *h, struct err *e)
{
	const struct samples *all = &s->basis.replaced;

	for (size_t i = from; i < to; i++) {
		struct range r = v->v[i].sectors, last = { 0, 0 };
		if (all->n > 0)
			last = all->v[all->n - 1].sectors;
		if ((last.len > 0 && last.off == r.off) || !stores_some(h, r))
			continue;
		if (r.off < range_end(last))
			return err_set(e, ERR_FORMAT, "its samples do not ascend");
		if (basis_add_replaced(&s->basis, &v->v[i], e) != 0)
			return -1;
	}
	return 0;
}

/* Take the samples of the whole disk out of chunk 0.  Returns how many of its samples these
 * are, or -1. */
static ssize_t
take_spread(struct sectors *s, const struct samples *v, const struct ndz_header *h,
    struct err *e)
{
	size_t n = count_spread(v, h);

	s->basis.spread.hash = s->basis.replaced.hash = v->hash;
	for (size_t i = 0; i < n; i++)
		if (samples_add(&s->basis.spread, &v->v[i], e) != 0)
			return -1;
	samples_thin(&s->basis.spread, SAMPLES_FIRST_MAX);
	return (ssize_t)n;
}

/* Take the samples of a chunk: those that it shares with what is before it, its own, and
 * those that it shares with what is behind it. */
static int
take_samples(struct sectors *s, uint32_t i, const struct chunk *c, struct err *e)
{
	const struct samples *v = &c->ext.samples, *shared = &c->ext.shared;
	size_t before = shared->n > 0 && shared->v[0].sectors.off < c->h.firstsect;

	if (i == 0)
		s->has_basis = c->ext.has_samples;
	if (!s->has_basis || !c->ext.has_samples)
		return 0;
	ssize_t own = i == 0 ? take_spread(s, v, &c->h, e) : 0;
	if (own < 0)
		return -1;
	if (v->hash != s->basis.spread.hash ||
	    (shared->n > 0 && shared->hash != v->hash))
		return err_set(e, ERR_FORMAT, "its samples have another hash");
	if (take_replaced(s, shared, 0, before, &c->h, e) != 0 ||
	    take_replaced(s, v, (size_t)own, v->n, &c->h, e) != 0)
		return -1;
	return take_replaced(s, shared, before, shared->n, &c->h, e);
}

/* Take the freed sectors and the samples of a delta's chunk.  They are in its extension, so
 * the whole chunk is read; deltas are small. */
static int
take_delta(struct sectors *s, uint32_t i, struct err *e)
{
	struct chunk *c = &s->open.c;

	if (image_read(s->img, i, s->open.bytes, e) != 0 ||
	    chunk_parse(c, s->open.bytes, e) != 0)
		return -1;
	int rc = 0;
	for (size_t k = 0; k < c->ext.nfreed && rc == 0; k++)
		rc = rangeset_add(&s->freed, c->ext.freed[k], e);
	if (rc == 0)
		rc = take_samples(s, i, c, e);
	chunk_free(c);
	return rc;
}

static int
scan_chunks(
    struct sectors *s, struct ndz_header *h, struct tiling *tiling, struct err *e)
{
	uint32_t n = image_chunks(s->img);
	struct range gap;

	for (uint32_t i = 0; i < n; i++) {
		/* Where chunks are proved, or are a delta's, all of the image is read here. */
		if (cancel_check(e) != 0 || look_at(s, i, h, e) != 0)
			return -1; /* the error names the file and the chunk */
		int rc = take_header(s, i, h, e);
		if (rc == 0)
			rc = tiling_add(tiling, i, h, e);
		if (rc == 0 && ext_is_delta(&s->ext))
			rc = take_delta(s, i, e);
		if (rc != 0)
			return err_ctx(e, "%s: chunk %u", image_name(s->img), i);
	}
	rangeset_seal(&s->stored);
	rangeset_seal(&s->freed);
	if (s->nrelocs > 0)
		qsort(s->relocs, s->nrelocs, sizeof *s->relocs, ndz_reloc_order);
	if (tiling_check(tiling, &gap, e) != 0)
		return err_ctx(e, "%s", image_name(s->img));
	return 0;
}

static int
scan(struct sectors *s, struct err *e)
{
	struct ndz_header *h = malloc(sizeof *h);
	struct tiling tiling;

	s->spans = calloc(image_chunks(s->img), sizeof *s->spans);
	if (s->spans == NULL || h == NULL) {
		free(h);
		return err_nomem(e, "the headers");
	}
	tiling_init(&tiling);
	int rc = take_first(s, e);
	if (rc == 0)
		rc = scan_chunks(s, h, &tiling, e);
	if (rc == 0)
		rc = take_last(s, e);
	tiling_free(&tiling);
	free(h);
	return rc;
}

int
sectors_open(struct sectors **out, const char *path, struct err *e)
{
	return sectors_open_proved(out, path, NULL, e);
}

/* Open `img` by sector; it is taken over, also on failure. */
static int
open_image(
    struct sectors **out, struct image *img, const struct opener *opener, struct err *e)
{
	struct sectors *s = calloc(1, sizeof *s);

	if (s == NULL) {
		image_close(img);
		return err_nomem(e, "an image");
	}
	s->img = img;
	s->open.number = NO_CHUNK;
	s->proved = opener != NULL;
	rangeset_init(&s->stored);
	rangeset_init(&s->freed);
	basis_init(&s->basis, SAMPLE_SHA256);
	s->dec = decoder_new();
	s->open.bytes = malloc(NDZ_CHUNK_BYTES);
	s->fragment = malloc(FRAGMENT_BYTES_MAX);
	int rc = s->dec != NULL && s->open.bytes != NULL && s->fragment != NULL
	             ? 0
	             : err_nomem(e, image_name(img));
	if (rc == 0 && !image_seekable(img))
		rc = err_set(e, ERR_USAGE, "%s: the image must be a file, not a pipe",
		    image_name(img));
	if (rc == 0)
		rc = scan(s, e);
	if (rc != 0) {
		sectors_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

int
sectors_open_proved(
    struct sectors **out, const char *path, struct opener *opener, struct err *e)
{
	struct image *img;

	return image_open_proved(&img, path, opener, e) == 0
	           ? open_image(out, img, opener, e)
	           : -1;
}

int
sectors_open_source(
    struct sectors **out, struct source *source, struct opener *opener, struct err *e)
{
	struct image *img;

	return image_open_source(&img, source, opener, e) == 0
	           ? open_image(out, img, opener, e)
	           : -1;
}

int
sectors_open_disk(
    struct sectors **out, struct disk *d, struct opener *opener, struct err *e)
{
	struct source source;

	return source_of_disk(&source, d, e) == 0
	           ? sectors_open_source(out, &source, opener, e)
	           : -1;
}

void
sectors_close(struct sectors *s)
{
	if (s == NULL)
		return;
	sectors_leave_chunk(s);
	image_close(s->img);
	rangeset_free(&s->stored);
	rangeset_free(&s->freed);
	basis_free(&s->basis);
	lost_free(&s->lost);
	decoder_free(s->dec);
	free(s->spans);
	free(s->relocs);
	free(s->open.bytes);
	free(s->fragment);
	free(s->ext.reach);
	free(s);
}
