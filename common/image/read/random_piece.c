/* random_piece.c: makes pieces of the data of an image that is read anywhere.  random.c calls
 * this, in any thread.
 *
 * A fragment is decoded by itself.  A stream without a table is decoded as a whole, since only
 * its end says whether it is right, and as much of it is kept as has room. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"
#include "common/image/read/partial.h"
#include "common/image/read/places.h"
#include "common/image/read/random_impl.h"

/* No chunk has more fragments, or decodes to more pieces. */
enum { PIECES_MAX = 1 << 16 };

static struct random_piece *
new_piece(uint64_t at, uint64_t bytes, bool zero, struct err *e)
{
	struct random_piece *p = malloc(sizeof *p + (zero ? 0 : bytes));

	if (p == NULL)
		err_nomem(e, "a piece of an image");
	else
		*p = (struct random_piece){ .at = at, .bytes = bytes, .zero = zero };
	return p;
}

static struct stocked
to_stock(struct random_piece *p)
{
	return (struct stocked){ p, sizeof *p + (p->zero ? 0 : p->bytes), free };
}

static int
name_chunk(const struct random_chunk *k, struct err *e)
{
	return err_ctx(e, "%s: chunk %u", sectors_name(k->image), k->number);
}

/* The key of a piece in the stock.  A chunk that is opened again may say something else, so
 * it has other keys than before. */
static uint64_t
piece_key(const struct random_chunk *k, uint64_t number)
{
	assert(number < PIECES_MAX);
	return k->opening * PIECES_MAX + number;
}

/* Fragments. */

struct making {
	struct random *r;
	const struct random_chunk *k;
	const struct fragments *f;
};

/* Get the bytes of the fragment, in their places of the chunk; NULL: they cannot be read. */
static const uint8_t *
fragment_bytes(const struct making *m, struct random_work *w, struct err *e)
{
	if (m->k->bytes != NULL)
		return m->k->bytes;
	struct blockmap need = partial_fragment(m->f);
	int rc = image_blocks(m->k->image->img, m->k->number, &need, w->bytes, e);
	return rc == 0 ? w->bytes : NULL;
}

static int
decode_fragment(
    const struct making *m, struct random_work *w, struct random_piece *p, struct err *e)
{
	const uint8_t *bytes = fragment_bytes(m, w, e);

	if (bytes == NULL)
		return -1;
	if (fragments_decode(m->f, bytes, w->dec, p->data, e) != 0)
		return name_chunk(m->k, e);
	if (!p->zero)
		m->r->decoded += p->bytes;
	return 0;
}

static int
make_fragment(void *arg, struct stocked *of, struct err *e)
{
	const struct making *m = arg;
	const struct fragments *f = m->f;
	struct random_piece *p = new_piece(f->raw_at, f->raw_bytes, f->entry->zero, e);

	if (p == NULL)
		return -1;
	struct random_work *w = random_work_get(m->r, e);
	int rc = w != NULL ? decode_fragment(m, w, p, e) : -1;
	if (w != NULL)
		random_work_put(m->r, w);
	if (rc == 0)
		*of = to_stock(p);
	else
		free(p);
	return rc;
}

static struct stock_item *
get_fragment(struct random *r, const struct random_chunk *k, uint64_t at, struct err *e)
{
	struct making m = { r, k,
		places_fragment(k->fragments, k->c.ext.nfragments, at) };
	bool made;

	if (m.f == NULL) {
		err_set(e, ERR_FORMAT, "its data ends too early");
		name_chunk(k, e);
		return NULL;
	}
	struct stock_item *i =
	    stock_get(r->stock, piece_key(k, m.f->number), make_fragment, &m, &made, e);
	if (made)
		r->misses++;
	else
		r->hits++;
	return i;
}

/* Streams without a table. */

struct decoding {
	uint64_t room;    /* bytes that may still be kept; zeros need none */
	uint64_t wanted;  /* the piece that has this byte is kept in any case */
	/* there is no room for all pieces, so those before the wanted one are not kept */
	bool from_wanted;
	uint64_t at;      /* how many bytes were decoded so far */
	struct random_piece *kept;
};

static int
keep(struct decoding *d, const void *data, size_t n, bool zero, struct err *e)
{
	struct random_piece *p = new_piece(d->at, n, zero, e);

	if (p == NULL)
		return -1;
	if (!zero)
		memcpy(p->data, data, n);
	p->next = d->kept;
	d->kept = p;
	return 0;
}

/* Take the next piece of the stream, and keep it if it is wanted or there is room. */
static int
take_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct decoding *d = arg;
	bool zero = is_zero(data, n), wanted = d->wanted - d->at < n;
	bool skipped = d->from_wanted && d->at + n <= d->wanted;
	uint64_t bytes = zero ? 0 : n;
	int rc = 0;

	if (wanted || zero || (bytes <= d->room && !skipped)) {
		rc = keep(d, data, n, zero, e);
		d->room -= bytes < d->room ? bytes : d->room;
	}
	d->at += n;
	return rc;
}

static int
decode_stream(struct random *r, struct random_chunk *k, struct decoding *d, struct err *e)
{
	struct random_work *w = random_work_get(r, e);

	if (w == NULL)
		return -1;
	int rc = chunk_pieces(&k->c, k->bytes, w->dec, take_piece, d, e);
	random_work_put(r, w);
	r->decoded += d->at;
	return rc == 0 ? 0 : name_chunk(k, e);
}

static uint64_t
stream_key(const struct random_chunk *k, uint64_t at)
{
	return piece_key(k, at / INFLATER_PIECE_BYTES);
}

/* Give all pieces that were kept to the stock, or free them.  Returns the wanted piece, in
 * use, or NULL. */
static struct stock_item *
stock_kept(
    struct random *r, const struct random_chunk *k, struct decoding *d, bool right)
{
	struct stock_item *wanted = NULL, *i;
	struct random_piece *p;

	while ((p = d->kept) != NULL) {
		d->kept = p->next;
		bool is_wanted = d->wanted >= p->at && d->wanted - p->at < p->bytes;
		i = right ? stock_add(r->stock, stream_key(k, p->at), to_stock(p)) : NULL;
		if (!right)
			free(p);
		else if (is_wanted)
			wanted = i;
		else if (i != NULL)
			stock_put_back(r->stock, i);
	}
	return wanted;
}

static struct stock_item *
make_pieces(struct random *r, struct random_chunk *k, uint64_t at, struct err *e)
{
	struct decoding d = { .room = r->stream_bytes,
		.wanted = at,
		.from_wanted = k->c.raw_bytes > r->stream_bytes };
	bool right = decode_stream(r, k, &d, e) == 0;
	struct stock_item *i = stock_kept(r, k, &d, right);

	if (right && i == NULL)
		err_nomem(e, "a piece of an image");
	return i;
}

/* Get a piece of a stream.  While one thread decodes the stream, others that want pieces of
 * it wait, and may then find their pieces in the stock. */
static struct stock_item *
get_stream(struct random *r, struct random_chunk *k, uint64_t at, struct err *e)
{
	struct stock_item *i = stock_find(r->stock, stream_key(k, at));
	bool made = false;

	if (i == NULL) {
		pthread_mutex_lock(&k->decoding);
		i = stock_find(r->stock, stream_key(k, at));
		made = i == NULL;
		if (made)
			i = make_pieces(r, k, at, e);
		pthread_mutex_unlock(&k->decoding);
	}
	if (made)
		r->misses++;
	else
		r->hits++;
	return i;
}

struct stock_item *
random_piece_get(struct random *r, struct random_chunk *k, uint64_t at, struct err *e)
{
	struct stock_item *i = k->fragments != NULL ? get_fragment(r, k, at, e)
	                                            : get_stream(r, k, at, e);

	if (i != NULL) {
		const struct random_piece *p = stock_thing(i);
		assert(at >= p->at && at - p->at < p->bytes);
	}
	return i;
}
