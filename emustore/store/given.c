/* given.c: knows which numbers versions have had.  Called by writer.c, claim.c and
 * store.c, in the thread that has the store. */
#include "emustore/store/given.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct range_of_versions {
	uint32_t low, high;
};

/* Is this the key of a range, without KEYS_GIVEN and the name before it?  Longer keys are
 * those of images whose names begin like this one. */
static bool
key_is_given(const char *key, struct range_of_versions *r)
{
	char back[GIVEN_KEY_BYTES];

	if (sscanf(key, "-%10" SCNu32 "-%10" SCNu32, &r->low, &r->high) != 2 || r->low == 0 ||
	    r->low > r->high)
		return false;
	snprintf(back, sizeof back, GIVEN_FORMAT, r->low, r->high);
	return strcmp(back, key) == 0;
}

static int
list_given(struct store *s, const char *name, struct listing *l, struct err *e)
{
	char folder[KEY_BYTES];

	snprintf(folder, sizeof folder, KEYS_GIVEN "%s/", name);
	return listing_get(l, s->objects, folder, NULL, e);
}

int
given_highest(struct store *s, const char *name, uint32_t *highest, struct err *e)
{
	struct range_of_versions r;
	struct listing l = { 0 };
	int rc = list_given(s, name, &l, e);

	*highest = 0;
	for (size_t i = 0; i < l.n; i++)
		if (key_is_given(l.v[i].key, &r) && r.high > *highest)
			*highest = r.high;
	listing_free(&l);
	return rc;
}

static bool
listed_has(const struct listing *l, uint32_t version)
{
	struct range_of_versions r;

	for (size_t i = 0; i < l->n; i++)
		if (key_is_given(l->v[i].key, &r) && r.low <= version && version <= r.high)
			return true;
	return false;
}

int
given_has(struct store *s, const struct store_name *n, struct err *e)
{
	struct listing l = { 0 };
	int rc = list_given(s, n->name, &l, e);

	if (rc == 0)
		rc = listed_has(&l, n->version);
	listing_free(&l);
	return rc;
}

/* Make the object of a range that has the number and all ranges that touch it. */
static int
put_range(struct store *s, const char *name, const struct listing *l,
    struct range_of_versions *all, struct err *e)
{
	char key[KEY_BYTES + GIVEN_KEY_BYTES];
	struct range_of_versions r;
	bool grown = true;

	while (grown) {
		grown = false;
		for (size_t i = 0; i < l->n; i++) {
			if (!key_is_given(l->v[i].key, &r) || r.low > all->high + 1 ||
			    r.high + 1 < all->low || (r.low >= all->low && r.high <= all->high))
				continue;
			all->low = r.low < all->low ? r.low : all->low;
			all->high = r.high > all->high ? r.high : all->high;
			grown = true;
		}
	}
	snprintf(key, sizeof key, KEYS_GIVEN "%s/" GIVEN_FORMAT, name, all->low, all->high);
	int rc = s->objects->ops->put(s->objects->ctx, key, "given\n", 6, e);
	return rc == 0 || e->os == EEXIST ? 0 : -1;
}

/* Remove the ranges that are in `all`, but for its own object. */
static void
remove_ranges(struct store *s, const char *name, const struct listing *l,
    const struct range_of_versions *all)
{
	struct err ignored; /* the next number tries again */
	char key[KEY_BYTES + GIVEN_KEY_BYTES];
	struct range_of_versions r;

	for (size_t i = 0; i < l->n; i++) {
		if (!key_is_given(l->v[i].key, &r) || r.low < all->low || r.high > all->high ||
		    (r.low == all->low && r.high == all->high))
			continue;
		snprintf(key, sizeof key, KEYS_GIVEN "%s/%s", name, l->v[i].key);
		s->objects->ops->remove(s->objects->ctx, key, &ignored);
	}
}

int
given_add(struct store *s, const struct store_name *n, struct err *e)
{
	struct range_of_versions all = { n->version, n->version };
	struct listing l = { 0 };
	int rc = list_given(s, n->name, &l, e);

	if (rc == 0 && !listed_has(&l, n->version)) {
		rc = put_range(s, n->name, &l, &all, e);
		if (rc == 0)
			remove_ranges(s, n->name, &l, &all);
	}
	listing_free(&l);
	return rc;
}
