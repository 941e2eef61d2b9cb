/* placed.c: looks up where the fragments of an image are, and reads its recipe.  Called by
 * stored.c, in the thread that opens an image, and in those that read it. */
#include "emustore/store/placed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is needed while the fragments are looked up. */
struct looking {
	struct placed *p;
	struct store *s;
	struct packs *packs;
	struct index_walk walk;
	struct placed_reader r;
};

struct placed *
placed_hold(struct placed *p)
{
	p->refs++;
	return p;
}

void
placed_release(struct placed *p)
{
	if (p == NULL || --p->refs > 0)
		return;
	image_object_free(&p->object);
	spill_free(&p->places);
	spill_free(&p->raws);
	free(p->block_at);
	free(p->first);
	free(p);
}

void
placed_reader_free(struct placed_reader *r)
{
	spill_view_free(&r->blocks);
	spill_view_free(&r->digest);
	spill_view_free(&r->places);
	spill_view_free(&r->raws);
	recipe_chunk_free(&r->c);
	buf_free(&r->plain);
	buf_free(&r->digests);
}

/* Decompress the block at byte `at` of the object, whose chunks follow one another in r->plain.
 * *next: where the block behind it is. */
static int
unpack(struct placed_reader *r, uint64_t at, uint64_t *next, uint32_t *chunks, struct err *e)
{
	struct recipe_block k;
	int rc = image_object_block(&r->of->object, &r->blocks, at, &k, next, e);

	r->has_block = false;
	if (rc < 0)
		return -1;
	if (rc == 0)
		return err_set(e, ERR_FORMAT, "its recipe lacks chunks");
	*chunks = k.chunks;
	return recipe_unpack(&k, &r->plain, e);
}

static int
add_piece(struct looking *l, const struct place *place, const struct fragment_raw *raw,
    struct err *e)
{
	struct placed *p = l->p;

	if (spill_add(&p->places, place, sizeof *place, e) != 0)
		return -1;
	return p->has_raws ? spill_add(&p->raws, raw, sizeof *raw, e) : 0;
}

int
placed_find(struct index_walk *w, const uint8_t digest[SHA256_BYTES], uint64_t number,
    struct index_place *p, struct err *e)
{
	int rc = index_walk_to(w, digest, p, e);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return err_set(e, ERR_FORMAT,
	    "fragment %" PRIu64
	    " of its recipe is not in the store (put an image that has it to repair this)",
	    number);
}

static int
look_up(struct looking *l, const struct recipe_piece *p, struct err *e)
{
	const uint8_t *digest =
	    image_object_digest(&l->p->object, &l->r.digest, p->number, e);
	struct index_place f;
	struct place place;

	if (digest == NULL || placed_find(&l->walk, digest, p->number, &f, e) != 0)
		return -1;
	place.at = f.at;
	place.bytes = f.bytes;
	if (packs_slot(l->packs, l->s->index, f.pack, &place.slot, e) != 0)
		return -1;
	return add_piece(l, &place, &f.raw, e);
}

static int
look_up_chunk(struct looking *l, struct err *e)
{
	static const struct fragment_raw none;
	const struct recipe_chunk *c = &l->r.c;
	struct placed *p = l->p;
	int rc = 0;

	for (size_t i = 0; i < c->npieces && rc == 0; i++) {
		const struct recipe_piece *x = &c->pieces[i];
		const struct place zeros = { .at = x->raw_bytes,
			.slot = (uint32_t)PLACE_ZEROS,
			.bytes = x->zero ? (uint32_t)c->codec->zeros_bytes(x->raw_bytes) : 0 };
		rc = x->zero ? add_piece(l, &zeros, &none, e) : look_up(l, x, e);
	}
	p->first[p->known + 1] = p->first[p->known] + c->npieces;
	p->known++;
	return rc;
}

/* Look up what block k needs, which begins at byte *at; *at is the next one then. */
static int
look_up_block(struct looking *l, uint32_t k, uint64_t *at, struct err *e)
{
	struct placed *p = l->p;
	uint32_t chunks, left = p->about.chunks - p->known;

	p->block_at[k] = *at;
	if (unpack(&l->r, *at, at, &chunks, e) != 0)
		return -1;
	if (chunks != (left < RECIPE_BLOCK_CHUNKS ? left : RECIPE_BLOCK_CHUNKS))
		return err_set(e, ERR_FORMAT, "its recipe does not have %" PRIu32 " chunks",
		    p->about.chunks);
	struct rd r = rd_from(l->r.plain.base, l->r.plain.len);
	for (uint32_t i = 0; i < chunks; i++)
		if (recipe_get_chunk(&l->r.c, &r, e) != 0 || look_up_chunk(l, e) != 0)
			return err_ctx(e, "chunk %" PRIu32, k * RECIPE_BLOCK_CHUNKS + i);
	return rd_done(&r) ? 0 : err_set(e, ERR_FORMAT, "a block of the recipe is too long");
}

static int
look_up_all(struct looking *l, struct err *e)
{
	struct placed *p = l->p;
	uint64_t at = p->object.blocks_at;

	uint64_t nblocks = (p->about.chunks + RECIPE_BLOCK_CHUNKS - 1ull) / RECIPE_BLOCK_CHUNKS;
	if ((p->object.blocks_end - at) / RECIPE_BLOCK_HEAD_BYTES < nblocks)
		return err_set(e, ERR_FORMAT, "its recipe ends too early");
	p->block_at = calloc(nblocks, sizeof *p->block_at);
	p->first = calloc(p->about.chunks + 1ull, sizeof *p->first);
	if (p->block_at == NULL || p->first == NULL)
		return err_nomem(e, "a recipe");
	for (uint32_t k = 0; k < nblocks; k++)
		if (look_up_block(l, k, &at, e) != 0)
			return -1;
	return at == p->object.blocks_end
	           ? 0
	           : err_set(e, ERR_FORMAT, "its recipe does not have %" PRIu32 " chunks",
	                 p->about.chunks);
}

/* Load the object, and check that it is the one that the index means. */
static int
load(struct placed *p, struct store *s, const struct index_image *i, struct err *e)
{
	const struct recipe_image *a = &p->about, *b = &i->about;

	if (image_object_load(&p->object, s, i, e) != 0 ||
	    image_object_about(&p->object, &p->about, e) != 0)
		return -1;
	if (a->chunks == b->chunks && a->name.version == b->name.version &&
	    strcmp(a->name.name, b->name.name) == 0 &&
	    memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0)
		return 0;
	return err_set(e, ERR_FORMAT, "the index and its recipe do not agree");
}

int
placed_new(struct placed **out, struct store *s, struct packs *packs,
    const struct index_image *i, struct err *e)
{
	struct placed *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "an image");
	p->refs = 1;
	p->has_raws = s->parts;
	p->places = spill_new(s->cache, SPILL_MEMORY_BYTES);
	p->raws = spill_new(s->cache, SPILL_MEMORY_BYTES);
	struct looking l = { .p = p, .s = s, .packs = packs, .r.of = p };
	int rc = load(p, s, i, e);
	l.walk = index_walk_of(s->index);
	if (rc == 0)
		rc = look_up_all(&l, e);
	index_walk_end(&l.walk);
	placed_reader_free(&l.r);
	if (rc == 0)
		return *out = p, 0;
	placed_release(p);
	return -1;
}

const struct place *
placed_places(struct placed_reader *r, uint32_t i, size_t *n, struct err *e)
{
	const struct placed *p = r->of;

	*n = p->first[i + 1] - p->first[i];
	return spill_at(&p->places, &r->places, p->first[i] * sizeof(struct place),
	    *n * sizeof(struct place), e);
}

/* Have the block of chunk i unpacked, and each of its chunks found. */
static int
need_block(struct placed_reader *r, uint32_t i, struct err *e)
{
	uint32_t k = i / RECIPE_BLOCK_CHUNKS, chunks;
	uint64_t next;

	if (r->has_block && r->block == k)
		return 0;
	if (unpack(r, r->of->block_at[k], &next, &chunks, e) != 0)
		return -1;
	struct rd rd = rd_from(r->plain.base, r->plain.len);
	for (uint32_t n = 0; n < chunks; n++) {
		r->chunk_at[n] = rd.off;
		if (recipe_get_chunk(&r->c, &rd, e) != 0)
			return -1;
	}
	r->block = k;
	r->has_block = true;
	return 0;
}

/* Copy the digests of the pieces of r->c, one for each piece. */
static int
copy_digests(struct placed_reader *r, struct err *e)
{
	static const uint8_t none[SHA256_BYTES];

	r->digests.len = 0;
	for (size_t i = 0; i < r->c.npieces; i++) {
		const struct recipe_piece *x = &r->c.pieces[i];
		const uint8_t *digest =
		    x->zero ? none : image_object_digest(&r->of->object, &r->digest, x->number, e);
		if (digest == NULL)
			return -1;
		buf_bytes(&r->digests, digest, SHA256_BYTES);
	}
	return buf_ok(&r->digests) ? 0 : err_nomem(e, "a chunk's digests");
}

int
placed_chunk(struct placed_reader *r, uint32_t i, bool digests, struct rebuild_facts *facts,
    struct err *e)
{
	const struct placed *p = r->of;
	size_t n;

	*facts = (struct rebuild_facts){ .places = placed_places(r, i, &n, e) };
	if (facts->places == NULL || need_block(r, i, e) != 0)
		return -1;
	struct rd rd = rd_from(r->plain.base, r->plain.len);
	rd_skip(&rd, r->chunk_at[i % RECIPE_BLOCK_CHUNKS]);
	if (recipe_get_chunk(&r->c, &rd, e) != 0)
		return -1;
	if (p->has_raws && (facts->raws = spill_at(&p->raws, &r->raws,
				p->first[i] * sizeof *facts->raws, n * sizeof *facts->raws, e)) == NULL)
		return -1;
	if (digests && copy_digests(r, e) != 0)
		return -1;
	facts->digests = digests ? r->digests.base : NULL;
	return 0;
}
