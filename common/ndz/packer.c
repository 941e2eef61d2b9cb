#include "common/ndz/packer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A chunk being filled, or full and held back. */
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
	struct open_chunk chunk[2];
	struct open_chunk *cur, *held;	/* held: NULL before the first is full */
	uint32_t emitted;
};

static int
chunk_new(struct open_chunk *c)
{
	c->bytes = malloc(NDZ_CHUNK_BYTES);
	c->ext.fragments = calloc(EXT_FRAGMENTS_MAX, sizeof *c->ext.fragments);
	return c->bytes != NULL && c->ext.fragments != NULL ? 0 : -1;
}

static void
chunk_begin(struct packer *p, struct open_chunk *c, int32_t index, uint64_t firstsect)
{
	memset(c->bytes, 0, NDZ_CHUNK_BYTES);
	c->h = (struct ndz_header){ .version = p->cfg.version, .index = index,
		.firstsect = firstsect };
	memcpy(c->h.uuid, p->cfg.header_uuid, NDZ_UUID_BYTES);
	struct ext_fragment *table = c->ext.fragments;
	c->ext = (struct ext){ .fragments = table, .has_uuid = true, .has_digest = true,
		.has_image = index == 0, .window_bytes = FRAGMENT_WINDOW_BYTES };
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
	if (p == NULL || chunk_new(&p->chunk[0]) != 0 || chunk_new(&p->chunk[1]) != 0) {
		packer_free(p);
		return err_nomem(e, "chunk buffers");
	}
	p->cfg = *cfg;
	p->cur = &p->chunk[0];
	chunk_begin(p, p->cur, 0, 0);
	*out = p;
	return 0;
}

void
packer_free(struct packer *p)
{
	if (p == NULL)
		return;
	for (int i = 0; i < 2; i++) {
		free(p->chunk[i].bytes);
		ext_free(&p->chunk[i].ext);
	}
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

/* One relocation is always kept room for: it comes after its fragment. */
static bool
fits(const struct open_chunk *c, const struct fragment *f, uint64_t raw_bytes)
{
	unsigned nregions = c->h.nregions + f->nregions - touches(&c->h, f->regions[0]);
	uint64_t zeros = c->zero_bytes + (f->zero ? raw_bytes : 0);
	size_t nfragments = c->ext.nfragments + (zeros > 0) + !f->zero;
	size_t stream = c->stream_bytes + (zeros > 0 ? deflate_zeros_bytes(zeros) : 0) +
	    (f->zero ? 0 : f->bytes) + STREAM_TAIL_BYTES;

	return ndz_header_need(c->h.version, nregions, c->h.nrelocs + 1) <= NDZ_HEADER_BYTES &&
	    nfragments <= EXT_FRAGMENTS_MAX &&
	    NDZ_HEADER_BYTES + stream + 7 + ext_need(nfragments, c->h.index == 0) <=
	    NDZ_CHUNK_BYTES && c->nonzero_bytes + (f->zero ? 0 : raw_bytes) <= PACKER_RAW_MAX;
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

static int
emit_held(struct packer *p, struct err *e)
{
	struct open_chunk *c = p->held;

	if (c == NULL)
		return 0;
	p->held = NULL;
	if (ext_put(&c->ext, &c->h, c->bytes, e) != 0 ||
	    p->cfg.emit(p->cfg.arg, c->bytes, e) != 0)
		return -1;
	p->emitted++;
	return 0;
}

/* The current chunk is full: it answers for everything up to lastsect. */
static int
close_chunk(struct packer *p, uint64_t lastsect, struct err *e)
{
	struct open_chunk *c = p->cur;

	if (emit_held(p, e) != 0)
		return -1;
	flush_zeros(c);
	deflate_stream_tail(c->adler, stream_end(c));
	c->h.size = (uint32_t)(c->stream_bytes + STREAM_TAIL_BYTES);
	c->h.lastsect = lastsect;
	if (ndz_header_put(&c->h, c->bytes, e) != 0)
		return -1;
	ext_chunk_digest(&c->h, c->bytes, c->ext.digest);
	p->held = c;
	p->cur = &p->chunk[c == &p->chunk[0]];
	chunk_begin(p, p->cur, c->h.index + 1, lastsect);
	return 0;
}

int
packer_add(struct packer *p, const struct fragment *f, struct err *e)
{
	uint64_t raw_bytes = fragment_sectors(f) * SECTOR_BYTES;

	assert(f->nregions > 0 && f->nregions <= FRAGMENT_REGIONS_MAX);
	if (!fits(p->cur, f, raw_bytes) && p->cur->h.nregions > 0 &&
	    close_chunk(p, f->regions[0].off, e) != 0)
		return -1;
	append(p->cur, f, raw_bytes);
	return 0;
}

int
packer_add_reloc(struct packer *p, const struct ndz_reloc *r, struct err *e)
{
	struct ndz_header *h = &p->cur->h;

	if (h->nregions == 0 ||
	    ndz_header_need(h->version, h->nregions, h->nrelocs + 1) > NDZ_HEADER_BYTES)
		return err_set(e, ERR_FORMAT, "no room for a relocation");
	h->relocs[h->nrelocs++] = *r;
	return 0;
}

int
packer_finish(struct packer *p, uint64_t total, struct err *e)
{
	if (p->cur->h.nregions > 0 && close_chunk(p, total, e) != 0)
		return -1;
	if (p->held == NULL)
		return err_set(e, ERR_FORMAT, "nothing to store");
	p->held->ext.last = true;
	p->held->ext.nchunks = p->emitted + 1;
	return emit_held(p, e);
}

uint32_t
packer_chunks(const struct packer *p)
{
	return p->emitted;
}
