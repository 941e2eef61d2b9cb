/* partial.c: which blocks of a chunk are needed first, and which fragments of it differ
 * from the disk.  The installation's sink calls this in any thread that compares,
 * random_chunk.c and random_piece.c while they read, and prove.c for damaged chunks. */
#include "common/image/read/partial.h"

#include <stdlib.h>

#include "common/image/read/fragments.h"

enum {
	/* How many entries of the table are asked for at once: as many as a chunk of
	 * deflate has, unless most of its windows are zero. */
	GUESSED_ENTRIES = 256,
	/* How many windows a fragment of several has on average, where they follow the
	 * content. */
	GUESSED_WINDOWS = 4,
};

static struct blockmap
blocks_of(size_t at, size_t bytes)
{
	size_t end = (at + bytes + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES;
	size_t first = at / WIRE_BLOCK_BYTES;

	end = end < WIRE_CHUNK_BLOCKS ? end : WIRE_CHUNK_BLOCKS;
	return blockmap_range((uint32_t)first, (uint32_t)(end - first));
}

/* Are all these bytes here?  *need is set to their blocks. */
static bool
are_here(size_t at, size_t bytes, const struct blockmap *here, struct blockmap *need)
{
	struct blockmap lack = blocks_of(at, bytes);

	*need = lack;
	lack = blockmap_minus(lack, here);
	return blockmap_empty(&lack);
}

/* Guess how many bytes the extension area has. */
static size_t
guess_area(const struct ndz_header *h)
{
	uint64_t windows = 0;

	for (unsigned i = 0; i < h->nregions && windows < GUESSED_ENTRIES; i++)
		windows += h->regions[i].len / (FRAGMENT_WINDOW_BYTES / SECTOR_BYTES) +
		           1;
	if (windows > GUESSED_ENTRIES)
		windows = GUESSED_ENTRIES;
	if (ndz_header_codec(h)->windows > 1)
		windows /= GUESSED_WINDOWS;
	return ext_need((size_t)windows + 1, false);
}

/* Get a table that can be trusted although the stream is not here. */
static bool
get_table(struct chunk *c, const void *chunk)
{
	struct err ignored; /* reading the whole chunk will tell what is wrong */

	if (chunk_parse(c, chunk, &ignored) != 0)
		return false;
	if (c->ext.fragments != NULL && c->ext.has_digest &&
	    chunk_header_proved(c, chunk))
		return true;
	chunk_free(c);
	return false;
}

enum partial_step
partial_next(const void *chunk, const struct blockmap *here, struct blockmap *need,
    struct chunk *c)
{
	struct err ignored;

	if (!are_here(0, NDZ_HEADER_BYTES, here, need))
		return PARTIAL_MORE;
	if (ndz_header_get(&c->h, chunk, NDZ_CHUNK_BYTES, &ignored) != 0 ||
	    c->h.encrypted)
		return PARTIAL_WHOLE;
	size_t at = ext_area_at(&c->h);
	if (at + EXT_HEAD_BYTES > NDZ_CHUNK_BYTES)
		return PARTIAL_WHOLE;
	if (!are_here(at, EXT_HEAD_BYTES, here, need)) {
		are_here(at, guess_area(&c->h), here, need);
		return PARTIAL_MORE;
	}
	size_t bytes = ext_area_bytes(&c->h, chunk);
	if (bytes == 0)
		return PARTIAL_WHOLE;
	if (!are_here(at, bytes, here, need))
		return PARTIAL_MORE;
	return get_table(c, chunk) ? PARTIAL_TABLE : PARTIAL_WHOLE;
}

struct blockmap
partial_fragment(const struct fragments *f)
{
	return blocks_of(NDZ_HEADER_BYTES + f->stream_at, f->entry->bytes);
}

struct blockmap
partial_differing(const struct chunk *c, const bool *same)
{
	struct fragments f = fragments_of(c);
	struct blockmap need = { { 0 } };

	while (fragments_next(&f)) {
		struct blockmap own = partial_fragment(&f);
		if (!same[f.number])
			blockmap_add(&need, &own);
	}
	return need;
}

struct blockmap
partial_digested(const struct chunk *c)
{
	return blocks_of(0, NDZ_HEADER_BYTES + c->h.size);
}

/* Set good[number] for the fragments that are what their digests say; a fragment that is the
 * same as on the disk is good, and is not looked at.  False: it cannot be known. */
static bool
check_fragments(
    const struct chunk *c, const void *bytes, const bool *same_or_null, bool *good)
{
	struct fragments f = fragments_of(c);
	struct decoder *dec = decoder_new();
	uint8_t *data = malloc(FRAGMENT_BYTES_MAX);
	bool can = dec != NULL && data != NULL;
	struct err ignored;

	while (can && fragments_next(&f)) {
		if (same_or_null != NULL && same_or_null[f.number]) {
			good[f.number] = true;
			continue;
		}
		can = f.raw_bytes <= FRAGMENT_BYTES_MAX || f.entry->zero;
		good[f.number] = can &&
		                 fragments_decode(&f, bytes, dec, data, &ignored) == 0;
	}
	decoder_free(dec);
	free(data);
	return can;
}

struct blockmap
partial_damaged(const struct chunk *c, const void *bytes)
{
	struct blockmap bad = { { 0 } };
	bool *good = NULL;

	if (c->ext.fragments != NULL)
		good = calloc(c->ext.nfragments, sizeof *good);
	if (good != NULL && check_fragments(c, bytes, NULL, good))
		bad = partial_differing(c, good);
	free(good);
	return blockmap_empty(&bad) ? blockmap_range(0, WIRE_CHUNK_BLOCKS) : bad;
}

struct blockmap
partial_damaged_others(const struct chunk *c, const void *bytes, const bool *same)
{
	struct blockmap bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	bool *good = calloc(c->ext.nfragments + 1, sizeof *good);

	if (good != NULL && check_fragments(c, bytes, same, good))
		bad = partial_differing(c, good);
	free(good);
	return bad;
}
