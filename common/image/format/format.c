/* format.c: the header of a chunk, to bytes and back, in every version.  Everything that
 * reads or writes chunks calls this, in any thread. */
#include "common/image/format/format.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum {
	MAGIC_V1 = 0x69696969, /* the magics of later versions count up from it */
	MAGIC_LAST = MAGIC_V1 + 5,
	CODEC_AT = 36, /* offset of the codec, in images of the suite's own format */
	/* Sectors beyond this cannot be given as bytes in 64 bits. */
	SECTOR_BITS_MAX = 55,
	V3_SECTORS_MAX = UINT32_MAX,
};

/* Where the fields of a version are.  Offset 0: the version does not have the field. */
struct layout {
	size_t firstsect; /* two numbers; 0: the version has none */
	size_t uuid;
	size_t nrelocs;
	size_t tables;
	bool wide; /* 64-bit sectors */
};

static const struct layout layouts[] = {
	[1] = { .tables = 24 },
	[2] = { .firstsect = 24, .nrelocs = 32, .tables = 36 },
	[3] = { .firstsect = 24, .nrelocs = 32, .tables = 36 },
	[5] = { .firstsect = 40,
	    .uuid = 56,
	    .nrelocs = 32,
	    .tables = 72,
	    .wide = true },
};
/* V5 as a 32-bit program writes it, where a u64 needs no alignment. */
static const struct layout layout_v5_narrow = {
	.firstsect = 36,
	.uuid = 52,
	.nrelocs = 32,
	.tables = 68,
	.wide = true,
};

static size_t
region_bytes(const struct layout *l)
{
	return l->wide ? 16 : 8;
}

static size_t
reloc_bytes(const struct layout *l)
{
	return l->wide ? 24 : 16;
}

static uint64_t
get_number(struct rd *r, bool wide)
{
	return wide ? rd_le64(r) : rd_le32(r);
}

static void
put_number(struct wr *w, bool wide, uint64_t v)
{
	if (wide)
		wr_le64(w, v);
	else
		wr_le32(w, (uint32_t)v);
}

static struct rd
reader_at(const void *chunk, size_t off)
{
	struct rd r = rd_from(chunk, NDZ_HEADER_BYTES);

	rd_skip(&r, off);
	return r;
}

static int
get_codec(struct ndz_header *h, const void *chunk, struct err *e)
{
	struct rd r = reader_at(chunk, CODEC_AT);
	const struct codec *c = codec_by_id(h->codec = rd_le32(&r));

	if (c == NULL)
		return err_set(
		    e, ERR_UNSUPPORTED, "images in codec %u are not known", h->codec);
	if (c->lacks != NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "a %s image: this program was built without %s", c->name, c->lacks);
	return 0;
}

static int
get_version(struct ndz_header *h, uint32_t magic, const void *chunk, struct err *e)
{
	uint32_t swapped = __builtin_bswap32(magic);

	if (magic == NDZ_MAGIC_OWN || magic == NDZ_MAGIC_ENCRYPTED) {
		h->version = 5;
		h->encrypted = magic == NDZ_MAGIC_ENCRYPTED;
		return get_codec(h, chunk, e);
	}

	/* The magic of V1 is the same in both byte orders; in the wrong one its size makes
	 * no sense. */
	if (swapped > MAGIC_V1 && swapped <= MAGIC_LAST)
		return err_set(e, ERR_UNSUPPORTED,
		    "an image in big-endian byte order cannot be read");
	if (magic < MAGIC_V1 || magic > MAGIC_LAST)
		return err_set(e, ERR_FORMAT, "not an ndz image (magic 0x%08x)", magic);
	h->version = magic - MAGIC_V1 + 1;
	if (h->version == 4 || h->version == 6)
		return err_set(e, ERR_UNSUPPORTED,
		    "version %u images (encrypted or signed) cannot be read",
		    h->version);
	return 0;
}

/* Read the part that all versions share, up to offset 24. */
static int
get_common(struct ndz_header *h, const void *chunk, struct err *e)
{
	struct rd r = rd_from(chunk, NDZ_HEADER_BYTES);

	if (get_version(h, rd_le32(&r), chunk, e) < 0)
		return -1;
	h->size = rd_le32(&r);
	h->index = (int32_t)rd_le32(&r);
	h->total = (int32_t)rd_le32(&r);
	rd_skip(&r, 4); /* the number of header bytes, 4096: no reader relies on it */
	h->nregions = rd_le32(&r);
	if (h->size == 0 || h->size > NDZ_STREAM_MAX)
		return err_set(e, ERR_FORMAT,
		    "header claims %u bytes of compressed data (1 to %d are possible)",
		    h->size, NDZ_STREAM_MAX);
	if (h->nregions == 0)
		return err_set(e, ERR_FORMAT, "header has no regions");
	return 0;
}

static int
get_tables(
    struct ndz_header *h, const struct layout *l, const void *chunk, struct err *e)
{
	struct rd nr = reader_at(chunk, l->nrelocs), r = reader_at(chunk, l->tables);

	h->nrelocs = l->nrelocs != 0 ? rd_le32(&nr) : 0;
	if (!rd_can_hold(&r, h->nregions, region_bytes(l)))
		return err_set(e, ERR_FORMAT, "header claims %u regions", h->nregions);
	for (unsigned i = 0; i < h->nregions; i++) {
		h->regions[i].off = get_number(&r, l->wide);
		h->regions[i].len = get_number(&r, l->wide);
	}
	if (!rd_can_hold(&r, h->nrelocs, reloc_bytes(l)))
		return err_set(e, ERR_FORMAT,
		    "header claims %u relocations behind %u regions", h->nrelocs,
		    h->nregions);
	for (unsigned i = 0; i < h->nrelocs; i++) {
		struct ndz_reloc *c = &h->relocs[i];

		c->type = rd_le32(&r);
		if (l->wide)
			c->offset = rd_le32(&r);
		c->sector = get_number(&r, l->wide);
		if (!l->wide)
			c->offset = rd_le32(&r);
		c->size = get_number(&r, l->wide);
	}
	assert(rd_ok(&r)); /* rd_can_hold() has promised it */
	return 0;
}

static int
check_regions(const struct ndz_header *h, struct err *e)
{
	uint64_t sectors = 0;

	for (unsigned i = 0; i < h->nregions; i++) {
		struct range r = h->regions[i];

		if (r.len == 0)
			return err_set(e, ERR_FORMAT, "region %u is empty", i);
		if (!range_within(r, (uint64_t)1 << SECTOR_BITS_MAX))
			return err_set(e, ERR_FORMAT,
			    "region %u (%llu sectors at %llu) is "
			    "beyond any disk",
			    i, (unsigned long long)r.len, (unsigned long long)r.off);
		if (i > 0 && r.off <= range_end(h->regions[i - 1]))
			return err_set(e, ERR_FORMAT,
			    "region %u at sector %llu does not come "
			    "after region %u with a gap",
			    i, (unsigned long long)r.off, i - 1);
		sectors += r.len;
	}
	if (sectors > ndz_header_codec(h)->ratio_max * h->size / SECTOR_BYTES)
		return err_set(e, ERR_FORMAT,
		    "%u compressed bytes cannot hold %llu sectors", h->size,
		    (unsigned long long)sectors);
	return 0;
}

static int
check_span(const struct ndz_header *h, struct err *e)
{
	uint64_t end = range_end(h->regions[h->nregions - 1]);

	if (h->firstsect > h->regions[0].off || h->lastsect < end)
		return err_set(e, ERR_FORMAT,
		    "regions [%llu, %llu) are not inside the chunk's "
		    "own sectors [%llu, %llu)",
		    (unsigned long long)h->regions[0].off, (unsigned long long)end,
		    (unsigned long long)h->firstsect, (unsigned long long)h->lastsect);
	if (h->lastsect > (uint64_t)1 << SECTOR_BITS_MAX)
		return err_set(e, ERR_FORMAT, "last sector %llu is beyond any disk",
		    (unsigned long long)h->lastsect);
	return 0;
}

static int
get_layout(
    struct ndz_header *h, const struct layout *l, const void *chunk, struct err *e)
{
	if (get_tables(h, l, chunk, e) < 0 || check_regions(h, e) < 0)
		return -1;
	if (l->uuid != 0) {
		struct rd r = reader_at(chunk, l->uuid);
		rd_copy(&r, h->uuid, sizeof h->uuid);
	}
	if (l->firstsect != 0) {
		struct rd r = reader_at(chunk, l->firstsect);
		h->firstsect = get_number(&r, l->wide);
		h->lastsect = get_number(&r, l->wide);
	} else {
		h->firstsect = h->regions[0].off;
		h->lastsect = range_end(h->regions[h->nregions - 1]);
	}
	return check_span(h, e);
}

int
ndz_header_get(struct ndz_header *h, const void *chunk, size_t len, struct err *e)
{
	struct err other;

	memset(h, 0, sizeof *h);
	if (len < NDZ_HEADER_BYTES)
		return err_set(e, ERR_FORMAT, "truncated in the header of a chunk");
	if (get_common(h, chunk, e) < 0)
		return -1;
	if (get_layout(h, &layouts[h->version], chunk, e) == 0)
		return 0;
	/* One form of V5 makes no sense when it is read at the offsets of the other: sector
	 * numbers come out 2^32 times too large. */
	if (h->version != 5 || h->codec != 0 ||
	    get_layout(h, &layout_v5_narrow, chunk, &other) < 0)
		return -1;
	return 0;
}

bool
ndz_looks_like_image(const uint8_t magic[4])
{
	struct rd r = rd_from(magic, 4);
	uint32_t m = rd_le32(&r);

	return (m >= MAGIC_V1 && m <= MAGIC_LAST) || m == NDZ_MAGIC_OWN ||
	       m == NDZ_MAGIC_ENCRYPTED;
}

const struct codec *
ndz_header_codec(const struct ndz_header *h)
{
	return codec_by_id(h->codec != 0 ? h->codec : CODEC_DEFLATE);
}

static int
check_numbers(const struct ndz_header *h, uint64_t max, struct err *e)
{
	bool fits = h->lastsect <= max;

	/* No region reaches beyond lastsect, so only relocations are checked besides it. */
	for (unsigned i = 0; i < h->nrelocs; i++)
		fits = fits && h->relocs[i].sector <= max && h->relocs[i].size <= max;
	if (!fits)
		return err_set(e, ERR_FORMAT,
		    "sector numbers up to %llu need a version 5 image",
		    (unsigned long long)h->lastsect);
	return 0;
}

static void
put_tables(const struct ndz_header *h, const struct layout *l, struct wr *w)
{
	for (unsigned i = 0; i < h->nregions; i++) {
		put_number(w, l->wide, h->regions[i].off);
		put_number(w, l->wide, h->regions[i].len);
	}
	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *c = &h->relocs[i];

		wr_le32(w, c->type);
		if (l->wide)
			wr_le32(w, c->offset);
		put_number(w, l->wide, c->sector);
		if (!l->wide)
			wr_le32(w, c->offset);
		put_number(w, l->wide, c->size);
	}
}

int
ndz_header_put(const struct ndz_header *h, void *buf, struct err *e)
{
	const struct layout *l = &layouts[h->version];
	struct wr w = wr_to(buf, NDZ_HEADER_BYTES);

	assert(h->version == 5 || (h->version == 3 && h->codec == 0));
	memset(buf, 0, NDZ_HEADER_BYTES);
	if (ndz_header_need(h->version, h->nregions, h->nrelocs) > NDZ_HEADER_BYTES)
		return err_set(e, ERR_FORMAT,
		    "%u regions and %u relocations do not fit into "
		    "the header of a chunk",
		    h->nregions, h->nrelocs);
	if (check_regions(h, e) < 0 || check_span(h, e) < 0 ||
	    check_numbers(h, l->wide ? UINT64_MAX : V3_SECTORS_MAX, e) < 0)
		return -1;
	wr_le32(&w, h->codec != 0 ? NDZ_MAGIC_OWN : MAGIC_V1 + h->version - 1);
	wr_le32(&w, h->size);
	wr_le32(&w, (uint32_t)h->index);
	wr_le32(&w, (uint32_t)h->total);
	wr_le32(&w, NDZ_HEADER_BYTES);
	wr_le32(&w, h->nregions);
	wr_le32(&w, l->wide ? 0 : (uint32_t)h->firstsect);
	wr_le32(&w, l->wide ? 0 : (uint32_t)h->lastsect);
	wr_le32(&w, h->nrelocs);
	if (l->wide) {
		wr_le32(&w, h->codec);
		wr_le64(&w, h->firstsect);
		wr_le64(&w, h->lastsect);
		wr_bytes(&w, h->uuid, sizeof h->uuid);
	}
	put_tables(h, l, &w);
	assert(wr_ok(&w));
	return 0;
}

size_t
ndz_header_need(unsigned version, unsigned nregions, unsigned nrelocs)
{
	const struct layout *l = &layouts[version];

	return l->tables + nregions * region_bytes(l) + nrelocs * reloc_bytes(l);
}

uint64_t
ndz_header_raw_bytes(const struct ndz_header *h)
{
	uint64_t sectors = 0;

	for (unsigned i = 0; i < h->nregions; i++)
		sectors += h->regions[i].len;
	return sectors * SECTOR_BYTES;
}

struct range
reloc_sectors(const struct ndz_reloc *r)
{
	/* A LILO checksum is at byte 990 of a table of 1024 bytes, and covers all of it. */
	enum { TABLE_BYTES = 1024, SUM_AT = 990 };
	uint64_t from = r->sector * SECTOR_BYTES + r->offset,
		 end = from + (r->size & UINT32_MAX);

	if (r->type == NDZ_RELOC_LILO_CHECKSUM) {
		from = from < SUM_AT ? 0 : from - SUM_AT;
		end = from + TABLE_BYTES;
	}
	uint64_t first = from / SECTOR_BYTES;
	uint64_t last = end > from ? (end - 1) / SECTOR_BYTES : first;
	return (struct range){ first, last - first + 1 };
}

int
ndz_reloc_order(const void *a, const void *b)
{
	const struct ndz_reloc *x = a, *y = b;

	if (x->sector != y->sector)
		return x->sector < y->sector ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}
