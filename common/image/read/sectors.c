/* sectors.c: the data of an image is read by sector, with one chunk open.  Whoever opened the
 * image calls this, in one thread at a time. */
#include "common/image/read/sectors.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/zero.h"
#include "common/image/read/places.h"
#include "common/image/read/sectors_impl.h"

void
sectors_leave_chunk(struct sectors *s)
{
	if (s->open.number != NO_CHUNK)
		chunk_free(&s->open.c);
	s->open.number = NO_CHUNK;
	free(s->open.fragments);
	s->open.fragments = NULL;
}

const char *
sectors_name(const struct sectors *s)
{
	return image_name(s->img);
}

uint32_t
sectors_chunks(const struct sectors *s)
{
	return image_chunks(s->img);
}

const struct rangeset *
sectors_stored(const struct sectors *s)
{
	return &s->stored;
}

int
sectors_drop_tail(struct sectors *s, struct err *e)
{
	const struct tail *t = &s->ext.tail;
	struct rangeset tail;
	int rc = 0;

	rangeset_init(&tail);
	for (size_t i = 0; rc == 0 && i < t->n; i++)
		rc = rangeset_add(&tail, t->pieces[i].sectors, e);
	rangeset_seal(&tail);
	if (rc == 0)
		rc = rangeset_minus(&s->stored, &tail, e);
	rangeset_free(&tail);
	return rc;
}

const struct rangeset *
sectors_freed(const struct sectors *s)
{
	return &s->freed;
}

struct basis *
sectors_basis(struct sectors *s)
{
	return s->has_basis ? &s->basis : NULL;
}

uint64_t
sectors_total(const struct sectors *s)
{
	return s->total;
}

const struct ndz_reloc *
sectors_relocs(const struct sectors *s, size_t *n)
{
	*n = s->nrelocs;
	return s->relocs;
}

const struct ndz_header *
sectors_header(const struct sectors *s)
{
	return &s->header;
}

const struct ext *
sectors_ext(const struct sectors *s)
{
	return &s->ext;
}

const struct lost *
sectors_lost(const struct sectors *s)
{
	return &s->lost;
}

/* Go back to the start of the data of a chunk without a table. */
static int
rewind_chunk(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;

	o->piece_at = o->piece_bytes = 0;
	o->pulling = true;
	return inflater_begin(decoder_inflater(s->dec), o->bytes + NDZ_HEADER_BYTES,
	    o->c.h.size, o->c.raw_bytes, e);
}

static int
err_ends(struct err *e)
{
	return err_set(e, ERR_FORMAT, "its data ends too early");
}

static int
next_piece(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;
	void *data = NULL;
	size_t n = 0;

	int rc = inflater_more(decoder_inflater(s->dec), &data, &n, e);
	o->piece_at += o->piece_bytes;
	o->piece = data;
	o->piece_bytes = n;
	o->pulling = rc == 1;
	if (rc == 1 && n > 0)
		return 0;
	return rc < 0 ? -1 : err_ends(e);
}

int
sectors_done(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;
	void *data;
	size_t n;
	int rc = 1;

	if (o->number == NO_CHUNK)
		return 0;
	while (o->pulling &&
	       (rc = inflater_more(decoder_inflater(s->dec), &data, &n, e)) == 1)
		;
	if (rc < 0)
		return err_ctx(e, "%s: chunk %u", sectors_name(s), o->number);
	sectors_leave_chunk(s);
	return 0;
}

/* Begin with a chunk that was just read, of which no piece is decoded yet. */
static int
start_chunk(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;

	o->piece_at = o->piece_bytes = 0;
	o->piece = NULL;
	o->pulling = false;
	return o->c.ext.fragments != NULL ? places_fragments(&o->fragments, &o->c, e)
	                                  : rewind_chunk(s, e);
}

static int
enter_chunk(struct sectors *s, uint32_t i, struct err *e)
{
	struct open_chunk *o = &s->open;

	if (o->number == i)
		return 0;
	if (sectors_done(s, e) != 0 || sectors_whole_chunk(s, i, o->bytes, &o->c, e) != 0)
		return -1;
	o->number = i;
	if (start_chunk(s, e) != 0) {
		sectors_leave_chunk(s);
		return err_ctx(e, "%s: chunk %u", sectors_name(s), i);
	}
	return 0;
}

static int
go_to_fragment(struct open_chunk *o, uint64_t at, struct err *e)
{
	if (at - o->piece_at < o->piece_bytes)
		return 0;
	o->piece = NULL;
	o->piece_bytes = 0;
	o->f = places_fragment(o->fragments, o->c.ext.nfragments, at);
	if (o->f == NULL)
		return err_ends(e);
	o->piece_at = o->f->raw_at;
	o->piece_bytes = o->f->raw_bytes;
	return 0;
}

/* Make the piece that has this byte of the open chunk's data the current one. */
static int
go_to(struct sectors *s, uint64_t at, struct err *e)
{
	struct open_chunk *o = &s->open;

	if (o->fragments != NULL)
		return go_to_fragment(o, at, e);
	if (at < o->piece_at && rewind_chunk(s, e) != 0)
		return -1;
	while (at - o->piece_at >= o->piece_bytes)
		if (next_piece(s, e) != 0)
			return -1;
	return 0;
}

/* Copy bytes [at, at + n) of the open chunk's data, which has them. */
static int
copy_data(struct sectors *s, uint64_t at, size_t n, uint8_t *out, struct err *e)
{
	struct open_chunk *o = &s->open;

	while (n > 0) {
		if (go_to(s, at, e) != 0)
			return -1;
		bool zero = o->fragments != NULL && o->f->entry->zero;
		if (o->piece == NULL) {
			if (fragments_decode(o->f, o->bytes, s->dec, s->fragment, e) !=
			    0)
				return -1;
			o->piece = s->fragment;
		}
		uint64_t from = at - o->piece_at, left = o->piece_bytes - from;
		size_t now = n < left ? n : (size_t)left;
		if (zero)
			memset(out, 0, now);
		else
			memcpy(out, o->piece + from, now);
		at += now;
		out += now;
		n -= now;
	}
	return 0;
}

/* Open the chunk that stores r.off, and find how much of r it has from there in a row, and
 * where in its data that is. */
static int
find_data(
    struct sectors *s, struct range r, uint64_t *sectors, uint64_t *at, struct err *e)
{
	uint64_t end;
	uint32_t i = sectors_chunk_of(s, r.off, &end);

	if (enter_chunk(s, i, e) != 0)
		return -1;
	return sectors_place(s, i, &s->open.c, r, sectors, at, e);
}

int
sectors_identify(struct sectors *s, uint64_t sector, size_t bytes,
    struct sectors_id *id, struct err *e)
{
	struct open_chunk *o = &s->open;
	uint64_t n, at;

	if (find_data(s, (struct range){ sector, 1 }, &n, &at, e) != 0)
		return -1;
	if (o->c.ext.fragments == NULL)
		return 0;
	if (go_to(s, at, e) != 0)
		return err_ctx(e, "%s: chunk %u", sectors_name(s), o->number);
	const struct ext_fragment *f = o->f->entry;
	uint64_t has = o->piece_at + o->piece_bytes - at;
	*id = (struct sectors_id){
		.covers = has < bytes ? has : bytes, .zero = f->zero
	};
	if (f->zero)
		return 1;
	id->at = at - o->piece_at;
	id->bytes = o->piece_bytes;
	memcpy(id->digest, f->digest, sizeof id->digest);
	return 1;
}

bool
sectors_id_same(const struct sectors_id *a, const struct sectors_id *b)
{
	return a->covers == b->covers && a->zero == b->zero && a->at == b->at && a->bytes == b->bytes &&
	       memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

int
sectors_read(struct sectors *s, struct range r, void *buf, struct err *e)
{
	uint8_t *out = buf;
	uint64_t n, at;

	while (r.len > 0) {
		if (find_data(s, r, &n, &at, e) != 0)
			return -1;
		if (copy_data(s, at, n * SECTOR_BYTES, out, e) != 0)
			return err_ctx(
			    e, "%s: chunk %u", sectors_name(s), s->open.number);
		out += n * SECTOR_BYTES;
		r.off += n;
		r.len -= n;
	}
	return 0;
}

static int
file_digest(struct sectors *s, uint8_t digest[EXT_DIGEST_BYTES], struct err *e)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	int rc = 0;

	if (md == NULL || buf == NULL || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)
		rc = err_nomem(e, "a digest");
	for (uint32_t i = 0; i < image_chunks(s->img) && rc == 0; i++) {
		rc = cancel_check(e) == 0 ? image_read(s->img, i, buf, e) : -1;
		if (rc == 0 && EVP_DigestUpdate(md, buf, NDZ_CHUNK_BYTES) != 1)
			rc = err_nomem(e, "a digest");
	}
	if (rc == 0 && EVP_DigestFinal_ex(md, digest, NULL) != 1)
		rc = err_nomem(e, "a digest");
	EVP_MD_CTX_free(md);
	free(buf);
	return rc;
}

int
sectors_state(struct sectors *s, struct ext_state *state, struct err *e)
{
	const struct ext *x = &s->ext;
	const uint8_t *uuid = x->has_uuid ? x->uuid : s->header.uuid;

	memset(state, 0, sizeof *state);
	if (x->has_state && x->state.kind != EXT_STATE_NONE) {
		*state = x->state;
		return 0;
	}
	if (!is_zero(uuid, NDZ_UUID_BYTES)) {
		state->kind = EXT_STATE_UUID;
		memcpy(state->id, uuid, NDZ_UUID_BYTES);
		return 0;
	}
	state->kind = EXT_STATE_FILE;
	return file_digest(s, state->id, e);
}
