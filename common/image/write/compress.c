/* compress.c: windows become fragments.  encode.c calls compress_batch() in the
 * compressors' threads and batch_pack() in the packer's; estimate.c has a compressor of
 * its own in imagezip's first thread. */
#include "common/image/write/compress.h"

#include <assert.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/zero.h"
#include "common/image/format/cut.h"

int
compressor_init(struct compressor *z, const struct codec_choice *choice, struct err *e)
{
	*z = (struct compressor){ .codec = choice->codec,
		.encoder = choice->codec->encoder_new(choice->level) };
	assert(z->codec->bound(CUT_WINDOW_BYTES_MAX) <=
	       CUT_WINDOW_BYTES_MAX + WINDOW_SLACK_BYTES);
	return z->encoder != NULL ? 0 : err_nomem(e, "a compressor");
}

void
compressor_free(struct compressor *z)
{
	if (z->encoder != NULL)
		z->codec->encoder_free(z->encoder);
}

static size_t
raw_bytes(const struct batch *b, unsigned first, unsigned n)
{
	return b->raw_at[first + n] - b->raw_at[first];
}

bool
batch_has_room(const struct batch *b, size_t bytes)
{
	return b->n < BATCH_WINDOWS && BATCH_BYTES - b->raw_at[b->n] >= bytes;
}

/* Where a run's bytes begin in out. */
static size_t
run_at(const struct batch *b, const struct run *r)
{
	return b->raw_at[r->first] + (size_t)r->first * WINDOW_SLACK_BYTES;
}

static uint8_t *
run_out(struct batch *b, const struct run *r)
{
	return b->out + run_at(b, r);
}

/* The fragment of a run; it borrows from the batch. */
static struct fragment
run_fragment(const struct batch *b, const struct run *r)
{
	struct fragment f = { .windows = &b->windows[r->first],
		.nwindows = r->n,
		.zero = r->zero,
		.adler = adler_of(NULL, 0) };

	if (r->zero)
		return f;
	f.data = b->out + run_at(b, r);
	f.bytes = (uint32_t)b->ends[r->first + r->n - 1];
	memcpy(f.digest, r->digest, sizeof f.digest);
	for (unsigned i = r->first; i < r->first + r->n; i++)
		f.adler = adler_combine(f.adler, b->adlers[i], raw_bytes(b, i, 1));
	return f;
}

/* How many windows of the run fit into the room? */
static unsigned
run_fitting(const struct batch *b, const struct run *r, const struct packer_room *room)
{
	struct fragment f = { .windows = &b->windows[r->first], .zero = r->zero };

	while (f.nwindows < r->n) {
		f.bytes = r->zero ? 0 : (uint32_t)b->ends[r->first + f.nwindows];
		f.nwindows++;
		if (!packer_room_for(room, &f))
			return f.nwindows - 1;
	}
	return r->n;
}

static void
compress_window(struct compressor *z, struct batch *b, const struct run *r, unsigned k)
{
	unsigned i = r->first + k;
	size_t at = k == 0 ? 0 : b->ends[i - 1], n = raw_bytes(b, i, 1);
	const uint8_t *raw = b->raw + b->raw_at[i];

	b->ends[i] = at + z->codec->window(z->encoder,
			      k == 0 ? raw_bytes(b, r->first, r->n) : 0, raw, n,
			      run_out(b, r) + at, n + WINDOW_SLACK_BYTES);
	b->adlers[i] = adler_of(raw, n);
}

/* End the fragment of a run that gets no more windows. */
static void
end_run(struct compressor *z, struct batch *b, struct run *r)
{
	z->codec->end(run_out(b, r), b->ends[r->first + r->n - 1]);
}

/* A run whose digest is wanted, in a batch. */
struct hashing {
	const struct batch *b;
	struct run *r;
};

static const void *
run_raw(const struct hashing *h)
{
	return h->b->raw + h->b->raw_at[h->r->first];
}

static size_t
run_raw_bytes(const struct hashing *h)
{
	return raw_bytes(h->b, h->r->first, h->r->n);
}

static void
hash_one(const struct hashing *h)
{
	uint8_t digest[SHA256_BYTES];

	sha256(run_raw(h), run_raw_bytes(h), digest);
	memcpy(h->r->digest, digest, sizeof h->r->digest);
}

static void
hash_two(const struct hashing *g, const struct hashing *h)
{
	uint8_t one[SHA256_BYTES], two[SHA256_BYTES];

	sha256_pair(
	    run_raw(g), run_raw_bytes(g), run_raw(h), run_raw_bytes(h), one, two);
	memcpy(g->r->digest, one, sizeof g->r->digest);
	memcpy(h->r->digest, two, sizeof h->r->digest);
}

/* Make the digests of the batch's runs, two at a time.  A run that waits for a second one
 * is in *waits, whose r is NULL when none waits. */
static void
hash_runs(struct batch *b, struct hashing *waits)
{
	for (struct run *r = b->runs; r < b->runs + b->nruns; r++) {
		struct hashing h = { b, r };
		if (r->zero)
			continue;
		if (waits->r != NULL)
			hash_two(waits, &h);
		*waits = waits->r != NULL ? (struct hashing){ 0 } : h;
	}
}

void
batch_hash(struct batch *b, struct batch *other)
{
	struct hashing waits = { 0 };

	hash_runs(b, &waits);
	if (other != NULL)
		hash_runs(other, &waits);
	if (waits.r != NULL)
		hash_one(&waits);
}

bool
batch_hash_odd(const struct batch *b)
{
	bool odd = false;

	for (unsigned i = 0; i < b->nruns; i++)
		odd ^= !b->runs[i].zero;
	return odd;
}

/* The room in front of a run, as far as it can be known while the batch is being
 * compressed. */
struct view {
	const struct rooms *rooms;
	bool known;
	bool lost; /* a run does not fit: only the packer will know the room behind it */
	struct packer_room room;
};

/* Let a new chunk begin in front of a run whose first window must begin one. */
static void
view_fresh(struct view *v, const struct batch *b, const struct run *r)
{
	if (b->windows[r->first].fresh && v->room.nregions > 0)
		v->room = packer_room_next(&v->room);
}

/* Take off the room of the run, in a new chunk if need be. */
static void
view_add(struct view *v, const struct batch *b, const struct run *r)
{
	struct fragment f = run_fragment(b, r);

	view_fresh(v, b, r);
	if (run_fitting(b, r, &v->room) == 0)
		v->room = packer_room_next(&v->room);
	v->lost = run_fitting(b, r, &v->room) < r->n;
	if (r->cut)
		v->room = packer_room_next(&v->room);
	else if (!v->lost)
		packer_room_add(&v->room, &f);
}

/* Look at the room in front of run r.  The packer tells the room at the batch's beginning; the
 * runs before r are added here.  False: the room is not known. */
static bool
view_look(struct view *v, const struct batch *b, const struct run *r)
{
	if (v->known || v->lost || v->rooms->ask == NULL)
		return v->known && !v->lost;
	v->known = v->rooms->ask(v->rooms->arg, &v->room);
	for (const struct run *i = b->runs; v->known && !v->lost && i < r; i++)
		view_add(v, b, i);
	return v->known && !v->lost;
}

/* Compress the run's windows, until one is known not to fit.  When even the first one does
 * not fit, all of them are for a new chunk. */
static void
compress_run(struct compressor *z, struct batch *b, struct run *r, struct view *v)
{
	for (unsigned k = 0; k < r->n; k++) {
		compress_window(z, b, r, k);
		if (v == NULL || !view_look(v, b, r))
			continue;
		view_fresh(v, b, r);
		struct run so_far = { .first = r->first, .n = k + 1 };
		unsigned fitting = run_fitting(b, &so_far, &v->room);
		if (fitting == 0) {
			v->room = packer_room_next(&v->room);
			fitting = run_fitting(b, &so_far, &v->room);
		}
		if (fitting <= k) {
			r->n = fitting;
			r->cut = true;
		}
	}
	end_run(z, b, r);
}

/* How many windows from `first` on, at most `most`, can be one run; 0: the first one is zero. */
static unsigned
run_length(const struct batch *b, unsigned first, unsigned most)
{
	unsigned n = 0;

	while (first + n < b->n && n < most &&
	       (n == 0 || !b->windows[first + n].fresh) &&
	       !is_zero(b->raw + b->raw_at[first + n], raw_bytes(b, first + n, 1)))
		n++;
	return n;
}

void
compress_batch(struct compressor *z, struct batch *b, const struct rooms *rooms)
{
	struct view v = { .rooms = rooms };
	unsigned at = 0;

	b->nruns = 0;
	while (at < b->n) {
		struct run *r = &b->runs[b->nruns++];
		*r = (struct run){ .first = at,
			.n = run_length(b, at, z->codec->windows > 1 ? b->n : 1) };
		r->zero = r->n == 0;
		if (r->zero)
			r->n = 1;
		else
			compress_run(z, b, r, &v);
		if (v.known && !v.lost)
			view_add(&v, b, r);
		at += r->n;
	}
	if (view_look(&v, b, b->runs + b->nruns))
		rooms->tell(rooms->arg, &v.room);
}

/* Take the fragment of the run's one window from whoever knows it.  False: nobody does. */
static bool
take_known(
    const struct compressor *z, struct batch *b, const struct run *r, const struct known *k)
{
	struct hashing h = { b, (struct run *)r };
	size_t n = run_raw_bytes(&h);

	b->ends[r->first] = k->find(
	    k->arg, z->codec, r->digest, n, run_out(b, r), n + WINDOW_SLACK_BYTES);
	if (b->ends[r->first] == 0)
		return false;
	b->adlers[r->first] = adler_of(run_raw(&h), n);
	return true;
}

void
compress_unknown(struct compressor *z, struct batch *b, const struct known *k)
{
	assert(z->codec->windows == 1);
	b->nruns = b->n;
	for (unsigned i = 0; i < b->n; i++)
		b->runs[i] = (struct run){
			.first = i, .n = 1, .zero = run_length(b, i, 1) == 0
		};
	batch_hash(b, NULL);
	for (struct run *r = b->runs; r < b->runs + b->nruns; r++)
		if (!r->zero && !take_known(z, b, r, k))
			compress_run(z, b, r, NULL);
}

/* End a run behind n windows; *rest is the rest, which is compressed again. */
static void
run_cut(
    struct compressor *z, struct batch *b, struct run *r, unsigned n, struct run *rest)
{
	*rest = (struct run){ .first = r->first + n, .n = r->n - n };
	r->n = n;
	r->cut = true;
	end_run(z, b, r);
	compress_run(z, b, rest, NULL);
	hash_two(&(struct hashing){ b, r }, &(struct hashing){ b, rest });
}

/* Pack a run into the open chunk, and what does not fit into the next ones. */
static int
pack_run(struct packer *p, struct compressor *z, struct batch *b, struct run r,
    struct err *e)
{
	if (b->windows[r.first].fresh)
		packer_end_chunk(p);
	for (;;) {
		struct packer_room room = packer_room(p);
		struct run rest = { 0 };
		unsigned n = run_fitting(b, &r, &room);
		if (n == 0) {
			assert(room.nregions > 0); /* a window fits an empty chunk */
			packer_end_chunk(p);
			continue;
		}
		if (n < r.n)
			run_cut(z, b, &r, n, &rest);
		struct fragment f = run_fragment(b, &r);
		if (packer_add(p, &f, e) != 0)
			return -1;
		/* The windows are in the open chunk, which comes behind the closed ones. */
		for (unsigned i = r.first; i < r.first + r.n; i++)
			b->chunks[i] = packer_chunks(p);
		if (r.cut)
			packer_end_chunk(p);
		if (rest.n == 0)
			return 0;
		r = rest;
	}
}

int
batch_pack(struct packer *p, struct compressor *z, struct batch *b, struct err *e)
{
	for (unsigned i = 0; i < b->nruns; i++)
		if (pack_run(p, z, b, b->runs[i], e) != 0)
			return -1;
	return 0;
}
