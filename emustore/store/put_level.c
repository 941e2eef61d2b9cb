/* put_level.c: finds out at which level deflate made the fragments of an image in a store, by
 * making some of them again.  put.c calls this when it begins, in its caller's thread. */
#include <stdlib.h>
#include <string.h>

#include "emustore/store/put_impl.h"
#include "emustore/store/stored.h"

enum {
	LEVEL_MAX = 9,
	/* A fragment of so many bytes tells one level from the others, mostly; noise does not. */
	TELLING_BYTES = 8 * 1024,
	TRIES = 64,
};

struct trial {
	struct store *s;
	struct packs *packs;
	struct inflater *in;
	struct buf body;
	unsigned levels; /* bit n: it may have been level n */
	unsigned tries, seen, step; /* every step-th fragment is tried */
	uint8_t raw[EXT_FRAGMENT_RAW_MAX], again[EXT_FRAGMENT_RAW_MAX];
};

/* Does this level make exactly these bytes of the n bytes of raw data? */
static bool
makes(struct trial *t, int level, size_t n, const uint8_t *data, size_t bytes)
{
	struct deflater *d = deflater_new(level);
	bool same = d != NULL && deflater_bound(n) <= sizeof t->again &&
	            deflater_fragment(d, t->raw, n, t->again, deflater_bound(n)) == bytes &&
	            memcmp(t->again, data, bytes) == 0;

	deflater_free(d);
	return same;
}

/* Keep only the levels that may have made the fragment in t->body.  One that deflate has not
 * made, or another build of it, tells nothing. */
static void
compare_levels(struct trial *t)
{
	struct fragment_head h;
	struct err ignored;
	const uint8_t *data = t->body.base + FRAGMENT_HEAD_BYTES;
	unsigned made = 0;

	if (fragment_get_head(&h, t->body.base, t->body.len, &ignored) != 0 ||
	    h.raw_bytes > sizeof t->raw)
		return;
	size_t bytes = t->body.len - FRAGMENT_HEAD_BYTES;
	if (bytes > h.raw_bytes / 8 * 7 ||
	    inflater_fragment(t->in, data, bytes, t->raw, h.raw_bytes, &ignored) != 0)
		return;
	for (int level = 1; level <= LEVEL_MAX; level++)
		if ((t->levels >> level & 1) != 0 && makes(t, level, h.raw_bytes, data, bytes))
			made |= 1u << level;
	t->levels = made != 0 ? made : t->levels;
}

/* Returns 1 when no more fragments are wanted. */
static int
try_fragment(void *arg, const struct index_place *p, struct err *e)
{
	struct trial *t = arg;
	struct record_head h;
	uint32_t slot;

	if (p->bytes < TELLING_BYTES || t->seen++ % t->step != 0)
		return 0;
	if (packs_slot(t->packs, t->s->index, p->pack, &slot, e) != 0 ||
	    packs_read_record(t->packs, slot, p->at, &h, &t->body, e) != 0)
		return 1;
	compare_levels(t);
	return ++t->tries == TRIES || (t->levels & (t->levels - 1)) == 0;
}

static int
lowest(unsigned levels)
{
	int level = 0;

	while ((levels >> level & 1) == 0)
		level++;
	return level;
}

int
put_find_level(struct store *s, const char *name)
{
	struct trial *t = calloc(1, sizeof *t);
	struct index_image newest;
	struct store_name latest = { 0 };
	struct err ignored = { 0 };
	int level = DEFLATE_LEVEL_DEFAULT;

	strcpy(latest.name, name);
	if (t == NULL || store_find_image(s, &latest, &newest, &ignored) != 1) {
		free(t);
		return level;
	}
	t->s = s;
	t->step = 1 + newest.about.chunks / 2;
	t->levels = (2u << LEVEL_MAX) - 2;
	t->packs = store_packs(s);
	t->in = inflater_new();
	if (t->packs != NULL && t->in != NULL)
		stored_each_fragment(s, &newest, try_fragment, t, &ignored);
	if ((t->levels >> level & 1) == 0)
		level = lowest(t->levels);
	packs_free(t->packs);
	inflater_free(t->in);
	buf_free(&t->body);
	free(t);
	return level;
}
