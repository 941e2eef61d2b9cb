#include "common/image/read/sectors.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/sectors_impl.h"

void
sectors_leave_chunk(struct sectors *s)
{
	if (s->open.number != NO_CHUNK)
		chunk_free(&s->open.c);
	s->open.number = NO_CHUNK;
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

struct rangeset *
sectors_stored(struct sectors *s)
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
	if (rc == 0)
		rc = rangeset_minus(&s->stored, &tail, e);
	rangeset_free(&tail);
	return rc;
}

struct rangeset *
sectors_freed(struct sectors *s)
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

/* Go back to the start of the open chunk's data. */
static int
rewind_chunk(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;

	o->piece_at = o->piece_bytes = 0;
	o->piece = NULL;
	o->f = fragments_of(&o->c);
	o->pulling = o->c.ext.fragments == NULL;
	if (!o->pulling)
		return 0;
	return inflater_begin(decoder_inflater(s->dec), o->bytes + NDZ_HEADER_BYTES,
	    o->c.h.size, o->c.raw_bytes, e);
}

static int
next_piece(struct sectors *s, struct err *e)
{
	struct open_chunk *o = &s->open;
	void *data = NULL;
	size_t n = 0;
	int rc;

	o->piece_at += o->piece_bytes;
	if (o->c.ext.fragments != NULL) {
		o->piece = NULL;
		rc = fragments_next(&o->f);
		n = (size_t)o->f.raw_bytes;
	} else {
		rc = inflater_more(decoder_inflater(s->dec), &data, &n, e);
		o->piece = data;
		o->pulling = rc == 1;
	}
	o->piece_bytes = n;
	if (rc == 1 && n > 0)
		return 0;
	return rc < 0 ? -1 : err_set(e, ERR_FORMAT, "its data ends too early");
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

static int
enter_chunk(struct sectors *s, uint32_t i, struct err *e)
{
	struct open_chunk *o = &s->open;

	if (o->number == i)
		return 0;
	if (sectors_done(s, e) != 0 || image_read(s->img, i, o->bytes, e) != 0)
		return -1;
	if (chunk_parse(&o->c, o->bytes, e) != 0)
		return err_ctx(e, "%s: chunk %u", sectors_name(s), i);
	o->number = i;
	o->region = 0;
	o->region_raw = 0;
	if (image_identity_check(&s->id, &o->c.h, &o->c.ext, e) != 0 ||
	    (!s->proved && chunk_check_digest(&o->c, o->bytes, e) != 0) ||
	    rewind_chunk(s, e) != 0) {
		sectors_leave_chunk(s);
		return err_ctx(e, "%s: chunk %u", sectors_name(s), i);
	}
	return 0;
}

/* The piece that has this byte of the open chunk's data becomes the current one. */
static int
go_to(struct sectors *s, uint64_t at, struct err *e)
{
	struct open_chunk *o = &s->open;

	if (at < o->piece_at && rewind_chunk(s, e) != 0)
		return -1;
	while (at - o->piece_at >= o->piece_bytes)
		if (next_piece(s, e) != 0)
			return -1;
	return 0;
}

/* Bytes [at, at + n) of the open chunk's data, which has them. */
static int
copy_data(struct sectors *s, uint64_t at, size_t n, uint8_t *out, struct err *e)
{
	struct open_chunk *o = &s->open;

	while (n > 0) {
		if (go_to(s, at, e) != 0)
			return -1;
		bool zero = o->c.ext.fragments != NULL && o->f.entry->zero;
		if (o->piece == NULL) {
			if (fragments_decode(&o->f, o->bytes, s->dec, s->fragment, e) !=
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

/* The chunk whose span the sector is in. */
static uint32_t
find_chunk(const struct sectors *s, uint64_t sector)
{
	uint32_t lo = 0, hi = image_chunks(s->img);

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->spans[mid].off <= sector)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint32_t
sectors_chunk_of(const struct sectors *s, uint64_t sector, uint64_t *end)
{
	uint32_t i = find_chunk(s, sector);

	*end = range_end(s->spans[i]);
	return i;
}

/* The region of the open chunk that has a sector; look-ups mostly ascend. */
static struct range
find_region(struct open_chunk *o, uint64_t sector)
{
	const struct ndz_header *h = &o->c.h;

	if (sector < h->regions[o->region].off) {
		o->region = 0;
		o->region_raw = 0;
	}
	while (
	    o->region < h->nregions - 1 && range_end(h->regions[o->region]) <= sector)
		o->region_raw += h->regions[o->region++].len * SECTOR_BYTES;
	return h->regions[o->region];
}

/* Open the chunk that stores r.off.  How much of r it has there in a row, and
 * where in its data that is. */
static int
find_data(
    struct sectors *s, struct range r, uint64_t *sectors, uint64_t *at, struct err *e)
{
	uint32_t i = find_chunk(s, r.off);

	if (enter_chunk(s, i, e) != 0)
		return -1;
	struct range region = find_region(&s->open, r.off);
	struct range now = range_clip(region, r.off, range_end(r));
	/* The file may have changed since its headers were read. */
	if (now.len == 0 || now.off != r.off)
		return err_set(e, ERR_FORMAT,
		    "%s: chunk %u: sector %" PRIu64 " is missing", sectors_name(s), i,
		    r.off);
	*sectors = now.len;
	*at = s->open.region_raw + (r.off - region.off) * SECTOR_BYTES;
	return 0;
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
	const struct ext_fragment *f = o->f.entry;
	if (o->piece_at + o->piece_bytes - at < bytes)
		return 0;
	*id = (struct sectors_id){ .zero = f->zero };
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
	return a->zero == b->zero && a->at == b->at && a->bytes == b->bytes &&
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
		rc = image_read(s->img, i, buf, e);
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
	static const uint8_t none[NDZ_UUID_BYTES];
	const struct ext *x = &s->ext;
	const uint8_t *uuid = x->has_uuid ? x->uuid : s->header.uuid;

	memset(state, 0, sizeof *state);
	if (x->has_state && x->state.kind != EXT_STATE_NONE) {
		*state = x->state;
		return 0;
	}
	if (memcmp(uuid, none, sizeof none) != 0) {
		state->kind = EXT_STATE_UUID;
		memcpy(state->id, uuid, NDZ_UUID_BYTES);
		return 0;
	}
	state->kind = EXT_STATE_FILE;
	return file_digest(s, state->id, e);
}
