/* rebuild.c: puts chunks together from their recipes.  Called by stored.c, in the thread
 * that reads an image, and by put_describe.c to try a recipe, in the put's writer thread. */
#include "emustore/store/rebuild.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "emustore/store/redeflated.h"

enum {
	/* The padding of the record before, and the two heads of this record. */
	GAP_MAX = RECORD_ALIGN - 1 + FRAGMENT_DATA_AT,
	GAP_STRIDE = 96,
	IOV_MOST = IOV_MAX < 1024 ? IOV_MAX : 1024,
	RAW_DIGEST_AT = RECORD_HEAD_BYTES + SHA256_BYTES,
	RAW_BYTES_AT = RAW_DIGEST_AT + RAW_DIGEST_BYTES,
};

struct rebuilder {
	struct packs *packs;
	const uint8_t *given;
	const struct ext_fragment *table;
	struct rd digests; /* empty: fragments are not compared with their SHA-256 */
	struct sha256_message *messages; /* `cap` of them */
	struct redeflated *redeflated; /* allocated when it is first needed */
	uint64_t equivalents;
	size_t cap;
	/* What is read in front of each fragment's data: the last FRAGMENT_DATA_AT bytes
	 * of its slot are the head of its record and its own head. */
	uint8_t (*gap)[GAP_STRIDE];
	struct iovec iov[IOV_MOST];
};

struct rebuilder *
rebuilder_new(struct packs *packs)
{
	struct rebuilder *r = calloc(1, sizeof *r);

	if (r != NULL)
		r->packs = packs;
	return r;
}

void
rebuilder_give(
    struct rebuilder *r, const uint8_t *bytes, const struct ext_fragment *table)
{
	r->given = bytes;
	r->table = table;
}

void
rebuilder_prove(struct rebuilder *r, struct rd digests)
{
	r->digests = digests;
}

void
rebuilder_free(struct rebuilder *r)
{
	if (r == NULL)
		return;
	redeflated_free(r->redeflated);
	free(r->gap);
	free(r->messages);
	free(r);
}

uint64_t
rebuilder_equivalents(const struct rebuilder *r)
{
	return r->equivalents;
}

static struct redeflated *
need_redeflated(struct rebuilder *r, struct err *e)
{
	if (r->redeflated == NULL && (r->redeflated = redeflated_new(r->packs)) == NULL)
		err_nomem(e, "a chunk's stream");
	return r->redeflated;
}

static int
rebuild_redeflated(struct rebuilder *r, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out, struct err *e)
{
	struct redeflated *m = need_redeflated(r, e);
	int rc = m == NULL ? -1 : redeflated_chunk(m, c, places, out, e);

	r->equivalents += rc == 1;
	return rc < 0 ? -1 : 0;
}

static int
make_room(struct rebuilder *r, size_t n, struct err *e)
{
	if (n <= r->cap)
		return 0;
	void *gap = realloc(r->gap, n * sizeof *r->gap);
	if (gap == NULL)
		return err_nomem(e, "a chunk's fragments");
	r->gap = gap;
	void *messages = realloc(r->messages, n * sizeof *r->messages);
	if (messages == NULL)
		return err_nomem(e, "a chunk's fragments");
	r->messages = messages;
	r->cap = n;
	return 0;
}

static bool
is_zeros(const struct place *p)
{
	return p->slot == (uint32_t)PLACE_ZEROS;
}

static bool
is_given(const struct place *p)
{
	return p->slot == (uint32_t)PLACE_GIVEN;
}

static uint64_t
data_end(const struct place *p)
{
	return p->at + FRAGMENT_DATA_AT + p->bytes;
}

bool
place_follows(const struct place *a, const struct place *b)
{
	return !is_zeros(b) && !is_given(b) && a->slot == b->slot &&
	       b->at - data_end(a) < RECORD_ALIGN && b->at >= data_end(a);
}

static int
read_vector(
    struct rebuilder *r, const struct place *p, int n, uint64_t want, struct err *e)
{
	ssize_t got = packs_readv(r->packs, p->slot, r->iov, n, p->at, e);

	if (got < 0)
		return -1;
	if ((uint64_t)got != want)
		return err_set(e, ERR_FORMAT,
		    "%s: ends before its fragment at byte %" PRIu64 " does",
		    packs_name(r->packs, p->slot).text, p->at);
	return 0;
}

/* Read fragments that lie one behind the other in a pack, with one call.  Returns how many
 * fragments were read, or -1. */
static ssize_t
read_run(struct rebuilder *r, const struct place *places, size_t i, size_t n,
    uint8_t *out, struct err *e)
{
	uint64_t from = places[i].at, end = from;
	size_t count = 0;
	int v = 0;

	do {
		const struct place *p = &places[i + count];
		size_t gap = (size_t)(p->at + FRAGMENT_DATA_AT - end);
		r->iov[v++] = (struct iovec){ r->gap[i + count] + GAP_STRIDE - gap,
			gap };
		r->iov[v++] = (struct iovec){ out, p->bytes };
		out += p->bytes;
		end = data_end(p);
		count++;
	} while (i + count < n && v + 2 <= IOV_MOST &&
		 place_follows(&places[i + count - 1], &places[i + count]));
	return read_vector(r, &places[i], v, end - from, e) == 0 ? (ssize_t)count : -1;
}

/* Byte `at` of the record of fragment i, within its two heads. */
static uint8_t *
head_of(const struct rebuilder *r, size_t i, size_t at)
{
	return r->gap[i] + GAP_STRIDE - FRAGMENT_DATA_AT + at;
}

static void
take_given(struct rebuilder *r, size_t i, const struct place *p, uint8_t *out)
{
	memcpy(out, r->given + p->at, p->bytes);
	if (r->table == NULL)
		return;
	struct wr w = wr_to(head_of(r, i, RAW_DIGEST_AT), RAW_DIGEST_BYTES + 4);
	wr_bytes(&w, r->table[i].digest, RAW_DIGEST_BYTES);
	wr_le32(&w, (uint32_t)(r->table[i].sectors * SECTOR_BYTES));
}

static int
fill_pieces(struct rebuilder *r, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out, struct err *e)
{
	for (size_t i = 0; i < c->npieces;) {
		if (is_zeros(&places[i])) {
			c->codec->zeros(places[i].at, out);
			out += places[i++].bytes;
			continue;
		}
		if (is_given(&places[i])) {
			take_given(r, i, &places[i], out);
			out += places[i++].bytes;
			continue;
		}
		ssize_t n = read_run(r, places, i, c->npieces, out, e);
		if (n < 0)
			return -1;
		for (; n > 0; n--)
			out += places[i++].bytes;
	}
	return 0;
}

static int
err_digest(const struct rebuilder *r, const struct recipe_piece *piece, const struct place *at,
    struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "%s: the SHA-256 of fragment %" PRIu64 " at byte %" PRIu64 " is wrong",
	    packs_name(r->packs, at->slot).text, piece->number, at->at);
}

/* Compare each fragment with its own SHA-256; `data` is where the first one is. */
static int
prove_pieces(struct rebuilder *r, const struct recipe_chunk *c, const struct place *places,
    const uint8_t *data, struct err *e)
{
	struct sha256_message *v = r->messages;
	size_t n = 0;

	for (size_t i = 0; i < c->npieces; data += places[i++].bytes)
		if (!is_zeros(&places[i]))
			v[n++] = (struct sha256_message){ .data = data, .bytes = places[i].bytes };
	sha256_many(v, n);
	for (size_t i = 0; i < c->npieces; i++) {
		uint64_t number = c->pieces[i].number;
		if (is_zeros(&places[i]))
			continue;
		if (number >= r->digests.len / SHA256_BYTES ||
		    memcmp(v++->digest, r->digests.base + number * SHA256_BYTES,
			SHA256_BYTES) != 0)
			return err_digest(r, &c->pieces[i], &places[i], e);
	}
	return 0;
}

int
rebuild_check_lengths(const struct recipe_chunk *c, const struct place *places, struct err *e)
{
	uint64_t bytes = c->codec != NULL ? c->codec->head_bytes + c->codec->tail_bytes
	                                  : 0;

	for (size_t i = 0; i < c->npieces; i++)
		bytes += places[i].bytes;
	if (bytes == c->stream_bytes)
		return 0;
	return err_set(
	    e, ERR_FORMAT, "the fragments of the recipe do not add up to its stream");
}

struct ext_fragment
rebuild_entry(const struct recipe_piece *p, uint32_t bytes, uint32_t raw_bytes,
    const uint8_t *raw_digest)
{
	struct ext_fragment f = { .bytes = bytes,
		.zero = p->zero,
		.windows = p->zero ? p->windows : 1,
		.sectors = (p->zero ? p->raw_bytes : raw_bytes) / SECTOR_BYTES };

	if (!p->zero)
		memcpy(f.digest, raw_digest, sizeof f.digest);
	return f;
}

/* Write the entry of the fragment table for piece i, whose fragment was read. */
static void
put_entry(const struct rebuilder *r, const struct recipe_chunk *c, size_t i,
    const struct place *place, uint8_t *out)
{
	struct rd head = rd_from(head_of(r, i, RAW_BYTES_AT), 4);
	const struct ext_fragment f = rebuild_entry(&c->pieces[i], place->bytes,
	    rd_le32(&head), head_of(r, i, RAW_DIGEST_AT));

	ext_put_entry(c->table, &f, out);
}

/* Write what is behind the stream, and the entries of the fragment table at their place in
 * it.  Returns the end. */
static uint8_t *
fill_rest(const struct rebuilder *r, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out)
{
	bool table = c->table != EXT_TABLE_NONE;
	size_t first = table ? c->table_at : c->rest_bytes;

	memcpy(out, c->rest, first);
	out += first;
	for (size_t i = 0; table && i < c->npieces; i++, out += EXT_ENTRY_BYTES)
		put_entry(r, c, i, &places[i], out);
	memcpy(out, c->rest + first, c->rest_bytes - first);
	return out + (c->rest_bytes - first);
}

/* The chunk has a wrong checksum: find the fragment that is damaged, and report it. */
static int
blame(struct rebuilder *r, const struct recipe_chunk *c, const struct place *places,
    struct err *e)
{
	struct buf body = { 0 };
	struct record_head h;
	int rc = 0;

	for (size_t i = 0; i < c->npieces && rc == 0; i++) {
		const struct place *p = &places[i];
		if (is_zeros(p) || is_given(p))
			continue;
		rc = packs_read_record(r->packs, p->slot, p->at, &h, &body, e);
		if (rc == 0 &&
		    h.type != RECORD_FRAGMENT)
			rc = err_set(e, ERR_FORMAT,
			    "%s: fragment %" PRIu64 " is not at byte %" PRIu64
			    ", where the index has it",
			    packs_name(r->packs, p->slot).text, c->pieces[i].number, p->at);
	}
	buf_free(&body);
	return rc != 0 ? rc : err_set(e, ERR_FORMAT, "the chunk is not what was put");
}

size_t
chunk_used_bytes(const uint8_t *chunk)
{
	size_t n = NDZ_CHUNK_BYTES;
	uint64_t word;

	for (; n >= 8; n -= 8) {
		memcpy(&word, chunk + n - 8, 8);
		if (word != 0)
			break;
	}
	while (n > 0 && chunk[n - 1] == 0)
		n--;
	return n;
}

int
rebuild_chunk(struct rebuilder *r, const struct recipe_chunk *c,
    const struct place *places, uint8_t *out, struct err *e)
{
	uint8_t *stream = out + NDZ_HEADER_BYTES, *end = stream + c->stream_bytes;

	if (c->redeflated)
		return rebuild_redeflated(r, c, places, out, e);
	if (rebuild_check_lengths(c, places, e) != 0 || make_room(r, c->npieces, e) != 0)
		return -1;
	memcpy(out, c->header, c->header_bytes);
	memset(out + c->header_bytes, 0, NDZ_HEADER_BYTES - c->header_bytes);
	if (c->codec != NULL) {
		memcpy(stream, c->stream_head, c->codec->head_bytes);
		stream += c->codec->head_bytes;
		memcpy(
		    end - c->codec->tail_bytes, c->stream_tail, c->codec->tail_bytes);
	}
	if (fill_pieces(r, c, places, stream, e) != 0)
		return -1;
	if (r->digests.len > 0 && prove_pieces(r, c, places, stream, e) != 0)
		return -1;
	end = fill_rest(r, c, places, end);
	memset(end, 0, (size_t)(out + NDZ_CHUNK_BYTES - end));
	if (crc32c(out, (size_t)(end - out)) != c->crc)
		return blame(r, c, places, e);
	return 0;
}
