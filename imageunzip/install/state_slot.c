/* state_slot.c: finds a place on the target for the state slots of the installation.
 * resume.c calls this: state_slot_learn() in the thread that feeds chunks,
 * state_slot_claim() there or in the writer's, so a lock guards the struct. */
#include "imageunzip/install/state_slot.h"

#include <inttypes.h>

enum { PAGE_SECTORS = 4096 / SECTOR_BYTES };

void
state_slot_init(struct state_slot *p)
{
	*p = (struct state_slot){ .known = false };
	pthread_mutex_init(&p->lock, NULL);
	areas_init(&p->areas);
	rangeset_init(&p->stored);
	rangeset_init(&p->untried);
}

void
state_slot_free(struct state_slot *p)
{
	pthread_mutex_destroy(&p->lock);
	areas_free(&p->areas);
	rangeset_free(&p->stored);
	rangeset_free(&p->untried);
}

int
state_slot_learn(
    struct state_slot *p, const struct chunk *c, const void *bytes, struct err *e)
{
	const struct ext_image *i = &c->ext.image;
	int rc = 0;

	if (!c->ext.has_image || c->h.firstsect != 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	/* The table is not asked for when there is a place already, and a file has no
	 * partitions. */
	if (!p->known && p->at.len == 0 && i->kind != EXT_KIND_FILE)
		rc = areas_of_image(
		    &p->areas, c, bytes, i->kind == EXT_KIND_DISK, i->source_bytes, e);
	p->known = rc >= 0;
	pthread_mutex_unlock(&p->lock);
	return rc < 0 ? -1 : 0;
}

int
state_slot_learn_one(struct state_slot *p, const struct area *partition, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	int rc = areas_add(&p->areas, *partition, e);
	p->known = rc == 0;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void
state_slot_set(struct state_slot *p, struct range at)
{
	pthread_mutex_lock(&p->lock);
	p->at = at;
	pthread_mutex_unlock(&p->lock);
}

bool
state_slot_is_open(struct state_slot *p)
{
	pthread_mutex_lock(&p->lock);
	bool open = p->known && p->at.len == 0;
	pthread_mutex_unlock(&p->lock);
	return open;
}

/* Look for a place in the free sectors r, which must lie in one area of which the image
 * stores something. */
static bool
slot_at(const struct state_slot *p, struct range r, const struct state_slot_want *w,
    struct range *at)
{
	uint64_t past = (r.off + w->skew) % PAGE_SECTORS;
	uint64_t pad = past != 0 ? PAGE_SECTORS - past : 0;

	if (r.len < w->sectors || r.len - w->sectors < pad)
		return false;
	*at = (struct range){ r.off + pad, w->sectors };
	return !rangeset_touches(&p->stored, *at);
}

/* Look for a place: 1 found, 0 none, -1. gap: free sectors; left: the sectors of areas
 * that may hold other data. */
static int
slot_in(struct state_slot *p, struct range gap, const struct state_slot_want *w,
    const struct rangeset *left, struct range *at, struct err *e)
{
	struct rangeset free_of;
	int rc = 0;

	rangeset_init(&free_of);
	gap = range_clip(gap, w->within.off, range_end(w->within));
	for (size_t i = 0; rc == 0 && i < p->areas.n; i++) {
		const struct area *a = &p->areas.a[i];
		struct range r = range_clip(gap, a->sectors.off, range_end(a->sectors));
		rangeset_free(&free_of);
		if (a->inside || !a->some || r.len < w->sectors)
			continue;
		if (rangeset_add(&free_of, r, e) != 0 ||
		    rangeset_minus(&free_of, left, e) != 0)
			rc = -1;
		for (size_t k = 0; rc == 0 && k < rangeset_count(&free_of); k++)
			rc = slot_at(p, rangeset_get(&free_of, k), w, at);
	}
	rangeset_free(&free_of);
	return rc;
}

static int
try_gaps(struct state_slot *p, const struct state_slot_want *w, struct range *at,
    struct err *e)
{
	struct rangeset left;

	rangeset_seal(&p->stored);
	rangeset_seal(&p->untried);
	for (size_t i = 0; i < rangeset_count(&p->stored); i++)
		areas_note(&p->areas, rangeset_get(&p->stored, i));
	rangeset_init(&left);
	int rc = areas_left_out(&p->areas, true, &left, e);
	rangeset_seal(&left);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&p->untried); i++)
		rc = slot_in(p, rangeset_get(&p->untried, i), w, &left, at, e);
	rangeset_free(&left);
	return rc;
}

/* Add the places of the image's sectors r that have one. */
static int
add_places(struct rangeset *s, struct range r, const struct maps *maps, struct err *e)
{
	int rc = 0;

	for (uint64_t n, to; rc == 0 && r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = maps_run(maps, r, &to);
		if (to != MAPS_NOWHERE)
			rc = rangeset_add(s, (struct range){ to, n }, e);
	}
	return rc;
}

static int
add_gap(struct state_slot *p, uint64_t from, uint64_t to,
    const struct state_slot_want *w, struct err *e)
{
	if (to < from || to - from < w->sectors)
		return 0;
	return add_places(&p->untried, (struct range){ from, to - from }, w->maps, e);
}

static int
add_chunk(struct state_slot *p, const struct ndz_header *h,
    const struct state_slot_want *w, struct err *e)
{
	uint64_t from = h->firstsect;

	for (unsigned i = 0; i < h->nregions; i++) {
		if (add_gap(p, from, h->regions[i].off, w, e) != 0 ||
		    add_places(&p->stored, h->regions[i], w->maps, e) != 0)
			return -1;
		from = range_end(h->regions[i]);
	}
	return add_gap(p, from, h->lastsect, w, e);
}

static bool
goes_to(struct range r, const struct maps *maps, struct range at)
{
	for (uint64_t n, to; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = maps_run(maps, r, &to);
		struct range place = { to, to != MAPS_NOWHERE ? n : 0 };
		if (range_clip(place, at.off, range_end(at)).len != 0)
			return true;
	}
	return false;
}

static bool
stores(const struct ndz_header *h, const struct maps *maps, struct range at)
{
	for (unsigned i = 0; i < h->nregions; i++)
		if (goes_to(h->regions[i], maps, at))
			return true;
	return false;
}

static int
claim(struct state_slot *p, const struct ndz_header *h, const struct state_slot_want *w,
    struct range *at, struct err *e)
{
	if (p->at.len != 0 && stores(h, w->maps, p->at))
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
	int rc = try_gaps(p, w, at, e);
	if (rc == 1)
		p->at = *at;
	else
		rangeset_free(&p->untried);
	return rc;
}

int
state_slot_claim(struct state_slot *p, const struct ndz_header *h,
    const struct state_slot_want *w, struct range *at, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	int rc = claim(p, h, w, at, e);
	pthread_mutex_unlock(&p->lock);
	return rc;
}
