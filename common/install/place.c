#include "common/install/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/ptable.h"
#include "common/install/beginning.h"

enum { PAGE_SECTORS = 4096 / SECTOR_BYTES };

void
place_init(struct place *p)
{
	*p = (struct place){ .known = false };
	pthread_mutex_init(&p->lock, NULL);
	rangeset_init(&p->areas);
	rangeset_init(&p->stored);
	rangeset_init(&p->untried);
}

void
place_free(struct place *p)
{
	pthread_mutex_destroy(&p->lock);
	rangeset_free(&p->areas);
	rangeset_free(&p->stored);
	rangeset_free(&p->untried);
}

static int
add_partitions(
    struct place *p, const struct ptable *pt, const struct ext_image *i, struct err *e)
{
	struct range whole = { 0, i->source_bytes / SECTOR_BYTES };
	int rc = 0;

	/* An MBR of a disk with larger sectors counts in those, and does not say so. */
	if (pt->kind == PTABLE_MBR && i->sector_bytes != SECTOR_BYTES)
		return 0;
	if (pt->nparts == 0)
		return rangeset_add(&p->areas, whole, e);
	for (unsigned k = 0; rc == 0 && k < pt->nparts; k++)
		rc = rangeset_add(&p->areas, pt->parts[k].sectors, e);
	return rc;
}

static int
learn_table(struct place *p, const struct chunk *c, struct beginning *b, struct err *e)
{
	static const struct disk_ops ops = { .pread = beginning_pread };
	struct ptable pt;
	struct disk *d;
	struct err none;

	/* A file: then a table in sectors of 4096 is looked for, too. */
	if (disk_open_ops(&d, "the image's partition table", DISK_FILE,
		c->ext.image.source_bytes, &ops, b, e) != 0)
		return -1;
	int rc = 0;
	if (ptable_read(&pt, d, &none) == 0) {
		rc = add_partitions(p, &pt, &c->ext.image, e);
		ptable_free(&pt);
	}
	disk_close(d, &none);
	return rc;
}

static int
learn_disk(struct place *p, const struct chunk *c, const void *bytes, struct err *e)
{
	struct beginning *b;

	if (beginning_of(&b, c, bytes, e) != 0)
		return -1;
	int rc = learn_table(p, c, b, e);
	beginning_free(b);
	return rc;
}

int
place_learn(struct place *p, const struct chunk *c, const void *bytes, struct err *e)
{
	const struct ext_image *i = &c->ext.image;
	struct range whole = { 0, i->source_bytes / SECTOR_BYTES };
	int rc = 0;

	if (!c->ext.has_image || c->h.firstsect != 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	if (p->at.len != 0)
		; /* it is not asked for */
	else if (!p->known && i->kind == EXT_KIND_PARTITION)
		rc = rangeset_add(&p->areas, whole, e);
	else if (!p->known && i->kind == EXT_KIND_DISK)
		rc = learn_disk(p, c, bytes, e);
	p->known = rc == 0;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void
place_set(struct place *p, struct range at)
{
	pthread_mutex_lock(&p->lock);
	p->at = at;
	pthread_mutex_unlock(&p->lock);
}

bool
place_is_open(struct place *p)
{
	pthread_mutex_lock(&p->lock);
	bool open = p->known && p->at.len == 0;
	pthread_mutex_unlock(&p->lock);
	return open;
}

static bool
overlaps(struct rangeset *s, struct range r)
{
	size_t i = rangeset_find(s, r.off);

	return i < rangeset_count(s) && rangeset_get(s, i).off < range_end(r);
}

/* In these free sectors. */
static bool
place_in(
    struct place *p, struct range gap, const struct place_want *w, struct range *at)
{
	gap = range_clip(gap, w->within.off, range_end(w->within));
	for (size_t i = 0; i < rangeset_count(&p->areas); i++) {
		struct range area = rangeset_get(&p->areas, i);
		struct range r = range_clip(gap, area.off, range_end(area));
		uint64_t past = (r.off + w->skew) % PAGE_SECTORS;
		uint64_t pad = past != 0 ? PAGE_SECTORS - past : 0;
		if (r.len < w->sectors || r.len - w->sectors < pad ||
		    !overlaps(&p->stored, area))
			continue;
		*at = (struct range){ r.off + pad, w->sectors };
		if (!overlaps(&p->stored, *at))
			return true;
	}
	return false;
}

static int
add_gap(struct place *p, uint64_t from, uint64_t to, const struct place_want *w,
    struct err *e)
{
	if (to < from || to - from < w->sectors)
		return 0;
	return rangeset_add(&p->untried, (struct range){ from, to - from }, e);
}

static int
add_chunk(struct place *p, const struct ndz_header *h, const struct place_want *w,
    struct err *e)
{
	uint64_t from = h->firstsect;

	for (unsigned i = 0; i < h->nregions; i++) {
		if (add_gap(p, from, h->regions[i].off, w, e) != 0 ||
		    rangeset_add(&p->stored, h->regions[i], e) != 0)
			return -1;
		from = range_end(h->regions[i]);
	}
	return add_gap(p, from, h->lastsect, w, e);
}

static bool
stores(const struct ndz_header *h, struct range r)
{
	for (unsigned i = 0; i < h->nregions; i++)
		if (range_clip(h->regions[i], r.off, range_end(r)).len != 0)
			return true;
	return false;
}

static int
claim(struct place *p, const struct ndz_header *h, const struct place_want *w,
    struct range *at, struct err *e)
{
	if (p->at.len != 0 && stores(h, p->at))
		return err_set(e, ERR_FORMAT,
		    "stores sector %" PRIu64 " or one behind it, which another chunk "
		    "says is free",
		    p->at.off);
	if (p->at.len != 0)
		return 0;
	if (add_chunk(p, h, w, e) != 0)
		return -1;
	if (!p->known)
		return 0;
	for (size_t i = 0; i < rangeset_count(&p->untried); i++)
		if (place_in(p, rangeset_get(&p->untried, i), w, at)) {
			p->at = *at;
			return 1;
		}
	rangeset_free(&p->untried);
	return 0;
}

int
place_claim(struct place *p, const struct ndz_header *h, const struct place_want *w,
    struct range *at, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	int rc = claim(p, h, w, at, e);
	pthread_mutex_unlock(&p->lock);
	return rc;
}
