/* free_space.c: notes what chunks store, and fills the space that they leave free. install.c
 * notes chunks in the thread that feeds them, job.c fills free space in the writer's, and
 * target_finish.c fills the rest when all other threads are gone; a lock guards the struct. */
#include "imageunzip/install/free_space.h"

void
free_space_init(struct free_space *c)
{
	*c = (struct free_space){ .asked = false };
	pthread_mutex_init(&c->lock, NULL);
	areas_init(&c->areas);
	rangeset_init(&c->stored);
	rangeset_init(&c->owed);
}

void
free_space_free(struct free_space *c)
{
	pthread_mutex_destroy(&c->lock);
	areas_free(&c->areas);
	rangeset_free(&c->stored);
	rangeset_free(&c->owed);
}

void
free_space_attach(struct free_space *c, const struct target *t)
{
	const struct install_config *cfg = t->cfg;

	c->all = cfg->zero_all;
	c->asked = (cfg->zero || cfg->has_pattern || cfg->discard) && !t->fresh &&
	           disk_seekable(t->disk);
}

bool
free_space_wants_table(struct free_space *c, const struct ndz_header *h)
{
	return c->asked && !c->known && h->firstsect == 0;
}

static uint64_t
area_bytes(const struct target *t)
{
	return t->room != UINT64_MAX ? t->room * SECTOR_BYTES
	                             : disk_size_bytes(t->disk);
}

int
free_space_learn(struct free_space *c, const struct target *t, const struct chunk *chunk,
    const void *bytes, struct err *e)
{
	bool whole = t->slice.len == 0;

	pthread_mutex_lock(&c->lock);
	int rc = areas_of_image(&c->areas, chunk, bytes, whole, area_bytes(t), e);
	if (rc == 1 && t->cfg->grow)
		areas_grow_last(&c->areas, area_bytes(t) / SECTOR_BYTES);
	rangeset_seal(&c->stored);
	for (size_t i = 0; rc == 1 && i < rangeset_count(&c->stored); i++)
		areas_note(&c->areas, rangeset_get(&c->stored, i));
	c->known = rc == 1;
	pthread_mutex_unlock(&c->lock);
	return rc < 0 ? -1 : 0;
}

int
free_space_learn_one(struct free_space *c, const struct area *partition, struct err *e)
{
	pthread_mutex_lock(&c->lock);
	int rc = areas_add(&c->areas, *partition, e);
	c->known = rc == 0;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
free_space_note(struct free_space *c, struct range stored, struct err *e)
{
	pthread_mutex_lock(&c->lock);
	int rc = rangeset_add(&c->stored, stored, e);
	areas_note(&c->areas, stored);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* Divide a gap: what can be filled now stays in it, and the rest is added to c->owed. */
static int
divide(struct free_space *c, struct rangeset *gap, bool *owes, struct err *e)
{
	struct rangeset later;
	int rc = 0;

	rangeset_init(&later);
	if (c->all)
		return 0;
	if (c->known)
		rc = areas_left_out(&c->areas, true, &later, e);
	else if (rangeset_count(gap) > 0)
		rc = rangeset_add(&later, rangeset_get(gap, 0), e);
	rangeset_seal(&later);
	if (rc == 0)
		rc = rangeset_intersect(&later, gap, e);
	if (rc == 0)
		rc = rangeset_minus(gap, &later, e);
	if (rc == 0)
		rc = rangeset_union(&c->owed, &later, e);
	*owes |= rangeset_count(&later) > 0;
	rangeset_free(&later);
	return rc;
}

static int
fill_all(struct target *t, const struct rangeset *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(r); i++)
		rc = target_free_space(
		    t, rangeset_get(r, i).off, range_end(rangeset_get(r, i)), e);
	return rc;
}

int
free_space_fill(struct free_space *c, struct target *t, uint64_t from, uint64_t to, bool *owes,
    struct err *e)
{
	struct rangeset gap;

	if (from >= to || !c->asked)
		return target_free_space(t, from, to, e);
	rangeset_init(&gap);
	pthread_mutex_lock(&c->lock);
	int rc = rangeset_add(&gap, (struct range){ from, to - from }, e);
	rangeset_seal(&gap);
	if (rc == 0)
		rc = divide(c, &gap, owes, e);
	pthread_mutex_unlock(&c->lock);
	if (rc == 0)
		rc = fill_all(t, &gap, e);
	rangeset_free(&gap);
	return rc;
}

int
free_space_areas(struct free_space *c, const struct target *t, struct disk *view,
    unsigned sector_bytes, const struct ptable_change *grown, struct areas *s,
    struct err *e)
{
	struct rangeset stored;

	rangeset_seal(&c->stored);
	rangeset_init(&stored);
	int rc = rangeset_add_shifted(&stored, &c->stored, t->slice.off, e);
	rangeset_seal(&stored);
	if (rc == 0)
		rc = areas_of_disk(s, view, t->slice, sector_bytes, &stored, e);
	for (size_t i = 0; grown != NULL && i < s->n; i++)
		if (grown->grown != 0 && s->a[i].number == grown->grown)
			s->a[i].more = grown->is_sectors - grown->was_sectors;
	rangeset_free(&stored);
	return rc;
}

/* The space behind the last chunk, which no chunk answers for, is free space, too. */
static int
add_behind(struct rangeset *rest, const struct target *t, struct err *e)
{
	uint64_t end = t->covered_end;

	if (t->slice.len != 0 || t->room == UINT64_MAX || end >= t->room)
		return 0;
	return rangeset_add(rest, (struct range){ end, t->room - end }, e);
}

int
free_space_fill_rest(struct free_space *c, struct target *t, const struct rangeset *left,
    uint64_t *passed, struct err *e)
{
	struct rangeset there;

	*passed = 0;
	if (!c->asked)
		return 0;
	rangeset_init(&there);
	/* Where partitions move, all waits that is not stored. */
	if (t->fit != NULL) {
		rangeset_seal(&c->owed);
		if (rangeset_add(&c->owed, (struct range){ 0, t->room }, e) != 0)
			return -1;
		rangeset_seal(&c->owed);
		if (rangeset_minus(&c->owed, &c->stored, e) != 0)
			return -1;
	}
	uint64_t owed = rangeset_total(&c->owed);
	/* The owed sectors, counted as sectors of the disk. */
	int rc = rangeset_add_shifted(&there, &c->owed, t->slice.off, e);
	rangeset_seal(&there);
	if (rc == 0)
		rc = rangeset_minus(&there, left, e);
	*passed = owed - rangeset_total(&there);
	if (rc == 0 && t->fit == NULL)
		rc = add_behind(&there, t, e);
	if (rc == 0)
		rc = rangeset_minus(&there, left, e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&there); i++) {
		struct range r = rangeset_get(&there, i);
		uint64_t from = r.off - t->slice.off;
		rc = target_free_space(t, from, from + r.len, e);
	}
	rangeset_free(&there);
	return rc;
}
