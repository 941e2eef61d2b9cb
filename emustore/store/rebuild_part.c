/* rebuild_part.c: puts a part of a chunk together.  Called by stored.c, in the thread that
 * reads an image.
 *
 * A chunk is a row of runs of bytes: the header area, the ends of the stream with the pieces
 * between them, and what is behind the stream.  Of each run only the bytes are copied that
 * the part has, and of each fragment only those are read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/sha256.h"
#include "emustore/store/rebuild.h"

enum {
	RUN_MOST = 64, /* fragments that are read with one call */
	/* The padding of the record before, and the two heads of a record. */
	GAP_MOST = RECORD_ALIGN - 1 + FRAGMENT_DATA_AT,
};

/* The part that is wanted, and the byte of the chunk that is next. */
struct part {
	size_t from, end, at;
	uint8_t *out;
	const struct recipe_chunk *c;
	const struct place *places; /* of the pieces of c */
	struct rd digests;
};

/* Which of the next bytes of the chunk are in the part. */
struct slice {
	size_t skip, n;
	uint8_t *to;
};

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

static int
put_zeros(struct part *p, const struct place *x, struct err *e)
{
	uint8_t *bytes = malloc(x->bytes + 1u);

	if (bytes == NULL)
		return err_nomem(e, "a chunk's zeros");
	p->c->codec->zeros(x->at, bytes);
	put(p, bytes, x->bytes);
	free(bytes);
	return 0;
}

/* Fragments that lie one behind the other in a pack, as they are read with one call. */
struct run {
	unsigned n;
	const struct place *places;
	struct slice of[RUN_MOST];
	uint8_t gap[RUN_MOST][GAP_MOST]; /* what is read in front of each; heads are last */
	int niov;
	struct iovec iov[2 * RUN_MOST];
	uint64_t at, end; /* bytes of the pack */
};

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
	uint64_t number = p->c->pieces[x - p->places].number;
	uint8_t digest[SHA256_BYTES];

	if (number >= p->digests.len / SHA256_BYTES)
		return true;
	sha256(data, x->bytes, digest);
	return memcmp(digest, p->digests.base + number * SHA256_BYTES, sizeof digest) == 0;
}

/* Compare a fragment that was read whole with the checksum of its record. */
static bool
is_right(const struct part *p, const struct run *r, unsigned i)
{
	const uint8_t *head = r->gap[i] + GAP_MOST - FRAGMENT_DATA_AT;
	const struct place *x = &r->places[i];
	struct record_head h;

	if (!record_get_head(&h, head, RECORD_HEAD_BYTES) || h.type != RECORD_FRAGMENT ||
	    h.body_bytes != FRAGMENT_HEAD_BYTES + x->bytes)
		return false;
	uint32_t crc = crc32c(head + RECORD_HEAD_BYTES, FRAGMENT_HEAD_BYTES);
	return crc32c_more(crc, r->of[i].to, x->bytes) == h.body_crc &&
	       is_own(p, r->of[i].to, x);
}

typedef ssize_t read_fn(struct packs *, uint32_t slot, const struct iovec *, int n, uint64_t at,
    struct err *);

static int
read_run(struct packs *packs, const struct part *p, const struct run *r, read_fn *fn,
    struct err *e)
{
	const struct place *x = r->places;
	ssize_t got = fn(packs, x->slot, r->iov, r->niov, r->at, e);

	if (got < 0)
		return -1;
	if ((uint64_t)got != r->end - r->at)
		return err_set(e, ERR_FORMAT,
		    "%s: ends before its fragment at byte %" PRIu64 " does",
		    packs_name(packs, x->slot).text, x->at);
	for (unsigned i = 0; i < r->n; i++)
		if (is_whole(&r->of[i], &x[i]) && !is_right(p, r, i))
			return err_damaged(packs, &x[i], e);
	return 0;
}

/* Read the next fragments, at most n of them, that lie one behind the other.  Returns how
 * many, or -1.  What a server or the cache said may be wrong where the pack is right. */
static ssize_t
put_fragments(struct packs *packs, struct part *p, const struct place *x, size_t n,
    struct err *e)
{
	struct run r = { .places = x };

	do
		add(&r, p);
	while (r.n < n && r.n < RUN_MOST && p->at < p->end &&
	       place_follows(&x[r.n - 1], &x[r.n]));
	int rc = read_run(packs, p, &r, packs_read_range, e);
	if (rc != 0 && e->kind == ERR_FORMAT && !packs_are_files(packs))
		rc = read_run(packs, p, &r, packs_readv, e);
	return rc == 0 ? (ssize_t)r.n : -1;
}

static int
put_pieces(struct packs *packs, struct part *p, struct err *e)
{
	const struct place *x = p->places;

	for (size_t i = 0; i < p->c->npieces && p->at < p->end;) {
		ssize_t n = 1;
		if (p->at + x[i].bytes <= p->from)
			p->at += x[i].bytes;
		else if (x[i].slot == (uint32_t)PLACE_ZEROS)
			n = put_zeros(p, &x[i], e) == 0 ? 1 : -1;
		else
			n = put_fragments(packs, p, &x[i], p->c->npieces - i, e);
		if (n < 0)
			return -1;
		i += (size_t)n;
	}
	return 0;
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
		    &c->pieces[i], p->places[i].bytes, raws[i].bytes, raws[i].digest);
		ext_put_entry(c->table, &f, entry);
		put(p, entry, sizeof entry);
	}
	put(p, c->rest + first, c->rest_bytes - first);
}

int
rebuild_part(struct packs *packs, const struct recipe_chunk *c, const struct place *x,
    const struct rebuild_facts *facts, size_t at, size_t n, void *out, struct err *e)
{
	struct part p = { .from = at,
		.end = at + n,
		.out = out,
		.c = c,
		.places = x,
		.digests = facts->digests };
	size_t tail = c->codec != NULL ? c->codec->tail_bytes : 0;

	memset(out, 0, n);
	put(&p, c->header, c->header_bytes);
	if (p.end <= NDZ_HEADER_BYTES)
		return 0;
	if (c->redeflated)
		return err_set(e, ERR_FORMAT, "its stream is redeflated, and nothing says so");
	if (rebuild_check_lengths(c, x, e) != 0)
		return -1;
	p.at = NDZ_HEADER_BYTES;
	if (c->codec != NULL)
		put(&p, c->stream_head, c->codec->head_bytes);
	if (put_pieces(packs, &p, e) != 0)
		return -1;
	p.at = NDZ_HEADER_BYTES + c->stream_bytes - tail;
	put(&p, c->stream_tail, tail);
	put_rest(&p, facts->raws);
	return 0;
}
