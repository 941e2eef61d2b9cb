/* packer.c: fragments are put into chunks, and each chunk gets its header, table and
 * digests.  maker.c makes the packer and compress.c fills it, in the thread that makes the
 * image. */
#include "common/image/write/packer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/format/crypt.h"

enum { FREED_MAX = NDZ_CHUNK_BYTES / 16 };

/* A chunk being filled, or filled and waiting for its digest. */
struct open_chunk {
	uint8_t *bytes; /* NDZ_CHUNK_BYTES */
	struct ndz_header h;
	struct ext ext; /* its fragment table has room for EXT_FRAGMENTS_MAX */
	struct packer_room room;
	uint32_t adler;
	uint64_t zero_windows; /* the windows whose bytes room.zero_bytes counts */
};

struct packer {
	struct packer_config cfg;
	struct open_chunk chunks[2], *open;
	struct open_chunk *waits; /* the closed chunk in front of the open one, or NULL */
	uint32_t closed;          /* number of closed chunks */
	bool ended; /* the next fragment begins another chunk */
	size_t reserve; /* bytes of each chunk: cfg.reserve and the tail's record */
	struct reach *reach; /* a copy of cfg.reach, or NULL */
};

/* The bytes that n samples of the chunk take, and those that it shares. */
static size_t
samples_need(const struct packer_room *r, size_t n)
{
	if (r->basis == NULL)
		return 0;
	return ext_samples_need(n) + ext_samples_need(SAMPLES_SHARED_MAX);
}

static void
chunk_begin(struct packer *p, int32_t index, uint64_t firstsect)
{
	const struct codec *codec = p->cfg.codec.codec;
	struct open_chunk *c = p->open;
	struct basis *basis = p->cfg.basis;

	memset(c->bytes, 0, NDZ_HEADER_BYTES);
	c->h = (struct ndz_header){
		.version = p->cfg.version, .index = index, .firstsect = firstsect
	};
	memcpy(c->h.uuid, p->cfg.header_uuid, NDZ_UUID_BYTES);
	struct ext_fragment *table = c->ext.fragments;
	struct range *freed = c->ext.freed;
	struct samples samples = c->ext.samples, shared = c->ext.shared;
	c->ext = (struct ext){ .fragments = table,
		.has_uuid = true,
		.has_digest = true,
		.has_header_digest = true,
		.has_image = index == 0,
		.table = p->cfg.content ? EXT_TABLE_SECTORS : EXT_TABLE_WINDOWS,
		.has_state = p->cfg.state.kind != EXT_STATE_NONE ||
		             p->cfg.base.kind != EXT_STATE_NONE,
		.state = p->cfg.state,
		.base = p->cfg.base,
		.freed = freed,
		.samples = samples,
		.shared = shared };
	memcpy(c->ext.uuid, p->cfg.uuid, NDZ_UUID_BYTES);
	c->ext.image = p->cfg.image;
	c->h.codec = codec->id == CODEC_DEFLATE && !p->cfg.own_magic ? 0 : codec->id;
	codec->head(p->cfg.codec.level, c->bytes + NDZ_HEADER_BYTES);
	c->room = (struct packer_room){ .codec = codec,
		.version = p->cfg.version,
		.has_image = index == 0,
		.has_state = c->ext.has_state,
		.regions_end = UINT64_MAX,
		.stream_bytes = codec->head_bytes,
		.basis = basis,
		.nsamples = index == 0 && basis != NULL ? basis->spread.n : 0,
		.samples_from = firstsect,
		.reach_bytes = index == 0 ? reach_record_bytes(p->cfg.reach) : 0,
		.reserve = p->reserve };
	c->adler = 1;
	c->zero_windows = 0;
	p->ended = false;
}

static int
chunk_alloc(struct open_chunk *c, const struct packer_config *cfg)
{
	c->bytes = malloc(NDZ_CHUNK_BYTES);
	c->ext.fragments = calloc(EXT_FRAGMENTS_MAX, sizeof *c->ext.fragments);
	if (cfg->freed != NULL)
		c->ext.freed = calloc(FREED_MAX, sizeof *c->ext.freed);
	if (cfg->basis != NULL) {
		c->ext.samples.v = calloc(SAMPLES_MAX, sizeof *c->ext.samples.v);
		c->ext.shared.v = calloc(SAMPLES_SHARED_MAX, sizeof *c->ext.shared.v);
	}
	return c->bytes == NULL || c->ext.fragments == NULL ||
	               (cfg->freed != NULL && c->ext.freed == NULL) ||
	               (cfg->basis != NULL &&
		           (c->ext.samples.v == NULL || c->ext.shared.v == NULL))
	           ? -1
	           : 0;
}

void
packer_config_seal(struct packer_config *p, const struct sealer_config *c)
{
	p->reserve = (c->sign != NULL ? EXT_SIGNATURE_BYTES : 0) +
	             (c->encrypt != NULL ? CRYPT_TAG_BYTES : 0);
	p->own_magic = c->encrypt != NULL;
	if (c->encrypt != NULL)
		memcpy(p->header_uuid, p->uuid, sizeof p->header_uuid);
}

static int
copy_reach(struct packer *p, const struct reach *x, struct err *e)
{
	p->reach = malloc(sizeof *p->reach);
	if (p->reach == NULL)
		return err_nomem(e, "a list of partitions");
	*p->reach = *x;
	return 0;
}

int
packer_new(struct packer **out, const struct packer_config *cfg, struct err *e)
{
	struct packer *p = calloc(1, sizeof *p);

	assert(cfg->version == 5 ||
	       (cfg->version == 3 && cfg->codec.codec->id == CODEC_DEFLATE &&
		   !cfg->own_magic));
	if (p == NULL)
		return err_nomem(e, "a chunk");
	for (unsigned i = 0; i < 2; i++)
		if (chunk_alloc(&p->chunks[i], cfg) != 0) {
			packer_free(p);
			return err_nomem(e, "a chunk");
		}
	if (cfg->reach != NULL && copy_reach(p, cfg->reach, e) != 0) {
		packer_free(p);
		return -1;
	}
	p->open = &p->chunks[0];
	p->cfg = *cfg;
	p->reserve = cfg->reserve + tail_record_bytes(&cfg->tail);
	chunk_begin(p, 0, 0);
	*out = p;
	return 0;
}

void
packer_free(struct packer *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < 2; i++) {
		free(p->chunks[i].bytes);
		ext_free(&p->chunks[i].ext);
	}
	free(p->reach);
	free(p);
}

static uint64_t
raw_bytes_of(const struct fragment *f)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < f->nwindows; i++)
		n += window_bytes(&f->windows[i]);
	return n;
}

struct packer_room
packer_room_next(const struct packer_room *r)
{
	return (struct packer_room){ .codec = r->codec,
		.version = r->version,
		.has_state = r->has_state,
		.regions_end = UINT64_MAX,
		.stream_bytes = r->codec->head_bytes,
		.basis = r->basis,
		.samples_from = r->samples_from,
		.reserve = r->reserve };
}

struct packer_room
packer_room(const struct packer *p)
{
	return p->ended ? packer_room_next(&p->open->room) : p->open->room;
}

/* How many entries the windows add to a region table whose last region ends at `end`. */
static unsigned
new_regions(const struct fragment *f, uint64_t end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->nwindows; i++) {
		const struct window *w = &f->windows[i];
		n += w->nregions - (w->regions[0].off == end);
		end = range_end(w->regions[w->nregions - 1]);
	}
	return n;
}

/* The sector behind the fragment's last one. */
static uint64_t
end_of(const struct fragment *f)
{
	const struct window *last = &f->windows[f->nwindows - 1];

	return range_end(last->regions[last->nregions - 1]);
}

/* How many samples of the base the chunk has with this fragment: also those of what lies
 * between it and the fragment before. */
static size_t
samples_with(const struct packer_room *r, const struct fragment *f)
{
	return r->nsamples +
	       (r->basis != NULL ? basis_count(r->basis, r->samples_from, end_of(f)) : 0);
}

static unsigned
relocs_of(const struct fragment *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->nwindows; i++)
		n += f->windows[i].nrelocs;
	return n;
}

/* Does a header with these regions and relocations also hold the fragment's relocations?  Room
 * is always kept for one relocation, which may come after its fragment. */
static bool
header_holds(
    unsigned version, unsigned nregions, unsigned nrelocs, const struct fragment *f)
{
	unsigned with = relocs_of(f);

	return ndz_header_need(version, nregions, nrelocs + (with > 0 ? with : 1)) <=
	       NDZ_HEADER_BYTES;
}

static int
too_many_relocs(const struct window *w, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "no room for the %u relocations of the window at sector %" PRIu64, w->nrelocs,
	    w->regions[0].off);
}

int
window_check(const struct window *w, unsigned version, struct err *e)
{
	struct fragment f = { .windows = w, .nwindows = 1 };

	return header_holds(version, w->nregions, 0, &f) ? 0 : too_many_relocs(w, e);
}

ssize_t
packer_room_most(const struct packer_room *r, const struct fragment *f)
{
	uint64_t raw_bytes = raw_bytes_of(f);
	unsigned nregions = r->nregions + new_regions(f, r->regions_end);
	uint64_t zeros = r->zero_bytes + (f->zero ? raw_bytes : 0);
	size_t nfragments = r->nfragments + (zeros > 0) + !f->zero;
	size_t stream = r->stream_bytes +
	                (zeros > 0 ? r->codec->zeros_bytes(zeros) : 0) +
	                r->codec->tail_bytes;
	size_t nsamples = samples_with(r, f);

	size_t ext = ext_need(nfragments, r->has_image) +
	             (r->has_state ? EXT_STATE_BYTES : 0) + samples_need(r, nsamples) +
	             r->reach_bytes;
	size_t used = NDZ_HEADER_BYTES + stream + 7 + ext + r->reserve;

	return header_holds(r->version, nregions, r->nrelocs, f) &&
	               nfragments <= EXT_FRAGMENTS_MAX && nsamples <= SAMPLES_MAX &&
	               r->nonzero_bytes + (f->zero ? 0 : raw_bytes) <= PACKER_RAW_MAX &&
	               used <= NDZ_CHUNK_BYTES
	           ? (ssize_t)(NDZ_CHUNK_BYTES - used)
	           : -1;
}

bool
packer_room_for(const struct packer_room *r, const struct fragment *f)
{
	return packer_room_most(r, f) >= (f->zero ? 0 : (ssize_t)f->bytes);
}

static void
room_flush_zeros(struct packer_room *r)
{
	if (r->zero_bytes == 0)
		return;
	r->stream_bytes += r->codec->zeros_bytes(r->zero_bytes);
	r->nfragments++;
	r->zero_bytes = 0;
}

void
packer_room_add(struct packer_room *r, const struct fragment *f)
{
	uint64_t raw_bytes = raw_bytes_of(f);

	r->nregions += new_regions(f, r->regions_end);
	r->regions_end = end_of(f);
	r->nsamples = samples_with(r, f);
	r->samples_from = r->regions_end;
	r->nrelocs += relocs_of(f);
	if (f->zero) {
		r->zero_bytes += raw_bytes;
		return;
	}
	room_flush_zeros(r);
	r->stream_bytes += f->bytes;
	r->nfragments++;
	r->nonzero_bytes += raw_bytes;
}

static uint8_t *
stream_end(struct open_chunk *c)
{
	return c->bytes + NDZ_HEADER_BYTES + c->room.stream_bytes;
}

static void
flush_zeros(struct packer *p)
{
	const struct codec *codec = p->cfg.codec.codec;
	struct open_chunk *c = p->open;
	uint64_t n = c->room.zero_bytes;

	if (n == 0)
		return;
	codec->zeros(n, stream_end(c));
	c->adler = adler_combine(c->adler, adler_zeros(n), n);
	c->ext.fragments[c->ext.nfragments++] = (struct ext_fragment){
		.bytes = (uint32_t)codec->zeros_bytes(n),
		.zero = true,
		.windows = c->zero_windows,
		.sectors = n / SECTOR_BYTES
	};
	c->zero_windows = 0;
	room_flush_zeros(&c->room);
}

static void
add_window(struct ndz_header *h, const struct window *w)
{
	for (unsigned i = 0; i < w->nregions; i++) {
		struct range *last = h->nregions > 0 ? &h->regions[h->nregions - 1]
		                                     : NULL;
		if (last != NULL && range_end(*last) == w->regions[i].off)
			last->len += w->regions[i].len;
		else
			h->regions[h->nregions++] = w->regions[i];
	}
	for (unsigned i = 0; i < w->nrelocs; i++)
		h->relocs[h->nrelocs++] = w->relocs[i];
}

static void
append(struct packer *p, const struct fragment *f)
{
	struct open_chunk *c = p->open;

	for (unsigned i = 0; i < f->nwindows; i++)
		add_window(&c->h, &f->windows[i]);
	if (f->zero) {
		c->zero_windows += f->nwindows;
	} else {
		flush_zeros(p);
		memcpy(stream_end(c), f->data, f->bytes);
		c->adler = adler_combine(c->adler, f->adler, raw_bytes_of(f));
		struct ext_fragment *x = &c->ext.fragments[c->ext.nfragments++];
		*x = (struct ext_fragment){ .bytes = f->bytes,
			.windows = f->nwindows,
			.sectors = raw_bytes_of(f) / SECTOR_BYTES };
		memcpy(x->digest, f->digest, sizeof x->digest);
	}
	packer_room_add(&c->room, f);
}

/* List the samples that the installer compares before it writes this chunk. */
static void
list_samples(struct packer *p)
{
	struct open_chunk *c = p->open;
	struct range own = { c->h.firstsect, c->h.lastsect - c->h.firstsect };

	if (p->cfg.basis == NULL)
		return;
	size_t room = ext_samples_room(&c->ext, &c->h,
	    p->reserve + c->room.reach_bytes + ext_samples_need(SAMPLES_SHARED_MAX));
	basis_take(p->cfg.basis, c->h.index == 0, own,
	    room < SAMPLES_MAX ? room : SAMPLES_MAX, &c->ext.samples, &c->ext.shared);
	c->ext.has_samples = true;
}

/* List the freed sectors that belong to this chunk, as far as there is room.  Sectors that are
 * not listed are only stored for longer than they need be. */
static void
list_freed(struct packer *p)
{
	struct open_chunk *c = p->open;
	const struct rangeset *freed = p->cfg.freed;

	c->ext.nfreed = 0;
	if (freed == NULL)
		return;
	size_t room =
	    ext_freed_room(&c->ext, &c->h, p->reserve + c->room.reach_bytes);
	for (size_t i = rangeset_find(freed, c->h.firstsect);
	     i < rangeset_count(freed) && c->ext.nfreed < room; i++) {
		struct range r = range_clip(
		    rangeset_get(freed, i), c->h.firstsect, c->h.lastsect);
		if (r.len == 0)
			break;
		c->ext.freed[c->ext.nfreed++] = r;
	}
}

static int
emit(struct packer *p, struct open_chunk *c, struct err *e)
{
	struct ext x = c->ext;

	if (c->ext.has_image)
		x.reach = p->reach;
	if (ext_put(&x, &c->h, c->bytes, e) != 0)
		return -1;
	return p->cfg.emit(p->cfg.arg, c->bytes, e);
}

/* Emit the chunk that waits, and the open one, which is closed. */
static int
emit_both(struct packer *p, struct err *e)
{
	struct open_chunk *first = p->waits, *second = p->open;

	p->waits = NULL;
	ext_chunk_digests(&first->h, first->bytes, first->ext.digest, &second->h,
	    second->bytes, second->ext.digest);
	return emit(p, first, e) != 0 || emit(p, second, e) != 0 ? -1 : 0;
}

/* Complete the open chunk, which is full or the last one: it answers for everything up to
 * lastsect. */
static int
complete_chunk(struct packer *p, uint64_t lastsect, struct err *e)
{
	const struct codec *codec = p->cfg.codec.codec;
	struct open_chunk *c = p->open;

	flush_zeros(p);
	codec->tail(c->adler, stream_end(c));
	c->h.size = (uint32_t)(c->room.stream_bytes + codec->tail_bytes);
	memset(stream_end(c) + codec->tail_bytes, 0,
	    NDZ_CHUNK_BYTES - NDZ_HEADER_BYTES - c->h.size);
	c->h.lastsect = lastsect;
	if (ndz_header_put(&c->h, c->bytes, e) != 0)
		return -1;
	ext_header_digest(c->bytes, c->ext.header_digest);
	if (c->ext.has_image ||
	    tail_touches(&p->cfg.tail, c->h.regions, c->h.nregions))
		c->ext.tail = p->cfg.tail;
	list_samples(p);
	list_freed(p);
	p->closed++;
	return 0;
}

/* Complete the open chunk, and emit it or let it wait.  Two chunks' digests cost little more
 * than one's, so every second chunk waits for the next one. */
static int
close_chunk(struct packer *p, uint64_t lastsect, struct err *e)
{
	if (complete_chunk(p, lastsect, e) != 0)
		return -1;
	if (p->waits != NULL)
		return emit_both(p, e);
	p->waits = p->open;
	p->open = p->open == &p->chunks[0] ? &p->chunks[1] : &p->chunks[0];
	return 0;
}

static int
close_last(struct packer *p, uint64_t total, struct err *e)
{
	struct open_chunk *c = p->open;

	if (complete_chunk(p, total, e) != 0)
		return -1;
	if (p->waits != NULL)
		return emit_both(p, e);
	ext_chunk_digest(&c->h, c->bytes, c->ext.digest);
	return emit(p, c, e);
}

/* Where the next chunk begins, whose first fragment is f: with f, or with a sample in front of
 * it, for which only that chunk is sure to have room. */
static uint64_t
border(const struct packer *p, const struct fragment *f)
{
	const struct packer_room *r = &p->open->room;
	uint64_t first = f->windows[0].regions[0].off;

	return r->basis != NULL ? basis_next(r->basis, r->samples_from, first) : first;
}

int
packer_add(struct packer *p, const struct fragment *f, struct err *e)
{
	uint64_t first = border(p, f);

	if (p->open->h.nregions > 0 &&
	    (p->ended || f->windows[0].fresh || !packer_room_for(&p->open->room, f))) {
		if (close_chunk(p, first, e) != 0)
			return -1;
		chunk_begin(p, (int32_t)p->closed, first);
	}
	if (!packer_room_for(&p->open->room, f))
		return too_many_relocs(f->windows, e);
	append(p, f);
	return 0;
}

void
packer_end_chunk(struct packer *p)
{
	p->ended = p->open->h.nregions > 0;
}

int
packer_add_reloc(struct packer *p, const struct ndz_reloc *r, struct err *e)
{
	struct ndz_header *h = &p->open->h;

	if (h->nregions == 0 ||
	    ndz_header_need(h->version, h->nregions, h->nrelocs + 1) > NDZ_HEADER_BYTES)
		return err_set(e, ERR_FORMAT, "no room for a relocation");
	h->relocs[h->nrelocs++] = *r;
	p->open->room.nrelocs++;
	return 0;
}

/* The list gets the room that is left; ext_need() always includes room for a short list. */
int
packer_note_lost(struct packer *p, struct lostset *lost, struct err *e)
{
	struct open_chunk *c = p->open;

	flush_zeros(p);
	size_t used = NDZ_HEADER_BYTES + c->room.stream_bytes +
	              p->cfg.codec.codec->tail_bytes + 7 +
	              ext_need(c->room.nfragments, c->room.has_image) +
	              (c->room.has_state ? EXT_STATE_BYTES : 0) +
	              samples_need(&c->room, c->room.nsamples) + c->room.reach_bytes +
	              p->reserve;
	lost_free(&c->ext.lost);
	return lost_make(&c->ext.lost, lost,
	    LOST_HEAD_BYTES + LOST_RANGES_MIN * LOST_RANGE_BYTES +
		(NDZ_CHUNK_BYTES - used),
	    e);
}

int
packer_finish(struct packer *p, uint64_t total, struct err *e)
{
	if (p->open->h.nregions == 0)
		return err_set(e, ERR_FORMAT, "nothing to store");
	p->open->ext.last = true;
	p->open->ext.nchunks = p->closed + 1;
	return close_last(p, total, e);
}

uint32_t
packer_chunks(const struct packer *p)
{
	return p->closed;
}
