/* prepare.c: looks at the chunks that are put: checks them, and finds which of their
 * pieces the store has already.  Called by the worker threads of put.c, each with a struct
 * preparer of its own. */
#include "emustore/store/prepare.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/sha256.h"
#include "common/base/zero.h"
#include "common/image/read/fragments.h"
#include "emustore/store/writer.h"

struct preparer {
	struct prepare_shared *shared;
	struct decoder *decoder;
	struct redeflater *redeflater;
	struct decoder *checker; /* `decoder` inflates a stream while this one checks */
	void *encoder;
	struct redeflate_how last; /* the parameters that made the last stream */
	struct sha256_message *messages; /* the fragments of a chunk */
	uint8_t raw[FRAGMENT_BYTES_MAX], other[FRAGMENT_BYTES_MAX];
};

/* The codec that compresses raw data here: the default of imagezip, so that the fragments
 * are shared with images of imagezip, at the level of the image's newest version. */
static const struct codec *const own = &codec_deflate;

struct preparer *
preparer_new(struct prepare_shared *shared)
{
	struct preparer *w = calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	w->shared = shared;
	w->decoder = decoder_new();
	w->redeflater = redeflater_new();
	w->checker = decoder_new();
	w->encoder = own->encoder_new(shared->level);
	if (w->decoder != NULL && w->redeflater != NULL && w->checker != NULL &&
	    w->encoder != NULL)
		return w;
	preparer_free(w);
	return NULL;
}

void
preparer_free(struct preparer *w)
{
	if (w == NULL)
		return;
	decoder_free(w->decoder);
	redeflater_free(w->redeflater);
	decoder_free(w->checker);
	if (w->encoder != NULL)
		own->encoder_free(w->encoder);
	free(w->messages);
	free(w);
}

void
prepared_free(struct prepared *p)
{
	free(p->bytes);
	free(p->pieces);
	buf_free(&p->spare);
}

static struct prepared_piece *
add_piece(struct prepared *p, struct err *e)
{
	if (grow_array(&p->pieces, &p->cap, p->npieces, sizeof *p->pieces, "a recipe", e) != 0)
		return NULL;
	struct prepared_piece *x = &p->pieces[p->npieces++];
	memset(x, 0, sizeof *x);
	return x;
}

static int
err_digest(const struct fragments *f, struct err *e)
{
	return err_set(e, ERR_FORMAT, "the digest of fragment %zu is wrong", f->number);
}

/* Are there other fragments with this data?  The same one may be in a pack that does not
 * count. */
static int
has_raw(struct store *s, void *arg, struct err *e)
{
	const struct fragment_head *head = arg;
	struct index_fragment same;
	int rc = index_has_raw(s->index, head, e);

	if (rc == 1 && (rc = index_find_fragment(s->index, head->sha256, &same, e)) >= 0)
		rc = !rc;
	return rc;
}

/* Look up a fragment by the SHA-256 in x->f: if the store has it, x->f is filled in. */
static int
look_up_one(struct preparer *w, struct prepared_piece *x, struct err *e)
{
	struct store *s = w->shared->s;
	int rc = writer_find(s->putting, x->f.head.sha256, &x->f, e);

	x->known = rc == 1;
	if (rc == 0 && !w->shared->exact && x->f.head.raw_bytes > 0) {
		rc = store_try(s, has_raw, &x->f.head, e);
		x->same_data = rc == 1;
	}
	return rc < 0 ? -1 : 0;
}

/* Look up the n fragments x, but those that are runs of zeros.  They are one transaction of
 * the index: each by itself would lock its file, and look for its journal. */
static int
look_up(struct preparer *w, struct prepared_piece *x, size_t n, struct err *e)
{
	struct store *s = w->shared->s;

	pthread_mutex_lock(&w->shared->lock);
	int rc = index_begin(s->index, false, e);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (!x[i].zero.zero)
			rc = look_up_one(w, &x[i], e);
	index_rollback(s->index); /* of another index, if that was healed: there is none */
	pthread_mutex_unlock(&w->shared->lock);
	return rc;
}

/* Look up a fragment of x->f.bytes bytes at data. */
static int
look_up_data(struct preparer *w, const void *data, struct prepared_piece *x, struct err *e)
{
	sha256(data, x->f.bytes, x->f.head.sha256);
	return look_up(w, x, 1, e);
}

/* Compute the digests of the chunk's fragments whose data are not all zero, in their order. */
static int
hash_fragments(struct preparer *w, const struct prepared *p, struct err *e)
{
	struct fragments f = fragments_of(&p->c);
	size_t n = 0;
	void *v = realloc(w->messages, p->c.ext.nfragments * sizeof *w->messages);

	if (v == NULL)
		return err_nomem(e, "a chunk's fragments");
	w->messages = v;
	while (fragments_next(&f))
		if (!f.entry->zero)
			w->messages[n++] = (struct sha256_message){
				.data = p->bytes + NDZ_HEADER_BYTES + f.stream_at,
				.bytes = f.entry->bytes
			};
	sha256_many(w->messages, n);
	return 0;
}

/* Prepare a fragment whose data are not all zero, and which was looked up.  The store has the
 * same bytes or none, and the same bytes have the same data; the fragment table must say the
 * same of them. */
static int
prepare_fragment(struct preparer *w, const struct prepared *p, const struct fragments *f,
    struct prepared_piece *x, struct err *e)
{
	const struct ext_fragment *entry = f->entry;

	if (x->f.head.raw_bytes != f->raw_bytes || x->f.bytes != entry->bytes ||
	    memcmp(x->f.head.raw_digest, entry->digest, RAW_DIGEST_BYTES) != 0)
		return err_digest(f, e);
	if (!x->known) {
		if (fragments_decode(f, p->bytes, w->decoder, w->raw, e) != 0)
			return -1;
		x->f.head.adler = adler_of(w->raw, f->raw_bytes);
	}
	x->adler = x->f.head.adler;
	return 0;
}

static int
prepare_zeros(const struct prepared *p, const struct fragments *f,
    struct prepared_piece *x, struct err *e)
{
	const uint8_t *data = p->bytes + NDZ_HEADER_BYTES + f->stream_at;

	if (!p->c.codec->is_zeros(data, f->entry->bytes, f->raw_bytes))
		return err_set(e, ERR_FORMAT, "fragment %zu is not zero", f->number);
	x->zero = (struct recipe_piece){
		.zero = true, .windows = f->entry->windows, .raw_bytes = f->raw_bytes
	};
	x->adler = adler_zeros(f->raw_bytes);
	return 0;
}

/* Make the pieces of a chunk, as its fragment table tells them, and look them up. */
static int
make_pieces(struct preparer *w, struct prepared *p, struct err *e)
{
	struct fragments f = fragments_of(&p->c);
	size_t n = 0;

	if (hash_fragments(w, p, e) != 0)
		return -1;
	while (fragments_next(&f)) {
		struct prepared_piece *x = add_piece(p, e);
		if (x == NULL)
			return -1;
		x->zero.zero = f.entry->zero;
		x->data_at = NDZ_HEADER_BYTES + f.stream_at;
		x->f.bytes = f.entry->bytes;
		x->f.head.raw_bytes = (uint32_t)f.raw_bytes;
		memcpy(x->f.head.raw_digest, f.entry->digest, RAW_DIGEST_BYTES);
		if (!f.entry->zero)
			memcpy(x->f.head.sha256, w->messages[n++].digest, SHA256_BYTES);
	}
	return look_up(w, p->pieces, p->npieces, e);
}

static int
prepare_fragments(struct preparer *w, struct prepared *p, struct err *e)
{
	const struct chunk *c = &p->c;
	uint8_t tail[CODEC_ENDS_BYTES];
	struct fragments f = fragments_of(c);

	p->kind = PREPARED_FRAGMENTS;
	p->adler = adler_of(NULL, 0);
	if (make_pieces(w, p, e) != 0)
		return -1;
	for (struct prepared_piece *x = p->pieces; fragments_next(&f); x++) {
		if ((f.entry->zero ? prepare_zeros(p, &f, x, e)
				   : prepare_fragment(w, p, &f, x, e)) != 0)
			return -1;
		p->adler = adler_combine(p->adler, x->adler, f.raw_bytes);
	}
	c->codec->tail(p->adler, tail);
	if (memcmp(p->bytes + NDZ_HEADER_BYTES + c->h.size - c->codec->tail_bytes, tail,
		c->codec->tail_bytes) != 0)
		return err_set(e, ERR_FORMAT, "the Adler-32 of the stream is wrong");
	return chunk_check_digest(c, p->bytes, e);
}

/* Make one piece of the first `bytes` bytes behind the chunk's header, as they are. */
static int
prepare_whole(struct preparer *w, struct prepared *p, uint32_t bytes, struct err *e)
{
	struct prepared_piece *x = add_piece(p, e);

	if (x == NULL)
		return -1;
	p->stream_bytes = bytes;
	x->data_at = NDZ_HEADER_BYTES;
	x->f.bytes = bytes;
	return look_up_data(w, p->bytes + x->data_at, x, e);
}

/* Check a fragment that was compressed here: its bytes must decompress to the data again,
 * and what the store says of these bytes, if it has them, must be true. */
static int
check_window(struct preparer *w, const struct pack_fragment *f, const uint8_t *bytes,
    size_t n, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	sha256(w->raw, n, digest);
	if (decoder_fragment(w->checker, own, bytes, f->bytes, w->other, n, e) != 0)
		return -1;
	if (memcmp(w->other, w->raw, n) == 0 && f->head.raw_bytes == n &&
	    memcmp(f->head.raw_digest, digest, RAW_DIGEST_BYTES) == 0)
		return 0;
	return err_set(e, ERR_FORMAT, "a fragment does not decompress to its data");
}

/* Compress the n bytes of a window in w->raw to a fragment in p->spare, and look it up. */
static int
compress_window(struct preparer *w, struct prepared *p, struct prepared_piece *x,
    size_t n, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	sha256(w->raw, n, digest);
	memcpy(x->f.head.raw_digest, digest, RAW_DIGEST_BYTES);
	x->f.head.raw_bytes = (uint32_t)n;
	x->f.head.adler = adler_of(w->raw, n);
	x->data_at = p->spare.len;
	uint8_t *out = buf_room(&p->spare, own->bound(n));
	if (out == NULL)
		return err_nomem(e, "a fragment");
	x->f.bytes = (uint32_t)own->window(
	    w->encoder, n, w->raw, n, out, own->bound(n));
	own->end(out, x->f.bytes);
	p->spare.len = x->data_at + x->f.bytes;
	out = p->spare.base + x->data_at;
	return look_up_data(w, out, x, e) != 0 ? -1 : check_window(w, &x->f, out, n, e);
}

/* Make a piece of the n bytes of a window in w->raw.  Windows of zeros in a row become one
 * run. */
static int
prepare_window(struct preparer *w, struct prepared *p, size_t n, struct err *e)
{
	struct prepared_piece *last = p->npieces > 0 ? &p->pieces[p->npieces - 1]
	                                             : NULL;
	bool zero = is_zero(w->raw, n);

	if (zero && last != NULL && last->zero.zero) {
		last->zero.windows++;
		last->zero.raw_bytes += n;
		return 0;
	}
	struct prepared_piece *x = add_piece(p, e);
	if (x == NULL)
		return -1;
	if (zero) {
		x->zero = (struct recipe_piece){
			.zero = true, .windows = 1, .raw_bytes = n
		};
		return 0;
	}
	return compress_window(w, p, x, n, e);
}

/* The data of a stream that is being inflated. */
struct inflating {
	struct inflater *in;
	void *data; /* inflated bytes that were not taken yet */
	size_t left;
};

/* Copy the next n bytes of the data to `to`. */
static int
take_data(struct inflating *i, uint8_t *to, size_t n, struct err *e)
{
	while (n > 0) {
		if (i->left == 0) {
			int rc = inflater_more(i->in, &i->data, &i->left, e);
			if (rc <= 0)
				return rc < 0 ? -1
				              : err_set(e, ERR_FORMAT,
						    "its data ends early");
		}
		size_t now = n < i->left ? n : i->left;
		memcpy(to, i->data, now);
		to += now, n -= now, i->left -= now;
		i->data = (uint8_t *)i->data + now;
	}
	return 0;
}

/* End the window of *have bytes in w->raw, if it has any. */
static int
end_window(struct preparer *w, struct prepared *p, size_t *have, struct err *e)
{
	size_t n = *have;

	if (n == 0)
		return 0;
	*have = 0;
	p->adler = adler_update(p->adler, w->raw, n);
	return prepare_window(w, p, n, e);
}

/* Cut the data of one region into windows; *have bytes of the open window are in w->raw. */
static int
cut_region(struct preparer *w, struct prepared *p, struct inflating *in,
    struct cut *cut, struct range r, size_t *have, struct err *e)
{
	while (r.len > 0) {
		struct range piece = cut_piece(cut, r);
		size_t n = piece.len * SECTOR_BYTES;
		if (cut_before(cut) != CUT_NONE && end_window(w, p, have, e) != 0)
			return -1;
		if (take_data(in, w->raw + *have, n, e) != 0)
			return -1;
		cut_add(cut, piece, w->raw + *have);
		*have += n;
		r.off += piece.len;
		r.len -= piece.len;
	}
	return 0;
}

/* Cut the data of a stream that can be redeflated into windows that follow the content,
 * like those of this suite's own images. */
static int
cut_windows(struct preparer *w, struct prepared *p, struct err *e)
{
	struct inflating in = { .in = decoder_inflater(w->decoder) };
	struct cut cut = { .zones = &w->shared->zones, .files = true };
	size_t have = 0;

	p->adler = adler_of(NULL, 0);
	if (inflater_begin(in.in, p->bytes + NDZ_HEADER_BYTES, p->c.h.size,
		p->c.raw_bytes, e) != 0)
		return -1;
	for (unsigned i = 0; i < p->c.h.nregions; i++)
		if (cut_region(w, p, &in, &cut, p->c.h.regions[i], &have, e) != 0)
			return -1;
	return end_window(w, p, &have, e);
}

/* May the stream be redeflated?  Only where nothing but zeros is behind it: an equivalent
 * chunk could not have what is there. */
static bool
may_be_redeflated(const struct preparer *w, const struct prepared *p)
{
	size_t end = NDZ_HEADER_BYTES + (size_t)p->c.h.size;

	return !w->shared->exact && p->c.codec->id == CODEC_DEFLATE &&
	       (end == NDZ_CHUNK_BYTES ||
		   is_zero(p->bytes + end, NDZ_CHUNK_BYTES - end));
}

/* Prepare a chunk without a fragment table. */
static int
prepare_stream(struct preparer *w, struct prepared *p, struct err *e)
{
	struct inflater *in = decoder_inflater(w->decoder);
	const uint8_t *stream = p->bytes + NDZ_HEADER_BYTES;

	if (may_be_redeflated(w, p)) {
		p->how = w->last;
		int rc = redeflate_find(w->redeflater, in, &p->c.h, stream, &p->how, e);
		if (rc < 0)
			return -1;
		if (rc == 1) {
			p->kind = PREPARED_REDEFLATED;
			w->last = p->how;
			return cut_windows(w, p, e);
		}
	}
	p->kind = PREPARED_WHOLE;
	if (chunk_verify(&p->c, p->bytes, w->decoder, e) != 0)
		return -1;
	return prepare_whole(w, p, p->c.h.size, e);
}

/* Prepare an encrypted chunk.  Its content cannot be read without the key, so it is
 * checked only by the programs that have the key. */
static int
prepare_encrypted(struct preparer *w, struct prepared *p, struct err *e)
{
	p->kind = PREPARED_ENCRYPTED;
	p->c.raw_bytes = ndz_header_raw_bytes(&p->c.h);
	p->c.codec = NULL;
	return prepare_whole(w, p, NDZ_STREAM_MAX, e);
}

void
prepare_chunk(struct preparer *w, struct prepared *p)
{
	struct err *e = &p->err;

	p->npieces = p->spare.len = 0;
	memset(&p->c.ext, 0, sizeof p->c.ext);
	p->rc = ndz_header_get(&p->c.h, p->bytes, NDZ_CHUNK_BYTES, e);
	if (p->rc != 0)
		return;
	if (p->c.h.encrypted) {
		p->rc = prepare_encrypted(w, p, e);
		return;
	}
	p->rc = chunk_parse(&p->c, p->bytes, e);
	if (p->rc != 0)
		return;
	p->stream_bytes = p->c.h.size;
	p->rc = p->c.ext.nfragments > 0 ? prepare_fragments(w, p, e)
	                                : prepare_stream(w, p, e);
	if (p->rc != 0)
		chunk_free(&p->c);
}
