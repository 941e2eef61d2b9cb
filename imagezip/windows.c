#include "imagezip/windows.h"

#include <string.h>

void
windows_init(struct windows *w, struct disk *d, struct layout *l, const struct options *o,
    struct rangeset *lost)
{
	*w = (struct windows){ .disk = d, .layout = l };
	rescue_init(&w->rescue, d, o->retries, o->bad_as_zeros, lost);
	cache_init(&w->cache, d);
}

void
windows_done(struct windows *w)
{
	cache_done(&w->cache);
	rescue_done(&w->rescue);
}

/* The last sector of a file may be short. */
static size_t
readable_bytes(struct windows *w, uint64_t sector, size_t bytes)
{
	uint64_t size = disk_size_bytes(w->disk), at = sector * SECTOR_BYTES;

	if (size - at >= bytes)
		return bytes;
	w->short_bytes = (uint32_t)((size - at) % SECTOR_BYTES);
	return (size_t)(size - at);
}

/* Image sectors [r.off, r.off + r.len), which are stored, into buf. */
static int
read_range(struct windows *w, struct range r, uint8_t *buf, struct err *e)
{
	uint64_t sector = w->layout->base + r.off;
	size_t bytes = r.len * SECTOR_BYTES;
	/* A sector beyond the end would be an odd length without -f: refused. */
	bool file = w->layout->kind == EXT_KIND_FILE;
	size_t have = file ? readable_bytes(w, sector, bytes) : bytes;

	memset(buf + have, 0, bytes - have);
	cache_reading(&w->cache, sector * SECTOR_BYTES);
	if (disk_read(w->disk, buf, have, sector * SECTOR_BYTES, e) == 0)
		return 0;
	return rescue_read(&w->rescue, sector, buf, have, e);
}

/* The same, but what is stored as zeros is not read. */
static int
fill_range(struct windows *w, struct range r, uint8_t *buf, struct err *e)
{
	struct rangeset *zero = &w->layout->zero;
	uint64_t at = r.off, end = range_end(r);

	for (size_t i = rangeset_find(zero, at); i < rangeset_count(zero) && at < end; i++) {
		struct range z = range_clip(rangeset_get(zero, i), at, end);
		if (z.len == 0)
			break;
		if (z.off > at && read_range(w, (struct range){ at, z.off - at },
		    buf + (at - r.off) * SECTOR_BYTES, e) != 0)
			return -1;
		memset(buf + (z.off - r.off) * SECTOR_BYTES, 0, z.len * SECTOR_BYTES);
		at = range_end(z);
	}
	if (at == end)
		return 0;
	return read_range(w, (struct range){ at, end - at }, buf + (at - r.off) * SECTOR_BYTES, e);
}

/* A pipe: everything, until it ends. */
static ssize_t
next_of_stream(struct windows *w, struct window *out, uint8_t *buf, struct err *e)
{
	if (w->ended)
		return 0;
	ssize_t n = disk_read_upto(w->disk, buf, FRAGMENT_WINDOW_BYTES,
	    w->stream_sector * SECTOR_BYTES, e);
	if (n < 0)
		return -1;
	w->ended = n < FRAGMENT_WINDOW_BYTES;
	w->short_bytes = (uint32_t)n % SECTOR_BYTES;
	uint64_t sectors = ((uint64_t)n + SECTOR_BYTES - 1) / SECTOR_BYTES;
	size_t bytes = sectors * SECTOR_BYTES;
	memset(buf + n, 0, bytes - (size_t)n);
	out->nregions = sectors > 0;
	out->regions[0] = (struct range){ w->stream_sector, sectors };
	w->stream_sector += sectors;
	w->layout->total = w->ended ? w->stream_sector : UINT64_MAX;
	return (ssize_t)bytes;
}

uint64_t
windows_peek(struct windows *w)
{
	struct rangeset *store = &w->layout->store;

	if (!disk_seekable(w->disk))
		return w->stream_sector / WINDOW_SECTORS;
	if (w->range == rangeset_count(store))
		return UINT64_MAX;
	return (rangeset_get(store, w->range).off + w->used) / WINDOW_SECTORS;
}

/* What is stored changed, and how it is made right again. */
static void
change_part(struct windows *w, struct window *out, struct range part, uint8_t *buf)
{
	const struct relocs *x = &w->layout->relocs;
	uint64_t end = range_end(part);

	for (; w->patch < x->npatches && x->patches[w->patch].sector < end; w->patch++)
		memcpy(buf + (x->patches[w->patch].sector - part.off) * SECTOR_BYTES,
		    x->patches[w->patch].bytes, SECTOR_BYTES);
	if (out->nrelocs == 0)
		out->relocs = x->relocs + w->reloc;
	for (; w->reloc < x->n && x->relocs[w->reloc].sector < end; w->reloc++)
		out->nrelocs++;
	out->fresh |= x->together.len != 0 && x->together.off >= part.off &&
	    x->together.off < end;
}

ssize_t
windows_next(struct windows *w, struct window *out, void *buf, struct err *e)
{
	struct rangeset *store = &w->layout->store;
	uint64_t window = UINT64_MAX;
	size_t bytes = 0;

	out->nregions = out->nrelocs = 0;
	out->fresh = false;
	if (!disk_seekable(w->disk))
		return next_of_stream(w, out, buf, e);
	while (w->range < rangeset_count(store)) {
		struct range r = rangeset_get(store, w->range);
		uint64_t at = r.off + w->used;
		if (window == UINT64_MAX)
			window = at / WINDOW_SECTORS;
		if (at / WINDOW_SECTORS != window)
			break;
		struct range part = range_clip(r, at, (window + 1) * WINDOW_SECTORS);
		if (fill_range(w, part, (uint8_t *)buf + bytes, e) != 0)
			return -1;
		change_part(w, out, part, (uint8_t *)buf + bytes);
		out->regions[out->nregions++] = part;
		bytes += part.len * SECTOR_BYTES;
		w->used += part.len;
		if (w->used == r.len) {
			w->range++;
			w->used = 0;
		}
	}
	return (ssize_t)bytes;
}
