#include "common/store/put.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/store/prepare.h"
#include "common/store/rebuild.h"

enum { SPARE_CHUNKS = 3 }; /* read ahead, and waiting for the writer */

struct put {
	struct store *s;
	struct put_config cfg;
	struct recipe_image about;
	struct put_stats stats;
	EVP_MD_CTX *sha; /* of the whole image; the reader's */
	struct prepare_shared shared;
	struct rebuilder *rebuilder;
	uint8_t *again;        /* the chunk put together again */
	struct recipe_chunk c; /* the chunk at hand */
	struct recipe_chunk decoded;
	struct place *places;
	size_t places_cap;
	struct buf digests;       /* in a bucket: of all fragments, in their order */
	struct buf block, record; /* chunks not yet compressed; the record's body */
	uint32_t block_chunks;
	/* Chunks on their way. */
	size_t jobs, n;
	struct prepared *all; /* n */
	struct queue *idle;
	struct ordered *work;
	struct pipeline *pipe;
};

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

static int
make_rooms(struct put *p, struct err *e)
{
	p->jobs = pipeline_jobs(p->cfg.jobs);
	p->all = calloc(p->jobs + SPARE_CHUNKS, sizeof *p->all);
	p->n = p->all != NULL ? p->jobs + SPARE_CHUNKS : 0;
	p->idle = queue_new(p->jobs + SPARE_CHUNKS);
	p->work = ordered_new(p->jobs + SPARE_CHUNKS);
	p->pipe = pipeline_new();
	if (p->all == NULL || p->idle == NULL || p->work == NULL || p->pipe == NULL)
		return err_nomem(e, "chunks");
	for (size_t i = 0; i < p->n; i++) {
		p->all[i].bytes = malloc(NDZ_CHUNK_BYTES);
		if (p->all[i].bytes == NULL)
			return err_nomem(e, "chunks");
		queue_put(p->idle, &p->all[i]);
	}
	pipeline_attach_queue(p->pipe, p->idle);
	pipeline_attach_ordered(p->pipe, p->work);
	return 0;
}

int
put_begin(struct put **out, struct store *s, const struct recipe_image *about,
    const struct put_config *cfg, struct err *e)
{
	struct put *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "an image");
	p->s = s;
	p->cfg = *cfg;
	p->about = *about;
	p->sha = EVP_MD_CTX_new();
	p->rebuilder = rebuilder_new(s->packs);
	p->again = malloc(NDZ_CHUNK_BYTES);
	p->shared = (struct prepare_shared){
		.s = s, .exact = cfg->exact, .packs = store_packs(s)
	};
	pthread_mutex_init(&p->shared.lock, NULL);
	int rc = 0;
	if (p->sha == NULL || p->rebuilder == NULL || p->again == NULL ||
	    p->shared.packs == NULL ||
	    EVP_DigestInit_ex(p->sha, EVP_sha256(), NULL) != 1)
		rc = err_nomem(e, "an image");
	if (rc == 0)
		rc = make_rooms(p, e);
	if (rc == 0)
		rc = choose_version(p, e);
	if (rc == 0 && !cfg->exact && s->remote == NULL)
		rc = index_prepare_raw(s->index, e);
	if (rc != 0) {
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
	pipeline_free(p->pipe);
	ordered_free(p->work);
	queue_free(p->idle);
	for (size_t i = 0; i < p->n; i++)
		prepared_free(&p->all[i]);
	free(p->all);
	EVP_MD_CTX_free(p->sha);
	packs_free(p->shared.packs);
	pthread_mutex_destroy(&p->shared.lock);
	rebuilder_free(p->rebuilder);
	recipe_chunk_free(&p->c);
	recipe_chunk_free(&p->decoded);
	free(p->places);
	free(p->again);
	buf_free(&p->digests);
	buf_free(&p->block);
	buf_free(&p->record);
	free(p);
}

static int
read_stage(void *arg, struct err *e)
{
	struct put *p = arg;
	void *item;
	int rc = 1;

	while (rc == 1 && queue_get(p->idle, &item) == QUEUE_OK) {
		struct prepared *x = item;
		rc = p->cfg.next(p->cfg.arg, x->bytes, e);
		if (rc != 1)
			break;
		x->rc = -1; /* nothing to be freed yet */
		EVP_DigestUpdate(p->sha, x->bytes, NDZ_CHUNK_BYTES);
		if (ordered_submit(p->work, x) != QUEUE_OK)
			return 0;
	}
	if (rc == 0)
		ordered_close(p->work);
	return rc < 0 ? -1 : 0;
}

static int
worker_stage(void *arg, struct err *e)
{
	struct put *p = arg;
	struct preparer *w = preparer_new(&p->shared);
	void *item;
	size_t ticket;

	if (w == NULL)
		return err_nomem(e, "a thread's memory");
	while (ordered_begin(p->work, &item, &ticket) == QUEUE_OK) {
		prepare_chunk(w, item);
		ordered_done(p->work, ticket);
	}
	preparer_free(w);
	return 0;
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

static int
use_pieces(struct put *p, struct prepared *x, struct err *e)
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
describe_rest(struct put *p, const struct prepared *x, struct buf *spare, struct err *e)
{
	const struct chunk *c = &x->c;
	const uint8_t *bytes = x->bytes;
	const uint8_t *rest = bytes + NDZ_HEADER_BYTES + x->stream_bytes;
	size_t used = chunk_used_bytes(bytes),
	       behind = NDZ_HEADER_BYTES + (size_t)x->stream_bytes;
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
compare(struct put *p, size_t recipe_at, const struct prepared *x, struct err *e)
{
	const struct ext_fragment *table = x->c.ext.fragments;
	struct rd r = rd_from(p->block.base + recipe_at, p->block.len - recipe_at);

	if (recipe_get_chunk(&p->decoded, &r, e) != 0)
		return -1;
	if (!rd_done(&r) || p->decoded.npieces != p->c.npieces)
		return err_set(e, ERR_FORMAT, "its recipe cannot be read again");
	/* That its stream can be made of the data was found out before; in a bucket,
	 * that the fragments have these data, too. */
	if (p->decoded.made && p->s->remote != NULL)
		return 0;
	if (p->decoded.made)
		return rebuild_check_data(p->rebuilder, &p->decoded, p->places, e);
	rebuilder_give(p->rebuilder, x->bytes, x->c.ext.nfragments > 0 ? table : NULL);
	if (rebuild_chunk(p->rebuilder, &p->decoded, p->places, p->again, e) != 0)
		return -1;
	if (memcmp(p->again, x->bytes, NDZ_CHUNK_BYTES) != 0)
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

static void
describe_made(struct put *p, const struct prepared *x)
{
	p->c.made = true;
	p->c.codec = &codec_deflate;
	p->c.how = x->how;
	p->c.adler = x->adler;
	p->c.crc = crc32c(x->bytes, NDZ_HEADER_BYTES + (size_t)x->c.h.size);
	sha256(x->bytes, NDZ_CHUNK_BYTES, p->c.sha256);
	p->about.made = true;
}

/* The ends of a stream with fragments are apart from them. */
static void
describe_ends(struct put *p, const struct prepared *x)
{
	const uint8_t *stream = x->bytes + NDZ_HEADER_BYTES;
	const struct codec *codec = x->c.codec;

	p->c.codec = codec;
	memcpy(p->c.stream_head, stream, codec->head_bytes);
	memcpy(p->c.stream_tail, stream + x->stream_bytes - codec->tail_bytes,
	    codec->tail_bytes);
}

static int
describe(struct put *p, const struct prepared *x, struct err *e)
{
	struct buf spare = { 0 };
	size_t recipe_at = p->block.len;
	int rc = 0;

	p->c.header = x->bytes;
	p->c.header_bytes = NDZ_HEADER_BYTES;
	while (p->c.header_bytes > 0 && x->bytes[p->c.header_bytes - 1] == 0)
		p->c.header_bytes--;
	p->c.stream_bytes = x->stream_bytes;
	p->c.made = p->c.table = false;
	p->c.codec = NULL;
	if (x->kind == PREPARED_MADE)
		describe_made(p, x);
	else if (x->kind == PREPARED_FRAGMENTS)
		describe_ends(p, x);
	if (!p->c.made)
		rc = describe_rest(p, x, &spare, e);
	if (rc == 0) {
		recipe_put_chunk(&p->block, &p->c);
		rc = buf_ok(&p->block) ? compare(p, recipe_at, x, e)
		                       : err_nomem(e, "a recipe");
	}
	buf_free(&spare);
	return rc;
}

static void
count_kind(struct put *p, const struct prepared *x)
{
	p->stats.made_chunks += x->kind == PREPARED_MADE;
	p->stats.whole_chunks += x->kind == PREPARED_WHOLE;
	p->stats.encrypted_chunks += x->kind == PREPARED_ENCRYPTED;
}

/* The next chunk in order, as far as it got. */
static int
put_chunk(struct put *p, struct prepared *x, struct err *e)
{
	int rc = x->rc;

	if (rc != 0)
		*e = x->err;
	if (rc == 0) {
		pthread_mutex_lock(&p->shared.lock);
		rc = use_pieces(p, x, e);
		pthread_mutex_unlock(&p->shared.lock);
		if (rc == 0)
			rc = describe(p, x, e);
		count_kind(p, x);
		chunk_free(&x->c);
		x->rc = -1;
	}
	p->about.chunks++;
	p->about.data_bytes += rc == 0 ? x->c.raw_bytes : 0;
	if (rc == 0 && ++p->block_chunks == RECIPE_BLOCK_CHUNKS)
		rc = end_block(p, e);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", p->about.chunks - 1);
}

static int
write_chunks(struct put *p, struct err *e)
{
	void *item;
	int rc = 0;

	while (rc == 0 && ordered_take(p->work, &item) == QUEUE_OK) {
		rc = put_chunk(p, item, e);
		if (rc == 0)
			rc = p->cfg.progress(p->cfg.arg, p->about.chunks, e);
		queue_put(p->idle, item);
	}
	return rc;
}

int
put_all(struct put *p, struct err *e)
{
	void *item;

	/* A thread that cannot be started cancels all; joining tells why. */
	if (pipeline_start(p->pipe, read_stage, p) == 0)
		for (size_t i = 0; i < p->jobs; i++)
			if (pipeline_start(p->pipe, worker_stage, p) != 0)
				break;
	if (write_chunks(p, e) != 0)
		pipeline_fail(p->pipe, e);
	int rc = pipeline_join(p->pipe, e);
	while (ordered_drain(p->work, &item)) {
		struct prepared *x = item;
		if (x->rc == 0)
			chunk_free(&x->c);
	}
	return rc;
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
	if (rc == 0 && p->about.made)
		rc = store_need_format(p->s, STORE_FORMAT_MADE, e);
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
