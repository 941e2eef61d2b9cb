/* put_pieces.c: takes the pieces of a chunk: adds those that the store lacks to its packs,
 * and notes where each one is.  put.c calls this in its writer thread. */
#include "common/base/grow.h"
#include "common/base/sha256.h"
#include "emustore/store/put_impl.h"
#include "emustore/store/writer.h"

static int
add_piece(struct put *p, const struct recipe_piece *piece, const struct place *place,
    struct err *e)
{
	size_t i = p->c.npieces;

	if (grow_array(&p->places, &p->places_cap, i, sizeof *p->places, "a recipe", e) != 0)
		return -1;
	p->places[i] = *place;
	return recipe_add_piece(&p->c, piece, e);
}

static int
keep_fragment(
    struct put *p, const struct prepared_piece *piece, const void *data, struct err *e)
{
	if (writer_add(p->s->putting, &piece->f, data, e) != 0)
		return -1;
	p->stats.same_data_fragments += piece->same_data;
	p->stats.new_fragments++;
	p->stats.new_bytes += piece->f.bytes;
	return 0;
}

/* Add a fragment to the recipe, by its digest and the number of this digest.  A fragment
 * that the store has already is not read to be compared: the SHA-256 of the data at hand,
 * which are at byte `at`, is that of the fragment in the store. */
static int
use_digest(struct put *p, const struct pack_fragment *f, size_t at, struct err *e)
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

/* Use a fragment.  A fragment that the store had when the chunk was prepared is still
 * there; another one may have come with an earlier chunk of this image in the meantime. */
static int
use_fragment(struct put *p, const struct prepared *x, struct prepared_piece *piece,
    struct err *e)
{
	const uint8_t *from = x->kind == PREPARED_REDEFLATED ? x->spare.base : x->bytes;
	int rc = 1;

	p->stats.fragments++;
	if (!piece->known)
		rc = writer_added(p->s->putting, piece->f.head.sha256, e);
	if (rc == 0)
		rc = keep_fragment(p, piece, from + piece->data_at, e);
	return rc < 0 ? -1 : use_digest(p, &piece->f, piece->data_at, e);
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
	return 0;
}
