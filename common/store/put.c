#include "common/store/put.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/ndz/chunk.h"
#include "common/ndz/fragments.h"
#include "common/store/rebuild.h"

struct put {
	struct store *s;
	struct recipe_image about;
	struct put_stats stats;
	EVP_MD_CTX *sha; /* of the whole image */
	struct decoder *decoder;
	struct rebuilder *rebuilder;
	uint8_t *raw, *again;  /* one fragment's data; the chunk put together again */
	struct recipe_chunk c; /* the chunk at hand */
	struct recipe_chunk decoded;
	struct place *places;
	size_t places_cap;
	struct buf digests;       /* in a bucket: of all fragments, in their order */
	struct buf block, record; /* chunks not yet compressed; the record's body */
	uint32_t block_chunks;
};

static void
sha256_of(const void *data, size_t n, uint8_t out[SHA256_BYTES])
{
	unsigned len = SHA256_BYTES;

	/* Cannot fail: no memory, no provider but the one that is there. */
	EVP_Digest(data, n, out, &len, EVP_sha256(), NULL);
}

/* The number that the image will have among those of its name. */
static int
choose_version(struct put *p, struct err *e)
{
	struct index_image old;
	struct store_name *name = &p->about.name;
	int rc = index_find_image(p->s->index, name, &old, e);

	if (rc < 0)
		return -1;
	if (rc == 1 && name->version != 0)
		return err_set(e, ERR_REFUSED, "%s:%" PRIu32 " is in the store already",
		    name->name, name->version);
	if (name->version == 0 && p->s->remote == NULL)
		name->version = rc == 1 ? old.about.name.version + 1 : 1;
	return 0;
}

int
put_begin(
    struct put **out, struct store *s, const struct recipe_image *about, struct err *e)
{
	struct put *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "an image");
	p->s = s;
	p->about = *about;
	p->sha = EVP_MD_CTX_new();
	p->decoder = decoder_new();
	p->rebuilder = rebuilder_new(s->packs);
	p->raw = malloc(FRAGMENT_BYTES_MAX);
	p->again = malloc(NDZ_CHUNK_BYTES);
	if (p->sha == NULL || p->decoder == NULL || p->rebuilder == NULL ||
	    p->raw == NULL || p->again == NULL ||
	    EVP_DigestInit_ex(p->sha, EVP_sha256(), NULL) != 1) {
		put_free(p);
		return err_nomem(e, "an image");
	}
	if (choose_version(p, e) != 0) {
		put_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void
put_free(struct put *p)
{
	if (p == NULL)
		return;
	EVP_MD_CTX_free(p->sha);
	decoder_free(p->decoder);
	rebuilder_free(p->rebuilder);
	recipe_chunk_free(&p->c);
	recipe_chunk_free(&p->decoded);
	free(p->places);
	free(p->raw);
	free(p->again);
	buf_free(&p->digests);
	buf_free(&p->block);
	buf_free(&p->record);
	free(p);
}

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

/* Into the packs and the index; one that was lost comes back under its number. */
static int
keep_fragment(struct put *p, struct index_fragment *f, const void *data, struct err *e)
{
	if (store_add_fragment(p->s, f, data, e) != 0)
		return -1;
	p->stats.new_fragments++;
	p->stats.new_bytes += f->bytes;
	return 0;
}

/* In a bucket fragments have no numbers that all know: a recipe has their digests, and
 * numbers those.  What is there already is not fetched to be compared: the SHA-256 of
 * the data at hand, `at` of the chunk, is that of what is there. */
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

/* at: where in the chunk the data are. */
static int
use_fragment(struct put *p, const struct index_fragment *f, size_t at, struct err *e)
{
	struct place place = { .at = f->at, .bytes = f->bytes };

	p->stats.fragments++;
	if (p->s->remote != NULL)
		return use_digest(p, f, at, e);
	if (packs_slot(p->s->packs, f->pack, &place.slot, e) != 0)
		return -1;
	return add_piece(p, &(struct recipe_piece){ .number = f->number }, &place, e);
}

static int
err_digest(const struct fragments *f, struct err *e)
{
	return err_set(e, ERR_FORMAT, "the digest of fragment %zu is wrong", f->number);
}

/* A fragment that is not zero; *adler becomes that of its data. */
static int
put_fragment(struct put *p, const struct fragments *f, const uint8_t *bytes,
    uint32_t *adler, struct err *e)
{
	const uint8_t *data = bytes + NDZ_HEADER_BYTES + f->stream_at;
	struct index_fragment x = { .bytes = f->entry->bytes };
	uint8_t sha256[SHA256_BYTES];

	sha256_of(data, x.bytes, sha256);
	int known = store_find_fragment(p->s, sha256, &x, e);
	if (known < 0)
		return -1;
	/* The same bytes are the same data, so the table must say so. */
	if (known == 1 &&
	    (x.head.raw_bytes != f->raw_bytes || x.bytes != f->entry->bytes ||
		memcmp(x.head.raw_digest, f->entry->digest, sizeof x.head.raw_digest) !=
		    0))
		return err_digest(f, e);
	if (known == 0 || x.pack == 0) {
		if (fragments_decode(f, bytes, p->decoder, p->raw, e) != 0)
			return -1;
		memcpy(x.head.sha256, sha256, sizeof sha256);
		memcpy(x.head.raw_digest, f->entry->digest, sizeof x.head.raw_digest);
		x.head.raw_bytes = (uint32_t)f->raw_bytes;
		x.head.adler = adler_of(p->raw, f->raw_bytes);
		if (keep_fragment(p, &x, data, e) != 0)
			return -1;
	}
	*adler = x.head.adler;
	return use_fragment(p, &x, (size_t)(data - bytes), e);
}

static int
put_zeros(struct put *p, const struct fragments *f, const uint8_t *bytes,
    uint32_t *adler, struct err *e)
{
	const uint8_t *data = bytes + NDZ_HEADER_BYTES + f->stream_at;
	struct recipe_piece piece = {
		.zero = true, .windows = f->entry->windows, .raw_bytes = f->raw_bytes
	};
	struct place place = { .at = f->raw_bytes,
		.slot = (uint32_t)PLACE_ZEROS,
		.bytes = f->entry->bytes };

	if (!f->c->codec->is_zeros(data, f->entry->bytes, f->raw_bytes))
		return err_set(e, ERR_FORMAT, "fragment %zu is not zero", f->number);
	*adler = adler_zeros(f->raw_bytes);
	return add_piece(p, &piece, &place, e);
}

static int
put_fragments(struct put *p, const struct chunk *c, const uint8_t *bytes, struct err *e)
{
	const uint8_t *stream = bytes + NDZ_HEADER_BYTES;
	const struct codec *codec = c->codec;
	uint8_t tail[CODEC_ENDS_BYTES];
	struct fragments f = fragments_of(c);
	uint32_t all = 1, one = 1;

	while (fragments_next(&f)) {
		if (f.raw_bytes == 0 ||
		    (!f.entry->zero && f.raw_bytes > FRAGMENT_BYTES_MAX))
			return err_set(e, ERR_FORMAT,
			    "fragment %zu is empty or too large", f.number);
		if ((f.entry->zero ? put_zeros : put_fragment)(p, &f, bytes, &one, e) !=
		    0)
			return -1;
		all = adler_combine(all, one, f.raw_bytes);
	}
	codec->tail(all, tail);
	if (memcmp(stream + c->h.size - codec->tail_bytes, tail, codec->tail_bytes) !=
	    0)
		return err_set(e, ERR_FORMAT, "the Adler-32 of the stream is wrong");
	memcpy(p->c.stream_head, stream, codec->head_bytes);
	memcpy(p->c.stream_tail, tail, codec->tail_bytes);
	p->c.codec = codec;
	return chunk_check_digest(c, bytes, e);
}

/* A chunk without a fragment table: its stream is one fragment. */
static int
put_stream(struct put *p, const struct chunk *c, const uint8_t *bytes, struct err *e)
{
	struct index_fragment x = { .bytes = c->h.size };
	uint8_t sha256[SHA256_BYTES];

	if (chunk_verify(c, bytes, p->decoder, e) != 0)
		return -1;
	sha256_of(bytes + NDZ_HEADER_BYTES, x.bytes, sha256);
	int known = store_find_fragment(p->s, sha256, &x, e);
	if (known < 0)
		return -1;
	if (known == 0 || x.pack == 0) {
		memcpy(x.head.sha256, sha256, sizeof sha256);
		if (keep_fragment(p, &x, bytes + NDZ_HEADER_BYTES, e) != 0)
			return -1;
	}
	p->c.codec = NULL;
	p->stats.whole_chunks++;
	return use_fragment(p, &x, NDZ_HEADER_BYTES, e);
}

/* Where the entries of the fragment table are in what is behind the stream, when
 * they are what the fragments say. */
static bool
find_table(
    struct put *p, const struct chunk *c, const uint8_t *rest, size_t n, size_t *at)
{
	size_t table = p->c.npieces * EXT_ENTRY_BYTES;
	uint8_t entry[EXT_ENTRY_BYTES];

	for (size_t i = 0; p->c.codec != NULL && table <= n && i <= n - table; i++) {
		bool same = true;
		for (size_t k = 0; k < p->c.npieces && same; k++) {
			rebuild_entry(&p->c.pieces[k], c->ext.fragments[k].bytes,
			    c->ext.fragments[k].digest, entry);
			same = memcmp(rest + i + k * sizeof entry, entry,
				   sizeof entry) == 0;
		}
		if (same)
			return *at = i, true;
	}
	return false;
}

/* What is not in fragments; `spare` takes what is behind the stream without its table.
 */
static int
describe_rest(struct put *p, const struct chunk *c, const uint8_t *bytes,
    struct buf *spare, struct err *e)
{
	const uint8_t *rest = bytes + NDZ_HEADER_BYTES + c->h.size;
	size_t used = chunk_used_bytes(bytes),
	       behind = NDZ_HEADER_BYTES + (size_t)c->h.size;
	size_t n = used > behind ? used - behind : 0,
	       table = p->c.npieces * EXT_ENTRY_BYTES;
	/* Zeros at the table's end are the table's. */
	size_t most = NDZ_CHUNK_BYTES - behind;
	size_t slack = n + EXT_ENTRY_BYTES < most ? n + EXT_ENTRY_BYTES : most;

	p->c.crc = crc32c(bytes, n > 0 ? used : behind);
	p->c.rest = rest;
	p->c.rest_bytes = n;
	p->c.table = find_table(p, c, rest, slack, &p->c.table_at);
	if (!p->c.table)
		return 0;
	n = n > p->c.table_at + table ? n : p->c.table_at + table;
	p->c.crc = crc32c(bytes, behind + n);
	buf_bytes(spare, rest, p->c.table_at);
	buf_bytes(spare, rest + p->c.table_at + table, n - p->c.table_at - table);
	p->c.rest = spare->base;
	p->c.rest_bytes = n - table;
	return buf_ok(spare) ? 0 : err_nomem(e, "a recipe");
}

/* Does what was written down make the chunk again? */
static int
compare(struct put *p, size_t recipe_at, const uint8_t *bytes, struct err *e)
{
	struct rd r = rd_from(p->block.base + recipe_at, p->block.len - recipe_at);

	if ((p->s->remote == NULL && pack_flush(&p->s->w, e) != 0) ||
	    recipe_get_chunk(&p->decoded, &r, e) != 0)
		return -1;
	if (!rd_done(&r) || p->decoded.npieces != p->c.npieces)
		return err_set(e, ERR_FORMAT, "its recipe cannot be read again");
	if (rebuild_chunk(p->rebuilder, &p->decoded, p->places, p->again, e) != 0)
		return -1;
	if (memcmp(p->again, bytes, NDZ_CHUNK_BYTES) != 0)
		return err_set(
		    e, ERR_FORMAT, "the store would not give back what is put");
	return 0;
}

static int
end_block(struct put *p, struct err *e)
{
	if (p->block_chunks == 0)
		return 0;
	int rc = recipe_put_block(&p->record, p->block_chunks, &p->block, e);
	p->block.len = 0;
	p->block_chunks = 0;
	return rc;
}

static int
describe(struct put *p, const struct chunk *c, const uint8_t *bytes, struct err *e)
{
	struct buf spare = { 0 };
	size_t recipe_at = p->block.len;

	p->c.header = bytes;
	p->c.header_bytes = NDZ_HEADER_BYTES;
	while (p->c.header_bytes > 0 && bytes[p->c.header_bytes - 1] == 0)
		p->c.header_bytes--;
	p->c.stream_bytes = c->h.size;
	int rc = describe_rest(p, c, bytes, &spare, e);
	if (rc == 0) {
		recipe_put_chunk(&p->block, &p->c);
		rc = buf_ok(&p->block) ? compare(p, recipe_at, bytes, e)
		                       : err_nomem(e, "a recipe");
	}
	buf_free(&spare);
	return rc;
}

int
put_chunk(struct put *p, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return -1;
	EVP_DigestUpdate(p->sha, bytes, NDZ_CHUNK_BYTES);
	p->c.npieces = 0;
	rebuilder_give(
	    p->rebuilder, bytes, c.ext.nfragments > 0 ? c.ext.fragments : NULL);
	int rc = (c.ext.nfragments > 0 ? put_fragments : put_stream)(p, &c, bytes, e);
	if (rc == 0)
		rc = describe(p, &c, bytes, e);
	p->about.chunks++;
	p->about.data_bytes += c.raw_bytes;
	chunk_free(&c);
	if (rc == 0 && ++p->block_chunks == RECIPE_BLOCK_CHUNKS)
		rc = end_block(p, e);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", p->about.chunks - 1);
}

/* The image's record, and its entry of the index. */
static int
keep_image(struct put *p, struct err *e)
{
	struct buf head = { 0 };
	struct index_image *i = calloc(1, sizeof *i);

	recipe_put_image(&head, &p->about);
	int rc = i == NULL || !buf_ok(&head) ? err_nomem(e, "a recipe") : 0;
	p->stats.recipe_bytes = head.len + p->record.len;
	if (rc == 0) {
		*i = (struct index_image){ .number = store_number(
					       p->s, INDEX_NEXT_IMAGE),
			.bytes = head.len + p->record.len,
			.about = p->about };
		rc = store_append(p->s, RECORD_IMAGE, i->number, head.base, head.len,
		    p->record.base, p->record.len, &i->pack, &i->at, e);
	}
	if (rc == 0)
		rc = index_add_image(p->s->index, i, e);
	buf_free(&head);
	free(i);
	return rc;
}

int
put_end(
    struct put *p, struct recipe_image *about, struct put_stats *stats, struct err *e)
{
	EVP_DigestFinal_ex(p->sha, p->about.sha256, NULL);
	int rc = end_block(p, e);
	if (rc == 0)
		rc = p->s->remote == NULL
		         ? keep_image(p, e)
		         : remote_put_image(p->s->putting, &p->about, &p->record,
			       &p->digests, &p->stats.recipe_bytes, e);
	p->stats.chunks = p->about.chunks;
	*about = p->about;
	*stats = p->stats;
	return rc;
}
