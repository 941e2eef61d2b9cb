/* ext_fragments.c: the fragment table of a chunk is read, of either kind, and compared
 * with the chunk's header.  ext.c calls this, in any thread, since nothing is kept here. */
#include <stdlib.h>

#include "common/image/format/ext_impl.h"

/* Take the length and the windows of an EXT_TABLE_WINDOWS entry from its first word.  False:
 * they are impossible. */
static bool
windows_entry(struct ext_fragment *f, uint32_t word)
{
	f->bytes = word & ENTRY_LEN_MASK;
	f->windows = ((word & ~ZERO_RUN) >> ENTRY_WINDOWS_SHIFT) + 1;
	return f->windows <= (f->zero ? 1 : CODEC_WINDOWS_MAX);
}

/* Take the length and the sectors of an EXT_TABLE_SECTORS entry from its first word.  False:
 * they are impossible. */
static bool
sectors_entry(struct ext_fragment *f, uint32_t word)
{
	f->bytes = word & SECTORS_LEN_MASK;
	f->sectors = (word >> SECTORS_SHIFT & SECTORS_MASK) + 1;
	return !f->zero || f->sectors == 1;
}

static int
get_entry(struct ext_fragment *f, enum ext_table kind, struct rd *r, struct err *e)
{
	bool by_sectors = kind == EXT_TABLE_SECTORS;
	uint32_t word = rd_le32(r);

	f->zero = (word & ZERO_RUN) != 0;
	bool possible = by_sectors ? sectors_entry(f, word) : windows_entry(f, word);
	if (f->zero) {
		*(by_sectors ? &f->sectors : &f->windows) = rd_le64(r);
		rd_skip(r, EXT_FRAGMENT_DIGEST_BYTES - 8);
	} else {
		rd_copy(r, f->digest, EXT_FRAGMENT_DIGEST_BYTES);
	}
	if (!possible || f->bytes == 0 || (by_sectors ? f->sectors : f->windows) == 0)
		return err_set(
		    e, ERR_FORMAT, "the fragment table has an impossible entry");
	return 0;
}

int
ext_get_fragments(struct ext *x, const struct ndz_header *h, enum ext_table kind,
    struct rd *r, struct err *e)
{
	uint8_t codec = rd_u8(r), digest = rd_u8(r), digest_bytes = rd_u8(r),
		log2 = rd_u8(r);
	uint32_t n = rd_le32(r);

	/* A codec or digest of a later version is passed over: the stream can be read
	 * without the table. */
	if (codec != ndz_header_codec(h)->id || digest != DIGEST_SHA256 ||
	    digest_bytes != EXT_FRAGMENT_DIGEST_BYTES)
		return 0;
	if (log2 != (kind == EXT_TABLE_WINDOWS ? WINDOW_LOG2 : 0) || n == 0 ||
	    n > EXT_FRAGMENTS_MAX || !rd_can_hold(r, n, EXT_ENTRY_BYTES))
		return err_set(
		    e, ERR_FORMAT, "the fragment table cannot hold %u entries", n);
	if (x->fragments != NULL)
		return err_set(e, ERR_FORMAT, "two fragment tables");
	x->fragments = calloc(n, sizeof *x->fragments);
	if (x->fragments == NULL)
		return err_nomem(e, "a fragment table");
	x->table = kind;
	x->nfragments = n;
	for (uint32_t i = 0; i < n; i++)
		if (get_entry(&x->fragments[i], kind, r, e) != 0)
			return -1;
	return 0;
}

/* How many windows the regions touch, which is the number that the table must add up
 * to. */
static uint64_t
count_windows(const struct ndz_header *h)
{
	uint64_t n = 0, last = UINT64_MAX;

	for (unsigned i = 0; i < h->nregions; i++) {
		uint64_t from = h->regions[i].off / TABLE_WINDOW_SECTORS;
		uint64_t to = (range_end(h->regions[i]) - 1) / TABLE_WINDOW_SECTORS;
		n += to - from + (from != last);
		last = to;
	}
	return n;
}

/* The stored sectors of a chunk, window by window. */
struct window_walk {
	const struct ndz_header *h;
	unsigned region;
	uint64_t region_at; /* sectors of that region already used */
};

/* How many stored sectors the next window has; 0: there are no more windows. */
static uint64_t
next_window(struct window_walk *w)
{
	uint64_t n = 0, window = UINT64_MAX;

	while (w->region < w->h->nregions) {
		struct range r = w->h->regions[w->region];
		uint64_t at = r.off + w->region_at;
		if (window == UINT64_MAX)
			window = at / TABLE_WINDOW_SECTORS;
		if (at / TABLE_WINDOW_SECTORS != window)
			break;
		struct range part = range_clip(
		    r, at, (window + 1) * TABLE_WINDOW_SECTORS);
		n += part.len;
		w->region_at += part.len;
		if (w->region_at == r.len) {
			w->region++;
			w->region_at = 0;
		}
	}
	return n;
}

/* Fill in the sectors of each fragment of an EXT_TABLE_WINDOWS table.  match_regions() has
 * made sure that there are as many windows as the table counts. */
static void
find_sectors(struct ext *x, const struct ndz_header *h)
{
	struct window_walk w = { .h = h };

	for (size_t i = 0; i < x->nfragments; i++)
		for (uint64_t n = 0; n < x->fragments[i].windows; n++)
			x->fragments[i].sectors += next_window(&w);
}

/* Do the fragments have exactly as many windows, or sectors, as the regions? */
static bool
match_regions(const struct ext *x, const struct ndz_header *h)
{
	bool by_sectors = x->table == EXT_TABLE_SECTORS;
	uint64_t sum = 0;

	for (size_t i = 0; i < x->nfragments; i++) {
		const struct ext_fragment *f = &x->fragments[i];
		uint64_t n = by_sectors ? f->sectors : f->windows;
		if (n > UINT64_MAX / 2 - sum)
			return false;
		sum += n;
	}
	return sum ==
	       (by_sectors ? ndz_header_raw_bytes(h) / SECTOR_BYTES : count_windows(h));
}

int
ext_check_fragments(struct ext *x, const struct ndz_header *h, struct err *e)
{
	const struct codec *c = ndz_header_codec(h);
	uint64_t bytes = c->head_bytes + c->tail_bytes;

	if (x->fragments == NULL)
		return 0;
	for (size_t i = 0; i < x->nfragments; i++)
		bytes += x->fragments[i].bytes;
	if (bytes != h->size)
		return err_set(
		    e, ERR_FORMAT, "the fragments do not add up to the stream");
	if (!match_regions(x, h))
		return err_set(e, ERR_FORMAT, "the fragments do not match the regions");
	if (x->table == EXT_TABLE_WINDOWS)
		find_sectors(x, h);
	return 0;
}
