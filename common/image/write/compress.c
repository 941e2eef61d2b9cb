/* compress.c: windows become fragments.  encode.c calls compress_batch() in the
 * compressors' threads and batch_pack() in the packer's; estimate.c has a compressor of
 * its own in imagezip's first thread. */
#include "common/image/write/compress.h"

#include <assert.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/zero.h"
#include "common/image/format/cut.h"

enum {
	/* Less room than this is left as it is: two halves of a window are some hundred bytes
	 * longer than the whole, and three of them are compressed for it. */
	PART_MIN_BYTES = 4096,
	/* The part that fills a chunk is found by trying.  It is good when it wastes less than
	 * this; it is meant to waste the half, so that few tries are needed. */
	PART_WASTE_BYTES = 4096,
	PART_SPARE_BYTES = PART_WASTE_BYTES / 2,
	PART_TRIES = 3,
};

int
compressor_init(struct compressor *z, const struct codec_choice *choice, struct err *e)
{
	*z = (struct compressor){ .codec = choice->codec,
		.encoder = choice->codec->encoder_new(choice->level),
		.several = choice->codec->windows > 1 };
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

static uint8_t *
run_out(struct batch *b, const struct run *r)
{
	return b->out + b->out_at[r->first];
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
	f.data = b->out + b->out_at[r->first];
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

/* Compress the first n bytes of window i into out.  `all`: as fragment_bytes of window(). */
static size_t
compress_bytes(struct compressor *z, struct batch *b, unsigned i, size_t n, size_t all,
    uint8_t *out)
{
	const uint8_t *raw = b->raw + b->raw_at[i];

	b->adlers[i] = adler_of(raw, n);
	return z->codec->window(z->encoder, all, raw, n, out, n + WINDOW_SLACK_BYTES);
}

static void
compress_window(struct compressor *z, struct batch *b, const struct run *r, unsigned k)
{
	unsigned i = r->first + k;
	size_t at = k == 0 ? 0 : b->ends[i - 1];
	size_t all = k == 0 ? raw_bytes(b, r->first, r->n) : 0;

	b->ends[i] = at + compress_bytes(z, b, i, raw_bytes(b, i, 1), all,
			      run_out(b, r) + at);
}

/* End the fragment of a run that gets no more windows. */
static void
end_run(struct compressor *z, struct batch *b, struct run *r)
{
	z->codec->end(run_out(b, r), b->ends[r->first + r->n - 1]);
}

static const void *
run_raw(const struct batch *b, const struct run *r)
{
	return b->raw + b->raw_at[r->first];
}

static size_t
run_raw_bytes(const struct batch *b, const struct run *r)
{
	return raw_bytes(b, r->first, r->n);
}

static bool
lacks_digest(const struct run *r)
{
	return !r->zero && !r->hashed;
}

/* Note the raw data of the runs that lack a digest; returns how many they are. */
static size_t
note_runs(const struct batch *b, struct sha256_message *v)
{
	size_t n = 0;

	for (const struct run *r = b->runs; r < b->runs + b->nruns; r++)
		if (lacks_digest(r))
			v[n++] = (struct sha256_message){ .data = run_raw(b, r),
				.bytes = run_raw_bytes(b, r) };
	return n;
}

/* Give their digests to the runs that note_runs() noted. */
static void
put_digests(struct batch *b, const struct sha256_message *v)
{
	for (struct run *r = b->runs; r < b->runs + b->nruns; r++) {
		if (!lacks_digest(r))
			continue;
		memcpy(r->digest, v++->digest, sizeof r->digest);
		r->hashed = true;
	}
}

void
batch_hash(struct batch *b, struct batch *other)
{
	struct sha256_message v[2 * BATCH_PARTS];
	size_t n = note_runs(b, v);

	sha256_many(v, n + (other != NULL ? note_runs(other, v + n) : 0));
	put_digests(b, v);
	if (other != NULL)
		put_digests(other, v + n);
}

bool
batch_hash_odd(const struct batch *b)
{
	bool odd = false;

	for (unsigned i = 0; i < b->nruns; i++)
		odd ^= lacks_digest(&b->runs[i]);
	return odd;
}

/* The room in front of the first run that is not settled, as far as it is known. */
struct view {
	const struct rooms *rooms; /* or NULL: it is known */
	bool known;
	struct packer_room room;
};

static bool
know(struct view *v)
{
	if (!v->known && v->rooms->ask != NULL)
		v->known = v->rooms->ask(v->rooms->arg, &v->room);
	return v->known;
}

/* The room that the run has, if there is `room` in front of it. */
static struct packer_room
room_of(const struct batch *b, const struct run *r, const struct packer_room *room)
{
	bool begins = r->begins || b->windows[r->first].fresh;

	return begins && room->nregions > 0 ? packer_room_next(room) : *room;
}

/* Do the first n windows of the run fit its chunk? */
static bool
run_fits(const struct batch *b, const struct run *r, unsigned n,
    const struct packer_room *room)
{
	struct run so_far = { .first = r->first, .n = n };
	struct packer_room own = room_of(b, r, room);

	return run_fitting(b, &so_far, &own) == n;
}

/* Compress the windows of a run, of the batch's last one only until one is known not to fit.  It
 * is given up if the runs before it can be settled now, which needs the encoder.  v may be
 * NULL. */
static void
compress_run(struct compressor *z, struct batch *b, struct run *r, struct view *v)
{
	r->again = false;
	for (unsigned k = 0; k < r->n; k++) {
		compress_window(z, b, r, k);
		if (v == NULL || r->n == 1 || !know(v))
			continue;
		r->again = b->settled + 1 < b->nruns;
		if (r->again)
			return;
		r->stopped = !run_fits(b, r, k + 1, &v->room);
		if (r->stopped)
			r->n = k + 1;
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

/* Add the next run to the batch; the last one gives way to it if that is to be compressed again.
 * False: all windows are in runs. */
static bool
next_run(const struct compressor *z, struct batch *b)
{
	struct run r = b->nruns > 0 ? b->runs[b->nruns - 1] : (struct run){ 0 };

	b->nruns -= r.again;
	r = (struct run){ .first = r.first + (r.again ? 0 : r.n),
		.begins = r.again && r.begins };
	if (r.first == b->n)
		return false;
	r.n = run_length(b, r.first, z->several ? b->n : 1);
	r.zero = r.n == 0;
	r.n += r.zero;
	b->runs[b->nruns++] = r;
	return true;
}

/* Let run k end behind its first n windows; the others become run k + 1. */
static void
cut_run(struct batch *b, unsigned k, unsigned n)
{
	struct run *r = &b->runs[k];

	memmove(r + 2, r + 1, (b->nruns - k - 1) * sizeof *r);
	b->nruns++;
	r[1] = (struct run){ .first = r->first + n, .n = r->n - n };
	r->n = n;
	r->hashed = false;
}

#define INSERT(array, at, n) \
	memmove(&(array)[(at) + 1], &(array)[at], ((n) - (at)) * sizeof *(array))

/* Split window i, which begins run k, behind so many of its sectors: the rest is a window of
 * its own behind it, in the same run. */
static void
split_window(struct batch *b, unsigned k, unsigned i, uint64_t sectors)
{
	size_t bytes = sectors * SECTOR_BYTES;

	INSERT(b->windows, i, b->n);
	INSERT(b->raw_at, i, b->n + 1);
	INSERT(b->out_at, i, b->n);
	INSERT(b->ends, i, b->n);
	INSERT(b->adlers, i, b->n);
	b->n++;
	window_split(&b->windows[i], sectors, &b->windows[i + 1]);
	b->raw_at[i + 1] = b->raw_at[i] + bytes;
	b->out_at[i + 1] = b->out_at[i] + bytes + WINDOW_SLACK_BYTES;
	b->runs[k].n++;
	while (++k < b->nruns)
		b->runs[k].first++;
}

/* So many sectors of a window, and how many bytes they are compressed. */
struct part {
	uint64_t sectors;
	size_t bytes;
};

/* Compress as many sectors of window i as are about `most` bytes, given a part that is no
 * longer than that, and one that is. */
static struct part
try_part(struct compressor *z, struct batch *b, unsigned i, const struct part *fits,
    const struct part *not, size_t most)
{
	uint64_t aim = most - fits->bytes > PART_SPARE_BYTES ? most - PART_SPARE_BYTES : most;
	uint64_t more = (not->sectors - fits->sectors) * (aim - fits->bytes) /
	                (not->bytes - fits->bytes);
	struct part p = { .sectors = window_split_at(&b->windows[i], fits->sectors + more) };
	size_t n = p.sectors * SECTOR_BYTES;

	if (p.sectors > fits->sectors)
		p.bytes = compress_bytes(z, b, i, n, n, b->out + b->out_at[i]);
	return p;
}

/* Find the part of window i that fits `most` bytes, fewer than those of all of it, and
 * compress it.  Returns its sectors, or 0. */
static uint64_t
find_part(struct compressor *z, struct batch *b, unsigned i, size_t whole, size_t most)
{
	struct part fits = { 0 }, last = { 0 };
	struct part not = { window_bytes(&b->windows[i]) / SECTOR_BYTES, whole };

	for (unsigned tries = 0; tries < PART_TRIES; tries++) {
		struct part p = try_part(z, b, i, &fits, &not, most);
		if (p.sectors <= fits.sectors)
			break;
		last = p;
		*(p.bytes <= most ? &fits : &not) = p;
		if (p.bytes <= most && most - p.bytes < PART_WASTE_BYTES)
			break;
	}
	size_t n = fits.sectors * SECTOR_BYTES;
	if (n > 0 && last.sectors != fits.sectors)
		compress_bytes(z, b, i, n, n, b->out + b->out_at[i]);
	b->ends[i] = fits.bytes;
	return fits.sectors;
}

static bool
part_is_zero(const struct batch *b, unsigned i, uint64_t sectors)
{
	const uint8_t *raw = b->raw + b->raw_at[i];
	size_t n = sectors * SECTOR_BYTES;

	return is_zero(raw, n) || is_zero(raw + n, raw_bytes(b, i, 1) - n);
}

/* Split window i, the first one of run k, so that a part of it fills the room: run k becomes
 * this part.  `whole`: how many bytes all of it has.  False: it is not split. */
static bool
fill_room(struct compressor *z, struct batch *b, unsigned k, size_t whole,
    const struct packer_room *room)
{
	struct run *r = &b->runs[k];
	const struct window *w = &b->windows[r->first];
	const struct fragment f = { .windows = w, .nwindows = 1 };
	ssize_t most = packer_room_most(room, &f);

	if (!z->split || r->zero || w->nrelocs > 0 || b->n == BATCH_PARTS ||
	    most < PART_MIN_BYTES || whole <= (size_t)most)
		return false;
	r->again = true;
	uint64_t sectors = find_part(z, b, r->first, whole, (size_t)most);
	if (sectors == 0 || part_is_zero(b, r->first, sectors))
		return false;
	split_window(b, k, r->first, sectors);
	cut_run(b, k, 1);
	r[1].again = true;
	r->again = false;
	end_run(z, b, r);
	return true;
}

/* Settle run k, which fits the room. */
static void
settle_whole(struct batch *b, struct packer_room *room)
{
	struct fragment f = run_fragment(b, &b->runs[b->settled++]);

	packer_room_add(room, &f);
}

/* Cut the first run that is not settled, of which n windows fit, such that what fits is
 * settled, and the rest begins a chunk. */
static void
settle_cut(struct compressor *z, struct batch *b, unsigned n, struct packer_room *room)
{
	struct run *r = &b->runs[b->settled];
	unsigned i = r->first + n;
	size_t whole = b->ends[i] - (n > 0 ? b->ends[i - 1] : 0);

	if (n > 0) {
		cut_run(b, b->settled, n);
		r[1].again = true;
		end_run(z, b, r);
		settle_whole(b, room);
	}
	if (fill_room(z, b, b->settled, whole, room))
		settle_whole(b, room);
	r = &b->runs[b->settled];
	r->begins = true;
	r->again |= r->stopped;
}

/* Settle all runs, but not the last one if that is to be compressed again. */
static void
settle(struct compressor *z, struct batch *b, struct packer_room *room)
{
	while (b->settled < b->nruns) {
		struct run *r = &b->runs[b->settled];
		if (r->again && b->settled + 1 == b->nruns)
			return;
		if (r->again)
			compress_run(z, b, r, NULL);
		*room = room_of(b, r, room);
		r->begins |= room->nregions == 0;
		unsigned n = run_fitting(b, r, room);
		assert(n > 0 || room->nregions > 0); /* a window fits an empty chunk */
		if (n == r->n)
			settle_whole(b, room);
		else
			settle_cut(z, b, n, room);
	}
}

/* Compress what is not in runs yet, and settle what can be settled. */
static void
go_on(struct compressor *z, struct batch *b, struct view *v)
{
	for (;;) {
		if (know(v))
			settle(z, b, &v->room);
		if (!next_run(z, b))
			return;
		struct run *r = &b->runs[b->nruns - 1];
		if (!r->zero)
			compress_run(z, b, r, v);
	}
}

/* Begin with the work on a batch. */
static void
begin(struct batch *b)
{
	b->nruns = b->settled = 0;
	for (unsigned i = 0; i < b->n; i++)
		b->out_at[i] = b->raw_at[i] + (size_t)i * 2 * WINDOW_SLACK_BYTES;
}

void
compress_batch(struct compressor *z, struct batch *b, const struct rooms *rooms)
{
	struct view v = { .rooms = rooms };

	begin(b);
	go_on(z, b, &v);
	if (v.known)
		rooms->tell(rooms->arg, &v.room);
}

/* Take the fragment of the run's one window from whoever knows it.  False: nobody does. */
static bool
take_known(
    const struct compressor *z, struct batch *b, const struct run *r, const struct precompressed *k)
{
	size_t n = run_raw_bytes(b, r);

	b->ends[r->first] = k->find(
	    k->arg, z->codec, r->digest, n, run_out(b, r), n + WINDOW_SLACK_BYTES);
	if (b->ends[r->first] == 0)
		return false;
	b->adlers[r->first] = adler_of(run_raw(b, r), n);
	return true;
}

void
compress_unknown(struct compressor *z, struct batch *b, const struct precompressed *k)
{
	assert(!z->several);
	begin(b);
	while (next_run(z, b))
		;
	batch_hash(b, NULL);
	for (struct run *r = b->runs; r < b->runs + b->nruns; r++)
		if (!r->zero && !take_known(z, b, r, k))
			compress_run(z, b, r, NULL);
}

static int
pack_run(struct packer *p, struct batch *b, const struct run *r, struct err *e)
{
	const struct fragment f = run_fragment(b, r);

	if (r->begins)
		packer_end_chunk(p);
	if (packer_add(p, &f, e) != 0)
		return -1;
	/* The windows are in the open chunk, which comes behind the closed ones. */
	for (unsigned i = r->first; i < r->first + r->n; i++)
		b->chunks[i] = packer_chunks(p);
	return 0;
}

int
batch_pack(struct packer *p, struct compressor *z, struct batch *b, struct err *e)
{
	struct view v = { .known = true, .room = packer_room(p) };

	if (b->settled < b->nruns)
		go_on(z, b, &v);
	batch_hash(b, NULL);
	for (unsigned i = 0; i < b->nruns; i++)
		if (pack_run(p, b, &b->runs[i], e) != 0)
			return -1;
	return 0;
}
