#include "common/ndz/packer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FREED_MAX = NDZ_CHUNK_BYTES / 16 };

/* A chunk being filled. */
struct open_chunk {
	uint8_t *bytes;			/* NDZ_CHUNK_BYTES */
	struct ndz_header h;
	struct ext ext;			/* its fragment table has room for all */
	size_t stream_bytes;		/* with the head, without the tail */
	uint32_t adler;
	uint64_t nonzero_bytes;
	/* Zero windows behind the last fragment, not yet in the stream. */
	uint64_t zero_bytes, zero_windows;
};

struct packer {
	struct packer_config cfg;
	struct open_chunk chunk;
	uint32_t emitted;
};

static void
chunk_begin(struct packer *p, int32_t index, uint64_t firstsect)
{
	struct open_chunk *c = &p->chunk;

	memset(c->bytes, 0, NDZ_CHUNK_BYTES);
	c->h = (struct ndz_header){ .version = p->cfg.version, .index = index,
		.firstsect = firstsect };
	memcpy(c->h.uuid, p->cfg.header_uuid, NDZ_UUID_BYTES);
	struct ext_fragment *table = c->ext.fragments;
	struct range *freed = c->ext.freed;
	c->ext = (struct ext){ .fragments = table, .has_uuid = true, .has_digest = true,
		.has_image = index == 0, .window_bytes = FRAGMENT_WINDOW_BYTES,
		.has_state = p->cfg.state.kind != EXT_STATE_NONE ||
		    p->cfg.base.kind != EXT_STATE_NONE,
		.state = p->cfg.state, .base = p->cfg.base, .freed = freed };
	memcpy(c->ext.uuid, p->cfg.uuid, NDZ_UUID_BYTES);
	c->ext.image = p->cfg.image;
	deflate_stream_head(p->cfg.level, c->bytes + NDZ_HEADER_BYTES);
	c->stream_bytes = STREAM_HEAD_BYTES;
	c->adler = 1;
	c->nonzero_bytes = c->zero_bytes = c->zero_windows = 0;
}

int
packer_new(struct packer **out, const struct packer_config *cfg, struct err *e)
{
	struct packer *p = calloc(1, sizeof *p);

	assert(cfg->version == 3 || cfg->version == 5);
	if (p == NULL)
		return err_nomem(e, "a chunk");
	p->chunk.bytes = malloc(NDZ_CHUNK_BYTES);
	p->chunk.ext.fragments = calloc(EXT_FRAGMENTS_MAX, sizeof *p->chunk.ext.fragments);
	if (cfg->freed != NULL)
		p->chunk.ext.freed = calloc(FREED_MAX, sizeof *p->chunk.ext.freed);
	if (p->chunk.bytes == NULL || p->chunk.ext.fragments == NULL ||
	    (cfg->freed != NULL && p->chunk.ext.freed == NULL)) {
		packer_free(p);
		return err_nomem(e, "a chunk");
	}
	p->cfg = *cfg;
	chunk_begin(p, 0, 0);
	*out = p;
	return 0;
}

void
packer_free(struct packer *p)
{
	if (p == NULL)
		return;
	free(p->chunk.bytes);
	ext_free(&p->chunk.ext);
	free(p);
}

static uint64_t
fragment_sectors(const struct fragment *f)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < f->nregions; i++)
		n += f->regions[i].len;
	return n;
}

static bool
touches(const struct ndz_header *h, struct range r)
{
	return h->nregions > 0 && range_end(h->regions[h->nregions - 1]) == r.off;
}

/* Room is always kept for one relocation: it may come after its fragment. */
static unsigned
relocs_with(const struct open_chunk *c, const struct fragment *f)
{
	return c->h.nrelocs + (f->nrelocs > 0 ? f->nrelocs : 1);
}

static bool
fits(const struct open_chunk *c, const struct fragment *f, uint64_t raw_bytes)
{
	unsigned nregions = c->h.nregions + f->nregions - touches(&c->h, f->regions[0]);
	uint64_t zeros = c->zero_bytes + (f->zero ? raw_bytes : 0);
	size_t nfragments = c->ext.nfragments + (zeros > 0) + !f->zero;
	size_t stream = c->stream_bytes + (zeros > 0 ? deflate_zeros_bytes(zeros) : 0) +
	    (f->zero ? 0 : f->bytes) + STREAM_TAIL_BYTES;

	return ndz_header_need(c->h.version, nregions, relocs_with(c, f)) <= NDZ_HEADER_BYTES &&
	    nfragments <= EXT_FRAGMENTS_MAX &&
	    NDZ_HEADER_BYTES + stream + 7 + ext_need(nfragments, c->h.index == 0) +
	    (c->ext.has_state ? EXT_STATE_BYTES : 0) <= NDZ_CHUNK_BYTES && c->nonzero_bytes + (f->zero ? 0 : raw_bytes) <= PACKER_RAW_MAX;
}

static uint8_t *
stream_end(struct open_chunk *c)
{
	return c->bytes + NDZ_HEADER_BYTES + c->stream_bytes;
}

static void
flush_zeros(struct open_chunk *c)
{
	if (c->zero_bytes == 0)
		return;
	size_t n = deflate_zeros_bytes(c->zero_bytes);
	deflate_zeros(c->zero_bytes, stream_end(c));
	c->stream_bytes += n;
	c->adler = adler_combine(c->adler, adler_zeros(c->zero_bytes), c->zero_bytes);
	c->ext.fragments[c->ext.nfragments++] = (struct ext_fragment){ .bytes = (uint32_t)n,
		.zero = true, .windows = c->zero_windows };
	c->zero_bytes = c->zero_windows = 0;
}

static void
add_regions(struct ndz_header *h, const struct fragment *f)
{
	for (unsigned i = 0; i < f->nregions; i++) {
		if (touches(h, f->regions[i]))
			h->regions[h->nregions - 1].len += f->regions[i].len;
		else
			h->regions[h->nregions++] = f->regions[i];
	}
}

static void
append(struct open_chunk *c, const struct fragment *f, uint64_t raw_bytes)
{
	add_regions(&c->h, f);
	if (f->zero) {
		c->zero_bytes += raw_bytes;
		c->zero_windows++;
		return;
	}
	flush_zeros(c);
	memcpy(stream_end(c), f->data, f->bytes);
	c->stream_bytes += f->bytes;
	c->adler = adler_combine(c->adler, f->adler, raw_bytes);
	c->nonzero_bytes += raw_bytes;
	struct ext_fragment *x = &c->ext.fragments[c->ext.nfragments++];
	*x = (struct ext_fragment){ .bytes = f->bytes, .windows = 1 };
	memcpy(x->digest, f->digest, sizeof x->digest);
}

/* What of the freed sectors is this chunk's to tell, as far as there is room:
 * the rest is only stored for longer than it need be. */
static void
list_freed(struct packer *p)
{
	struct open_chunk *c = &p->chunk;
	struct rangeset *freed = p->cfg.freed;

	c->ext.nfreed = 0;
	if (freed == NULL)
		return;
	size_t room = ext_freed_room(&c->ext, &c->h);
	for (size_t i = rangeset_find(freed, c->h.firstsect);
	    i < rangeset_count(freed) && c->ext.nfreed < room; i++) {
		struct range r = range_clip(rangeset_get(freed, i), c->h.firstsect, c->h.lastsect);
		if (r.len == 0)
			break;
		c->ext.freed[c->ext.nfreed++] = r;
	}
}

/* The chunk is full, or the last: it answers for everything up to lastsect. */
static int
emit(struct packer *p, uint64_t lastsect, struct err *e)
{
	struct open_chunk *c = &p->chunk;

	flush_zeros(c);
	deflate_stream_tail(c->adler, stream_end(c));
	c->h.size = (uint32_t)(c->stream_bytes + STREAM_TAIL_BYTES);
	c->h.lastsect = lastsect;
	if (ndz_header_put(&c->h, c->bytes, e) != 0)
		return -1;
	ext_chunk_digest(&c->h, c->bytes, c->ext.digest);
	list_freed(p);
	if (ext_put(&c->ext, &c->h, c->bytes, e) != 0 ||
	    p->cfg.emit(p->cfg.arg, c->bytes, e) != 0)
		return -1;
	p->emitted++;
	return 0;
}

int
packer_add(struct packer *p, const struct fragment *f, struct err *e)
{
	uint64_t raw_bytes = fragment_sectors(f) * SECTOR_BYTES;
	uint64_t first = f->regions[0].off;

	assert(f->nregions > 0 && f->nregions <= FRAGMENT_REGIONS_MAX);
	/* A fragment always fits an empty chunk. */
	if (p->chunk.h.nregions > 0 && !fits(&p->chunk, f, raw_bytes)) {
		if (emit(p, first, e) != 0)
			return -1;
		chunk_begin(p, p->chunk.h.index + 1, first);
	}
	append(&p->chunk, f, raw_bytes);
	for (unsigned i = 0; i < f->nrelocs; i++)
		if (packer_add_reloc(p, &f->relocs[i], e) != 0)
			return -1;
	return 0;
}

int
packer_add_reloc(struct packer *p, const struct ndz_reloc *r, struct err *e)
{
	struct ndz_header *h = &p->chunk.h;

	if (h->nregions == 0 ||
	    ndz_header_need(h->version, h->nregions, h->nrelocs + 1) > NDZ_HEADER_BYTES)
		return err_set(e, ERR_FORMAT, "no room for a relocation");
	h->relocs[h->nrelocs++] = *r;
	return 0;
}

int
packer_finish(struct packer *p, uint64_t total, struct err *e)
{
	if (p->chunk.h.nregions == 0)
		return err_set(e, ERR_FORMAT, "nothing to store");
	p->chunk.ext.last = true;
	p->chunk.ext.nchunks = p->emitted + 1;
	return emit(p, total, e);
}

uint32_t
packer_chunks(const struct packer *p)
{
	return p->emitted;
}
