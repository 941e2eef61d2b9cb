/* rebuild.c: puts chunks, and parts of them, together from their recipes.  Called by stored.c,
 * in the thread that reads an image, and by put_describe.c to try a recipe, in the put's writer
 * thread.
 *
 * A chunk is a row of runs of bytes: the header area, the ends of the stream with the pieces
 * between them, and what is behind the stream.  Of each run only the bytes are copied that
 * the part has, and of each fragment only those are read. */
#include "emustore/store/rebuild.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/sha256.h"
#include "emustore/store/redeflated.h"

enum {
	IOV_MOST = IOV_MAX < 1024 ? IOV_MAX : 1024,
	RUN_MOST = IOV_MOST / 2, /* fragments that are read with one call */
	/* The padding of the record before, and the two heads of a record. */
	GAP_MOST = RECORD_ALIGN - 1 + FRAGMENT_DATA_AT,
};

/* Which of the next bytes of a chunk are in a part. */
struct slice {
	size_t skip, n;
	uint8_t *to;
};

/* Fragments that lie one behind the other in a pack, as they are read with one call. */
struct run {
	unsigned n;
	const struct place *places;
	struct slice of[RUN_MOST];
	uint8_t gap[RUN_MOST][GAP_MOST]; /* what is read in front of each; heads are last */
	int niov;
	struct iovec iov[IOV_MOST];
	uint64_t at, end; /* bytes of the pack */
};

struct rebuilder {
	struct packs *packs;
	const uint8_t *given;
	const struct ext_fragment *table;
	struct redeflated *redeflated; /* allocated when it is first needed */
	uint64_t equivalents;
	/* Of the fragments of a whole chunk, `cap` of each. */
	size_t cap;
	struct sha256_message *messages;
	struct fragment_raw *raws; /* what their heads say */
	struct run run;
};

/* The part that is wanted, and the byte of the chunk that is next. */
struct part {
	size_t from, end, at;
	uint8_t *out;
	struct rebuilder *r;
	const struct recipe_chunk *c;
	const struct rebuild_facts *facts; /* of the pieces of c */
	/* The whole chunk, which has a checksum, is wanted.  Else each fragment of which all bytes
	 * are read is compared with the checksum of its record. */
	bool whole;
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
rebuilder_free(struct rebuilder *r)
{
	if (r == NULL)
		return;
	redeflated_free(r->redeflated);
	free(r->raws);
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
	free(r->raws);
	free(r->messages);
	r->raws = calloc(n, sizeof *r->raws);
	r->messages = calloc(n, sizeof *r->messages);
	r->cap = r->raws != NULL && r->messages != NULL ? n : 0;
	return r->cap == n ? 0 : err_nomem(e, "a chunk's fragments");
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

/* Does the record of the second fragment follow that of the first in a pack, with nothing but
 * padding between them? */
static bool
place_follows(const struct place *a, const struct place *b)
{
	return !is_zeros(b) && !is_given(b) && a->slot == b->slot &&
	       b->at - data_end(a) < RECORD_ALIGN && b->at >= data_end(a);
}

static struct slice
cut(const struct part *p, size_t n)
{
	size_t from = p->at > p->from ? p->at : p->from;
	size_t end = p->at + n < p->end ? p->at + n : p->end;

	if (end <= from)
		return (struct slice){ 0 };
	return (struct slice){ from - p->at, end - from, p->out + (from - p->from) };
}

static void
put(struct part *p, const void *bytes, size_t n)
{
	struct slice s = cut(p, n);

	if (s.n > 0)
		memcpy(s.to, (const uint8_t *)bytes + s.skip, s.n);
	p->at += n;
}

/* The bytes up to byte `end` of the chunk are zeros. */
static void
clear(struct part *p, size_t end)
{
	struct slice s = cut(p, end > p->at ? end - p->at : 0);

	if (s.n > 0)
		memset(s.to, 0, s.n);
	p->at = end;
}

static int
put_zeros(struct part *p, const struct place *x, struct err *e)
{
	bool whole = cut(p, x->bytes).n == x->bytes;
	uint8_t *bytes = whole ? cut(p, x->bytes).to : malloc(x->bytes + 1u);

	if (bytes == NULL)
		return err_nomem(e, "a chunk's zeros");
	p->c->codec->zeros(x->at, bytes);
	if (whole) {
		p->at += x->bytes;
		return 0;
	}
	put(p, bytes, x->bytes);
	free(bytes);
	return 0;
}

static void
put_given(struct part *p, size_t i)
{
	struct rebuilder *r = p->r;

	put(p, r->given + p->facts->places[i].at, p->facts->places[i].bytes);
	if (r->table == NULL)
		return;
	r->raws[i].bytes = (uint32_t)(r->table[i].sectors * SECTOR_BYTES);
	memcpy(r->raws[i].digest, r->table[i].digest, RAW_DIGEST_BYTES);
}

static bool
is_whole(const struct slice *s, const struct place *x)
{
	return s->n == x->bytes;
}

/* Add the next fragment, whose place is r->places[r->n], to the run, which ends in front of
 * its record, or is empty. */
static void
add(struct run *r, struct part *p)
{
	const struct place *x = &r->places[r->n];
	struct slice s = r->of[r->n] = cut(p, x->bytes);
	uint64_t data_at = x->at + FRAGMENT_DATA_AT + s.skip;

	if (r->n == 0)
		r->at = r->end = is_whole(&s, x) ? x->at : data_at;
	size_t gap = (size_t)(data_at - r->end);
	if (gap > 0)
		r->iov[r->niov++] =
		    (struct iovec){ r->gap[r->n] + GAP_MOST - gap, gap };
	r->iov[r->niov++] = (struct iovec){ s.to, s.n };
	r->end = data_at + s.n;
	r->n++;
	p->at += x->bytes;
}

static int
err_damaged(struct packs *packs, const struct place *x, struct err *e)
{
	return err_set(e, ERR_FORMAT, "%s: the record at byte %" PRIu64 " is damaged",
	    packs_name(packs, x->slot).text, x->at);
}

/* Has the fragment the SHA-256 that its image says?  True where nobody has looked that up. */
static bool
is_own(const struct part *p, const uint8_t *data, const struct place *x)
{
	const struct rebuild_facts *f = p->facts;
	uint8_t digest[SHA256_BYTES];

	if (f->digests == NULL)
		return true;
	sha256(data, x->bytes, digest);
	return memcmp(digest, f->digests + (x - f->places) * SHA256_BYTES, sizeof digest) == 0;
}

/* The two heads of fragment i of a run, which was read whole. */
static const uint8_t *
heads_of(const struct run *r, unsigned i)
{
	return r->gap[i] + GAP_MOST - FRAGMENT_DATA_AT;
}

/* Compare a fragment that was read whole with the checksum of its record. */
static bool
is_right(const struct part *p, const struct run *r, unsigned i)
{
	const uint8_t *head = heads_of(r, i);
	const struct place *x = &r->places[i];
	struct record_head h;

	if (!record_get_head(&h, head, RECORD_HEAD_BYTES) || h.type != RECORD_FRAGMENT ||
	    h.body_bytes != FRAGMENT_HEAD_BYTES + x->bytes)
		return false;
	uint32_t crc = crc32c(head + RECORD_HEAD_BYTES, FRAGMENT_HEAD_BYTES);
	return crc32c_more(crc, r->of[i].to, x->bytes) == h.body_crc &&
	       is_own(p, r->of[i].to, x);
}

/* Note what the head of fragment i of a run says of its data. */
static void
note_raw(struct part *p, const struct run *r, unsigned i)
{
	struct fragment_raw *raw = &p->r->raws[&r->places[i] - p->facts->places];
	struct rd head = rd_from(heads_of(r, i) + RECORD_HEAD_BYTES, FRAGMENT_HEAD_BYTES);

	rd_skip(&head, SHA256_BYTES);
	memcpy(raw->digest, rd_bytes(&head, RAW_DIGEST_BYTES), RAW_DIGEST_BYTES);
	raw->bytes = rd_le32(&head);
}

typedef ssize_t read_fn(struct packs *, uint32_t slot, const struct iovec *, int n, uint64_t at,
    struct err *);

static int
read_run(struct part *p, const struct run *r, read_fn *fn, struct err *e)
{
	struct packs *packs = p->r->packs;
	const struct place *x = r->places;
	ssize_t got = fn(packs, x->slot, r->iov, r->niov, r->at, e);

	if (got < 0)
		return -1;
	if ((uint64_t)got != r->end - r->at)
		return err_set(e, ERR_FORMAT,
		    "%s: ends before its fragment at byte %" PRIu64 " does",
		    packs_name(packs, x->slot).text, x->at);
	for (unsigned i = 0; i < r->n; i++) {
		if (p->whole)
			note_raw(p, r, i);
		else if (is_whole(&r->of[i], &x[i]) && !is_right(p, r, i))
			return err_damaged(packs, &x[i], e);
	}
	return 0;
}

/* Read the next fragments, at most n of them, that lie one behind the other.  Returns how
 * many, or -1.  What a server or the cache said of a part may be wrong where the pack is
 * right. */
static ssize_t
put_fragments(struct part *p, const struct place *x, size_t n, struct err *e)
{
	struct run *r = &p->r->run;

	r->n = 0;
	r->niov = 0;
	r->places = x;
	do
		add(r, p);
	while (r->n < n && r->n < RUN_MOST && p->at < p->end &&
	       place_follows(&x[r->n - 1], &x[r->n]));
	int rc = read_run(p, r, p->whole ? packs_readv : packs_read_range, e);
	if (rc != 0 && e->kind == ERR_FORMAT && !p->whole &&
	    !packs_are_files(p->r->packs))
		rc = read_run(p, r, packs_readv, e);
	return rc == 0 ? (ssize_t)r->n : -1;
}

static int
put_pieces(struct part *p, struct err *e)
{
	const struct place *x = p->facts->places;

	for (size_t i = 0; i < p->c->npieces && p->at < p->end;) {
		ssize_t n = 1;
		if (p->at + x[i].bytes <= p->from)
			p->at += x[i].bytes;
		else if (is_zeros(&x[i]))
			n = put_zeros(p, &x[i], e) == 0 ? 1 : -1;
		else if (is_given(&x[i]))
			put_given(p, i);
		else
			n = put_fragments(p, &x[i], p->c->npieces - i, e);
		if (n < 0)
			return -1;
		i += (size_t)n;
	}
	return 0;
}

/* Do the pieces add up to the stream of the recipe? */
static int
check_lengths(const struct recipe_chunk *c, const struct place *places, struct err *e)
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

/* Put what is behind the stream, and the fragment table in it. */
static void
put_rest(struct part *p, const struct fragment_raw *raws)
{
	const struct recipe_chunk *c = p->c;
	size_t first = c->table != EXT_TABLE_NONE ? c->table_at : c->rest_bytes;
	uint8_t entry[EXT_ENTRY_BYTES];

	put(p, c->rest, first);
	for (size_t i = 0; c->table != EXT_TABLE_NONE && i < c->npieces; i++) {
		const struct ext_fragment f = rebuild_entry(
		    &c->pieces[i], p->facts->places[i].bytes, raws[i].bytes, raws[i].digest);
		ext_put_entry(c->table, &f, entry);
		put(p, entry, sizeof entry);
	}
	put(p, c->rest + first, c->rest_bytes - first);
}

/* Put what the part has of the chunk. */
static int
fill(struct part *p, struct err *e)
{
	const struct recipe_chunk *c = p->c;
	size_t tail = c->codec != NULL ? c->codec->tail_bytes : 0;

	put(p, c->header, c->header_bytes);
	clear(p, NDZ_HEADER_BYTES);
	if (p->end <= NDZ_HEADER_BYTES)
		return 0;
	if (c->redeflated)
		return err_set(e, ERR_FORMAT, "its stream is redeflated, and nothing says so");
	if (check_lengths(c, p->facts->places, e) != 0)
		return -1;
	if (c->codec != NULL)
		put(p, c->stream_head, c->codec->head_bytes);
	if (put_pieces(p, e) != 0)
		return -1;
	p->at = NDZ_HEADER_BYTES + c->stream_bytes - tail;
	put(p, c->stream_tail, tail);
	put_rest(p, p->whole ? p->r->raws : p->facts->raws);
	return 0;
}

int
rebuild_part(struct rebuilder *r, const struct recipe_chunk *c, const struct rebuild_facts *f,
    size_t at, size_t n, void *out, struct err *e)
{
	struct part p = {
		.from = at, .end = at + n, .out = out, .r = r, .c = c, .facts = f
	};

	if (fill(&p, e) != 0)
		return -1;
	clear(&p, p.at < p.end ? p.end : p.at);
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
prove_pieces(struct rebuilder *r, const struct recipe_chunk *c, const struct rebuild_facts *f,
    const uint8_t *data, struct err *e)
{
	struct sha256_message *v = r->messages;
	size_t n = 0;

	for (size_t i = 0; i < c->npieces; data += f->places[i++].bytes)
		if (!is_zeros(&f->places[i]))
			v[n++] = (struct sha256_message){ .data = data, .bytes = f->places[i].bytes };
	sha256_many(v, n);
	for (size_t i = 0; i < c->npieces; i++)
		if (!is_zeros(&f->places[i]) &&
		    memcmp(v++->digest, f->digests + i * SHA256_BYTES, SHA256_BYTES) != 0)
			return err_digest(r, &c->pieces[i], &f->places[i], e);
	return 0;
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

int
rebuild_chunk(struct rebuilder *r, const struct recipe_chunk *c, const struct rebuild_facts *f,
    uint8_t *out, struct err *e)
{
	struct part p = {
		.end = NDZ_CHUNK_BYTES, .out = out, .r = r, .c = c, .facts = f, .whole = true
	};
	size_t head = NDZ_HEADER_BYTES + (c->codec != NULL ? c->codec->head_bytes : 0);

	if (c->redeflated)
		return rebuild_redeflated(r, c, f->places, out, e);
	if (make_room(r, c->npieces, e) != 0 || fill(&p, e) != 0)
		return -1;
	if (f->digests != NULL && prove_pieces(r, c, f, out + head, e) != 0)
		return -1;
	size_t end = p.at;
	clear(&p, p.end);
	return crc32c(out, end) == c->crc ? 0 : blame(r, c, f->places, e);
}
