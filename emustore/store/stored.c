/* stored.c: opens images of a store, and returns their chunks.  Called by all that read an
 * image, each in its own thread. */
#include "emustore/store/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emustore/store/rebuild.h"
#include "emustore/store/store_impl.h"

enum { NO_BLOCK = (int)UINT32_MAX, AHEAD_CHUNKS = 16, LOOKS = 5 };

struct stored {
	struct store *s;
	struct packs *packs; /* of this image alone, so that its files stay open */
	struct recipe_image about;
	struct buf record;  /* the recipe: its blocks are compressed */
	/* The image's object, while places are looked for, or fragments are compared with
	 * their SHA-256; digests: those of all fragments, by the numbers of pieces. */
	struct buf object;
	struct rd digests;
	uint64_t nfragments;
	uint64_t recipe_bytes;
	struct recipe_block *blocks;
	uint32_t nblocks;
	struct place *places; /* of all pieces of all chunks */
	struct fragment_raw *raws; /* of the same pieces; NULL: no parts are made */
	size_t nplaces, cap;
	struct index_walk walk; /* used while places are looked for */
	size_t *first;   /* each chunk's first place; chunks + 1 of them */
	uint32_t placed; /* chunks whose places are known */
	/* In a bucket: the bytes of the chunks before this one were asked for; and the chunk behind
	 * the one that was read last. */
	uint32_t wanted, next;
	struct rebuilder *rebuilder;
	/* The block that was used last, unpacked, and where its chunks begin in it. */
	uint32_t block;
	struct buf plain;
	size_t chunk_at[RECIPE_BLOCK_CHUNKS];
	struct recipe_chunk c;
};

const struct recipe_image *
stored_about(const struct stored *d)
{
	return &d->about;
}

uint64_t
stored_recipe_bytes(const struct stored *d)
{
	return d->recipe_bytes;
}

uint64_t
stored_fragments(const struct stored *d)
{
	return d->nfragments;
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
	recipe_chunk_free(&d->c);
	buf_free(&d->record);
	buf_free(&d->object);
	buf_free(&d->plain);
	free(d->blocks);
	free(d->places);
	free(d->raws);
	free(d->first);
	free(d);
}

int
stored_load(struct store *s, const struct index_image *i, struct buf *object,
    struct rd *recipe, struct rd *digests, struct err *e)
{
	struct objects *o = s->objects;
	struct record_head a, m, d;
	struct rd about;

	object->len = 0;
	/* The size comes from a list, which may be wrong, and a server may send that much. */
	if (i->bytes > RECIPE_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "its recipe cannot have %" PRIu64 " bytes",
		    i->bytes);
	if (o->ops->load(o->ctx, i->key, (size_t)i->bytes, object, e) != 0)
		return -1;
	struct rd r = rd_from(object->base, object->len);
	if (record_next(&r, &a, &about) && a.type == RECORD_ABOUT &&
	    record_next(&r, &m, recipe) && m.type == RECORD_IMAGE &&
	    record_next(&r, &d, digests) && d.type == RECORD_DIGESTS && rd_done(&r) &&
	    digests->len % SHA256_BYTES == 0)
		return 0;
	return err_set(e, ERR_FORMAT, "its recipe is damaged");
}

static int
err_lost(uint64_t number, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "fragment %" PRIu64 " of its recipe is not in the store (put an image that "
	    "has it to repair this)",
	    number);
}

int
stored_each_fragment(struct store *s, const struct index_image *i,
    int (*fn)(void *, const struct index_place *, struct err *), void *arg,
    struct err *e)
{
	struct index_walk walk = index_walk_of(s->index);
	struct buf object = { 0 };
	struct index_place p;
	struct rd recipe, digests;
	int rc = stored_load(s, i, &object, &recipe, &digests, e);

	for (uint64_t n = 0; rc == 0 && rd_left(&digests) > 0; n++) {
		rc = index_walk_to(&walk, rd_bytes(&digests, SHA256_BYTES), &p, e);
		if (rc >= 0)
			rc = rc == 1 ? fn(arg, &p, e) : err_lost(n, e);
	}
	index_walk_end(&walk);
	buf_free(&object);
	return rc == 0 ? 0 : err_ctx(e, "%s", stored_title(&i->about).text);
}

/* Read the recipe, and check that it is the one that the index means. */
static int
read_recipe(
    struct stored *d, const struct index_image *i, struct rd *rest, struct err *e)
{
	const struct recipe_image *a = &d->about, *b = &i->about;

	if (stored_load(d->s, i, &d->object, rest, &d->digests, e) != 0)
		return -1;
	d->recipe_bytes = d->object.len;
	d->nfragments = d->digests.len / SHA256_BYTES;
	buf_bytes(&d->record, rest->base, rest->len);
	if (!buf_ok(&d->record))
		return err_nomem(e, "a recipe");
	*rest = rd_from(d->record.base, d->record.len);
	if (recipe_get_image(&d->about, rest, e) != 0)
		return -1;
	if (a->chunks == b->chunks && a->name.version == b->name.version &&
	    strcmp(a->name.name, b->name.name) == 0 &&
	    memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0)
		return 0;
	return err_set(e, ERR_FORMAT, "the index and its recipe do not agree");
}

static int
read_blocks(struct stored *d, struct rd r, struct err *e)
{
	uint64_t n = (d->about.chunks + RECIPE_BLOCK_CHUNKS - 1ull) /
	             RECIPE_BLOCK_CHUNKS;
	uint64_t chunks = 0;
	int rc;

	if (!rd_can_hold(&r, n, 12))
		return err_set(e, ERR_FORMAT, "its recipe ends too early");
	d->blocks = calloc(n, sizeof *d->blocks);
	if (d->blocks == NULL)
		return err_nomem(e, "a recipe");
	for (uint64_t i = 0; i < n; i++) {
		if ((rc = recipe_get_block(&d->blocks[i], &r, e)) < 0)
			return -1;
		if (rc == 0 ||
		    (i + 1 < n && d->blocks[i].chunks != RECIPE_BLOCK_CHUNKS))
			return err_set(e, ERR_FORMAT, "its recipe lacks chunks");
		chunks += d->blocks[i].chunks;
	}
	d->nblocks = (uint32_t)n;
	if (!rd_done(&r) || chunks != d->about.chunks)
		return err_set(e, ERR_FORMAT,
		    "its recipe does not have %" PRIu32 " chunks", d->about.chunks);
	return 0;
}

/* Decompress block k, and find each of its chunks; fn (if not NULL) is called for each
 * chunk, which is in d->c. */
static int
load_block(struct stored *d, uint32_t k, int (*fn)(struct stored *, struct err *),
    struct err *e)
{
	d->block = (uint32_t)NO_BLOCK;
	if (recipe_unpack(&d->blocks[k], &d->plain, e) != 0)
		return -1;
	struct rd r = rd_from(d->plain.base, d->plain.len);
	for (uint32_t i = 0; i < d->blocks[k].chunks; i++) {
		d->chunk_at[i] = r.off;
		if (recipe_get_chunk(&d->c, &r, e) != 0 ||
		    (fn != NULL && fn(d, e) != 0))
			return err_ctx(e, "chunk %u", k * RECIPE_BLOCK_CHUNKS + i);
	}
	if (!rd_done(&r))
		return err_set(e, ERR_FORMAT, "a block of the recipe is too long");
	d->block = k;
	return 0;
}

static int
place_of(struct stored *d, const struct recipe_piece *p, struct err *e)
{
	struct place *place = &d->places[d->nplaces++];
	struct index_place f = { 0 };

	if (d->raws != NULL)
		d->raws[place - d->places] = f.raw;
	if (p->zero) {
		*place = (struct place){ .at = p->raw_bytes,
			.slot = (uint32_t)PLACE_ZEROS,
			.bytes = (uint32_t)d->c.codec->zeros_bytes(p->raw_bytes) };
		return 0;
	}
	if (p->number >= d->digests.len / SHA256_BYTES)
		return err_set(e, ERR_FORMAT,
		    "its recipe has no digest of fragment %" PRIu64, p->number);
	int rc =
	    index_walk_to(&d->walk, d->digests.base + p->number * SHA256_BYTES, &f, e);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return err_lost(p->number, e);
	place->at = f.at;
	place->bytes = f.bytes;
	if (d->raws != NULL)
		d->raws[place - d->places] = f.raw;
	return packs_slot(d->packs, d->s->index, f.pack, &place->slot, e);
}

/* Make room for the places of n more pieces. */
static int
make_room(struct stored *d, size_t n, struct err *e)
{
	size_t cap = d->nplaces + n + (d->nplaces + n) / 2;

	if (d->nplaces + n <= d->cap)
		return 0;
	void *places = realloc(d->places, cap * sizeof *d->places);
	if (places == NULL)
		return err_nomem(e, "a recipe");
	d->places = places;
	void *raws = d->s->parts ? realloc(d->raws, cap * sizeof *d->raws) : NULL;
	if (raws == NULL && d->s->parts)
		return err_nomem(e, "a recipe");
	d->raws = raws;
	d->cap = cap;
	return 0;
}

static int
find_places(struct stored *d, struct err *e)
{
	int rc = make_room(d, d->c.npieces, e);

	if (rc != 0)
		return -1;
	for (size_t i = 0; i < d->c.npieces && rc == 0; i++)
		rc = place_of(d, &d->c.pieces[i], e);
	d->first[++d->placed] = d->nplaces;
	return rc;
}

static int
load(struct stored *d, const struct index_image *i, struct err *e)
{
	struct rd rest;

	if (read_recipe(d, i, &rest, e) != 0 || read_blocks(d, rest, e) != 0)
		return -1;
	d->first = calloc(d->about.chunks + 1ull, sizeof *d->first);
	if (d->first == NULL)
		return err_nomem(e, "a recipe");
	d->walk = index_walk_of(d->s->index);
	int rc = 0;
	for (uint32_t k = 0; k < d->nblocks && rc == 0; k++)
		rc = load_block(d, k, find_places, e);
	index_walk_end(&d->walk);
	/* Who reads parts compares what a bucket says of a fragment with its SHA-256. */
	if (!d->s->parts || packs_are_files(d->packs)) {
		buf_free(&d->object);
		d->digests = (struct rd){ 0 };
	}
	return rc;
}

int
stored_open_image(
    struct stored **out, struct store *s, const struct index_image *i, struct err *e)
{
	struct stored *d = calloc(1, sizeof *d);

	if (d == NULL)
		return err_nomem(e, "an image");
	d->s = s;
	d->block = (uint32_t)NO_BLOCK;
	d->packs = store_packs(s);
	d->rebuilder = d->packs != NULL ? rebuilder_new(d->packs) : NULL;
	int rc = d->rebuilder == NULL ? err_nomem(e, "an image") : load(d, i, e);
	if (rc != 0) {
		err_ctx(e, "%s", stored_title(&i->about).text);
		stored_free(d);
		return -1;
	}
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
		rc = store_look(s, e) == 0 ? open_once(out, s, n, e) : -1;
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
	index_note_load(s->index, &d->about.name, (uint64_t)time(NULL), &loads);
	if (s->blocks != NULL)
		blocks_note_loads(s->blocks, loads);
}

int
stored_prove(struct stored *d, struct store *s, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	struct rd recipe;
	int rc = i == NULL ? err_nomem(e, "an image")
	                   : index_find_image(s->index, &d->about.name, i, e);

	if (rc == 0)
		rc = err_absent(&d->about.name, e);
	else if (rc == 1)
		rc = stored_load(s, i, &d->object, &recipe, &d->digests, e);
	if (rc == 0 && (memcmp(i->about.sha256, d->about.sha256, SHA256_BYTES) != 0 ||
			   d->digests.len != d->nfragments * SHA256_BYTES))
		rc = err_set(
		    e, ERR_FORMAT, "was replaced by another image while it was read");
	if (rc == 0)
		rebuilder_prove(d->rebuilder, d->digests);
	free(i);
	return rc == 0 ? 0 : err_ctx(e, "%s", stored_title(&d->about).text);
}

/* Read the recipe of chunk i into d->c. */
static int
get_recipe(struct stored *d, uint32_t i, struct err *e)
{
	uint32_t k = i / RECIPE_BLOCK_CHUNKS;

	if (k != d->block && load_block(d, k, NULL, e) != 0)
		return -1;
	struct rd r = rd_from(d->plain.base, d->plain.len);
	rd_skip(&r, d->chunk_at[i % RECIPE_BLOCK_CHUNKS]);
	return recipe_get_chunk(&d->c, &r, e);
}

static void
want_chunk(struct stored *d, uint32_t i)
{
	for (size_t k = d->first[i]; k < d->first[i + 1]; k++) {
		const struct place *p = &d->places[k];
		if (p->slot != (uint32_t)PLACE_ZEROS)
			packs_want(
			    d->packs, p->slot, p->at + FRAGMENT_DATA_AT, p->bytes);
	}
}

/* Announce the next AHEAD_CHUNKS chunks, of which several threads may each read some, if chunks are
 * read in order: an answer of a bucket takes its time.  Returns whether they are. */
static bool
want_ahead(struct stored *d, uint32_t i)
{
	uint32_t left = d->about.chunks - i;
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
	const struct rebuild_facts facts = { d->raws != NULL ? d->raws + d->first[i] : NULL,
		d->digests };

	if (get_recipe(d, i, e) != 0 ||
	    rebuild_part(d->rebuilder, &d->c, d->places + d->first[i], &facts, at, n, out, e) != 0)
		return err_ctx(e, "%s: chunk %u", stored_title(&d->about).text, i);
	return 0;
}

int
stored_chunk(struct stored *d, uint32_t i, void *out, struct err *e)
{
	bool alone =
	    i < d->about.chunks && !packs_are_files(d->packs) && !want_ahead(d, i);

	if (alone && d->raws != NULL && !d->about.redeflated)
		return stored_part(d, i, 0, NDZ_CHUNK_BYTES, out, e);
	if (get_recipe(d, i, e) != 0 ||
	    rebuild_chunk(d->rebuilder, &d->c, d->places + d->first[i], out, e) != 0)
		return err_ctx(e, "%s: chunk %u", stored_title(&d->about).text, i);
	return 0;
}
