/* The pieces of a chunk: those that the store lacks go to its packs, and where each is
 * is written down. */
#include <stdlib.h>

#include "common/base/sha256.h"
#include "emustore/store/put_impl.h"

static int
add_piece(struct put *p, const struct recipe_piece *piece, const struct place *place,
    struct err *e)
{
	size_t i = p->c.npieces;

	if (i == p->places_cap) {
		size_t cap = i == 0 ? 64 : 2 * i;
		struct place *places = realloc(p->places, cap * sizeof *places);
		if (places == NULL)
			return err_nomem(e, "a recipe");
		p->places = places;
		p->places_cap = cap;
	}
	p->places[i] = *place;
	return recipe_add_piece(&p->c, piece, e);
}

/* Is the data there already, compressed by another codec or at another level? */
static int
count_same_data(struct put *p, const struct index_fragment *f, struct err *e)
{
	struct index_fragment other;

	if (p->s->remote != NULL || p->cfg.exact || f->head.raw_bytes == 0)
		return 0;
	int rc = index_find_raw(
	    p->s->index, f->head.raw_digest, f->head.raw_bytes, &other, e);
	p->stats.same_data_fragments += rc == 1;
	return rc < 0 ? -1 : 0;
}

/* Into the packs and the index; one that was lost comes back under its number. */
static int
keep_fragment(struct put *p, struct index_fragment *f, const void *data, struct err *e)
{
	if (count_same_data(p, f, e) != 0)
		return -1;
	if (store_add_fragment(p->s, f, data, e) != 0)
		return -1;
	p->stats.new_fragments++;
	p->stats.new_bytes += f->bytes;
	return 0;
}

/* In a bucket fragments have no numbers that all know: a recipe has their digests, and
 * numbers those.  What is there already is not fetched to be compared: the SHA-256 of
 * the data at hand, which are at byte `at`, is that of what is there. */
static int
use_digest(struct put *p, const struct index_fragment *f, size_t at, struct err *e)
{
	struct place place = {
		.at = at, .slot = (uint32_t)PLACE_GIVEN, .bytes = f->bytes
	};
	struct recipe_piece piece = { .number = p->digests.len / SHA256_BYTES };

	buf_bytes(&p->digests, f->head.sha256, SHA256_BYTES);
	if (!buf_ok(&p->digests))
		return err_nomem(e, "a recipe");
	return add_piece(p, &piece, &place, e);
}

/* What the store had when the chunk was prepared it has still; other pieces may have
 * come with the chunks before. */
static int
use_fragment(struct put *p, const struct prepared *x, struct prepared_piece *piece,
    struct err *e)
{
	struct index_fragment *f = &piece->f, there;
	const uint8_t *from = x->kind == PREPARED_MADE ? x->spare.base : x->bytes;

	p->stats.fragments++;
	if (f->number == 0 || f->pack == 0) {
		int rc = store_find_fragment(p->s, f->head.sha256, &there, e);
		if (rc == 1 && there.pack != 0)
			*f = there;
		else if (rc < 0 || keep_fragment(p, f, from + piece->data_at, e) != 0)
			return -1;
	}
	if (p->s->remote != NULL)
		return use_digest(p, f, piece->data_at, e);
	struct place place = { .at = f->at, .bytes = f->bytes };
	if (packs_slot(p->s->packs, f->pack, &place.slot, e) != 0)
		return -1;
	return add_piece(p, &(struct recipe_piece){ .number = f->number }, &place, e);
}

static int
use_zeros(struct put *p, const struct prepared_piece *piece, struct err *e)
{
	struct place place = { .at = piece->zero.raw_bytes,
		.slot = (uint32_t)PLACE_ZEROS,
		.bytes = piece->f.bytes };

	return add_piece(p, &piece->zero, &place, e);
}

int
put_use_pieces(struct put *p, struct prepared *x, struct err *e)
{
	p->c.npieces = 0;
	for (size_t i = 0; i < x->npieces; i++) {
		struct prepared_piece *piece = &x->pieces[i];
		if ((piece->zero.zero ? use_zeros(p, piece, e)
				      : use_fragment(p, x, piece, e)) != 0)
			return -1;
	}
	/* Other threads read what the index has. */
	return pack_flush(&p->s->w, e);
}
