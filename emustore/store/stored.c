/* stored.c: opens images of a store, and returns their chunks.  Called by all that read an
 * image, each in its own thread. */
#include "emustore/store/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emustore/store/placed.h"
#include "emustore/store/store_impl.h"

enum { AHEAD_CHUNKS = 16, LOOKS = 5 };

struct stored {
	struct packs *packs; /* of this reader alone, so that its files stay open */
	struct placed *image;
	struct placed_reader reader;
	struct rebuilder *rebuilder;
	bool prove; /* fragments are compared with their SHA-256 */
	/* In a bucket: the bytes of the chunks before this one were asked for; and the chunk behind
	 * the one that was read last. */
	uint32_t wanted, next;
};

const struct recipe_image *
stored_about(const struct stored *d)
{
	return &d->image->about;
}

uint64_t
stored_recipe_bytes(const struct stored *d)
{
	return spill_bytes(&d->image->object.bytes);
}

uint64_t
stored_fragments(const struct stored *d)
{
	return d->image->object.ndigests;
}

struct stored_title
stored_title(const struct recipe_image *i)
{
	struct stored_title t;

	snprintf(t.text, sizeof t.text, "%s:%" PRIu32, i->name.name, i->name.version);
	return t;
}

void
stored_free(struct stored *d)
{
	if (d == NULL)
		return;
	rebuilder_free(d->rebuilder);
	packs_free(d->packs);
	placed_reader_free(&d->reader);
	placed_release(d->image);
	free(d);
}

int
stored_each_fragment(struct store *s, const struct index_image *i,
    int (*fn)(void *, const struct index_place *, struct err *), void *arg,
    struct err *e)
{
	struct index_walk walk = index_walk_of(s->index);
	struct spill_view view = { 0 };
	struct image_object object;
	struct index_place p;
	int rc = image_object_load(&object, s, i, e);

	for (uint64_t n = 0; rc == 0 && n < object.ndigests; n++) {
		const uint8_t *digest = image_object_digest(&object, &view, n, e);
		rc = digest == NULL ? -1 : placed_find(&walk, digest, n, &p, e);
		if (rc == 0)
			rc = fn(arg, &p, e);
	}
	index_walk_end(&walk);
	spill_view_free(&view);
	image_object_free(&object);
	return rc == 0 ? 0 : err_ctx(e, "%s", stored_title(&i->about).text);
}

static struct stored *
new_reader(struct packs *packs)
{
	struct stored *d = calloc(1, sizeof *d);

	if (d != NULL) {
		d->packs = packs;
		d->rebuilder = packs != NULL ? rebuilder_new(packs) : NULL;
	}
	if (d != NULL && d->rebuilder != NULL)
		return d;
	packs_free(packs);
	free(d);
	return NULL;
}

int
stored_open_image(
    struct stored **out, struct store *s, const struct index_image *i, struct err *e)
{
	struct stored *d = new_reader(store_packs(s));
	int rc = d == NULL ? err_nomem(e, "an image")
	                   : placed_new(&d->image, s, d->packs, i, e);

	if (rc != 0) {
		err_ctx(e, "%s", stored_title(&i->about).text);
		stored_free(d);
		return -1;
	}
	d->reader.of = d->image;
	*out = d;
	return 0;
}

int
stored_more(struct stored **out, const struct stored *first, struct err *e)
{
	struct stored *d = new_reader(packs_more(first->packs));

	if (d == NULL)
		return err_nomem(e, "an image");
	d->image = placed_hold(first->image);
	d->reader.of = d->image;
	d->prove = first->prove;
	*out = d;
	return 0;
}

static int
err_absent(const struct store_name *n, struct err *e)
{
	if (n->version == 0)
		return err_set(e, ERR_ABSENT, "%s: is not in the store", n->name);
	return err_set(e, ERR_ABSENT, "%s:%" PRIu32 ": is not in the store", n->name,
	    n->version);
}

/* Open the image in one transaction of the index, so that all that is found fits together. */
static int
open_once(
    struct stored **out, struct store *s, const struct store_name *n, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);

	if (i == NULL)
		return err_nomem(e, "an image");
	int rc = index_begin(s->index, false, e);
	if (rc == 0) {
		rc = index_find_image(s->index, n, i, e);
		if (rc == 0)
			rc = err_absent(n, e);
		else if (rc == 1)
			rc = stored_open_image(out, s, i, e);
		index_rollback(s->index);
	}
	free(i);
	return rc;
}

/* Add to the error that some objects could not be read: what the index lacks may be in one
 * of them. */
static int
blame_unreadable(struct store *s, struct err *e)
{
	struct err why = *e;

	if (s->unreadable == 0 || (e->kind != ERR_ABSENT && e->kind != ERR_FORMAT))
		return -1;
	return err_set(e, ERR_FORMAT,
	    "%.150s (objects that cannot be read: %" PRIu64 ", the first: %.300s)",
	    why.text, s->unreadable, s->first_unreadable);
}

/* An object that the index has may have been removed since the last look.  And where the
 * store was not listed because of its mark, an image that the index lacks may have been
 * copied there by hand. */
static int
open_looking(
    struct stored **out, struct store *s, const struct store_name *n, struct err *e)
{
	int rc = open_once(out, s, n, e);

	for (int tries = 0; tries < LOOKS && rc != 0 &&
	     (e->os == ENOENT || (e->kind == ERR_ABSENT && s->trusted));
	     tries++)
		rc = store_refresh(s, e) == 0 ? open_once(out, s, n, e) : -1;
	return rc == 0 ? 0 : store_err_missing(e);
}

int
stored_open(
    struct stored **out, struct store *s, const struct store_name *n, struct err *e)
{
	int rc = open_looking(out, s, n, e);

	if (rc != 0 && store_heal(s, e) == 1)
		rc = open_looking(out, s, n, e);
	return rc == 0 ? 0 : blame_unreadable(s, e);
}

void
stored_note_load(const struct stored *d, struct store *s)
{
	uint64_t loads;

	if (s->cache == NULL || !cache_is_current(s))
		return;
	index_note_load(s->index, &stored_about(d)->name, (uint64_t)time(NULL), &loads);
	if (s->blocks != NULL)
		blocks_note_loads(s->blocks, loads);
}

void
stored_prove(struct stored *d)
{
	d->prove = true;
}

static void
want_chunk(struct stored *d, uint32_t i)
{
	struct err ignored; /* who reads the chunk learns it */
	size_t n;
	const struct place *p = placed_places(&d->reader, i, &n, &ignored);

	for (size_t k = 0; p != NULL && k < n; k++)
		if (p[k].slot != (uint32_t)PLACE_ZEROS)
			packs_want(d->packs, p[k].slot, p[k].at + FRAGMENT_DATA_AT, p[k].bytes);
}

/* Announce the next AHEAD_CHUNKS chunks, of which several threads may each read some, if chunks are
 * read in order: an answer of a bucket takes its time.  Returns whether they are. */
static bool
want_ahead(struct stored *d, uint32_t i)
{
	uint32_t left = stored_about(d)->chunks - i;
	uint32_t end = i + (left < AHEAD_CHUNKS ? left : AHEAD_CHUNKS);
	bool in_order = d->next > 0 && i >= d->next && i - d->next < AHEAD_CHUNKS;

	d->next = i + 1;
	if (!in_order)
		return false;
	if (d->wanted < i || d->wanted > end)
		d->wanted = i;
	while (d->wanted < end)
		want_chunk(d, d->wanted++);
	return true;
}

uint64_t
stored_equivalents(const struct stored *d)
{
	return rebuilder_equivalents(d->rebuilder);
}

int
stored_part(
    struct stored *d, uint32_t i, size_t at, size_t n, void *out, struct err *e)
{
	/* What a bucket says of a part of a pack is compared with nothing else. */
	bool digests = d->prove || (d->image->has_raws && !packs_are_files(d->packs));
	struct rebuild_facts facts;

	if (placed_chunk(&d->reader, i, digests, &facts, e) != 0 ||
	    rebuild_part(d->rebuilder, &d->reader.c, &facts, at, n, out, e) != 0)
		return err_ctx(e, "%s: chunk %u", stored_title(stored_about(d)).text, i);
	return 0;
}

int
stored_chunk(struct stored *d, uint32_t i, void *out, struct err *e)
{
	const struct recipe_image *a = stored_about(d);
	bool alone = i < a->chunks && !packs_are_files(d->packs) && !want_ahead(d, i);
	struct rebuild_facts facts;

	if (alone && d->image->has_raws && !a->redeflated)
		return stored_part(d, i, 0, NDZ_CHUNK_BYTES, out, e);
	if (placed_chunk(&d->reader, i, d->prove, &facts, e) != 0 ||
	    rebuild_chunk(d->rebuilder, &d->reader.c, &facts, out, e) != 0)
		return err_ctx(e, "%s: chunk %u", stored_title(a).text, i);
	return 0;
}
