/* windows.c: reads the stored sectors of a source window by window. capture.c reads them
 * in the reader's thread of the encoder, delta.c in imagezip's first thread before the
 * capture. */
#include "imagezip/capture/windows.h"

#include <string.h>

void
windows_init(struct windows *w, struct disk *d, struct layout *l,
    const struct capture_what *o, struct rangeset *lost)
{
	*w = (struct windows){
		.disk = d, .layout = l, .walk.set = &l->store, .stream_end = l->total
	};
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

/* Read image sectors [r.off, r.off + r.len), which are stored, into buf. */
static int
read_range(struct windows *w, struct range r, uint8_t *buf, struct err *e)
{
	uint64_t sector = w->layout->base + r.off;
	size_t bytes = r.len * SECTOR_BYTES;
	/* Only a file (-r, -f) may end within a sector; without -f such a length is
	 * refused. */
	bool file = w->layout->kind == EXT_KIND_FILE;
	size_t have = file ? readable_bytes(w, sector, bytes) : bytes;

	memset(buf + have, 0, bytes - have);
	cache_reading(&w->cache, sector * SECTOR_BYTES);
	if (disk_read(w->disk, buf, have, sector * SECTOR_BYTES, e) == 0)
		return 0;
	return rescue_read(&w->rescue, sector, buf, have, e);
}

/* Do what read_range() does, but do not read sectors that are zeros. */
static int
fill_range(struct windows *w, struct range r, void *out, struct err *e)
{
	uint8_t *buf = out;
	const struct rangeset *zero = &w->layout->unread;
	uint64_t at = r.off, end = range_end(r);

	for (size_t i = rangeset_find(zero, at); i < rangeset_count(zero) && at < end;
	     i++) {
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
	return read_range(
	    w, (struct range){ at, end - at }, buf + (at - r.off) * SECTOR_BYTES, e);
}

/* Apply the patches of sectors that are stored changed. */
static void
change_part(const struct windows *w, struct range part, uint8_t *buf)
{
	const struct relocs *x = &w->layout->relocs;

	for (size_t i = 0; i < x->npatches; i++) {
		const struct patch *p = &x->patches[i];
		if (p->sector >= part.off && p->sector - part.off < part.len)
			memcpy(buf + (p->sector - part.off) * SECTOR_BYTES, p->bytes,
			    SECTOR_BYTES);
	}
}

int
windows_read(struct windows *w, struct range r, void *buf, struct err *e)
{
	if (fill_range(w, r, buf, e) != 0)
		return -1;
	blanks_apply(&w->layout->blanks, r, buf);
	change_part(w, r, buf);
	return 0;
}

/* Read the next window of a pipe: everything is stored, until the pipe ends or as far as
 * -c says. */
static ssize_t
next_of_stream(struct windows *w, struct window *out, uint8_t *buf, struct err *e)
{
	uint64_t left = w->stream_end - w->stream_sector;
	size_t want = (left < WINDOW_SECTORS ? left : WINDOW_SECTORS) * SECTOR_BYTES;

	if (w->ended)
		return 0;
	ssize_t n = disk_read_upto(
	    w->disk, buf, want, w->stream_sector * SECTOR_BYTES, e);
	if (n < 0)
		return -1;
	w->ended = (size_t)n < want || left <= WINDOW_SECTORS;
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

/* Attach the relocations of a part.  Relocations of sectors that are not stored are left
 * out. */
static void
attach(struct windows *w, struct window *out, struct range part)
{
	const struct relocs *x = &w->layout->relocs;

	while (w->reloc < x->n && x->relocs[w->reloc].sector < part.off)
		w->reloc++;
	if (out->nrelocs == 0)
		out->relocs = x->relocs + w->reloc;
	for (; w->reloc < x->n && x->relocs[w->reloc].sector < range_end(part);
	     w->reloc++)
		out->nrelocs++;
	out->fresh |= x->together.len != 0 && x->together.off >= part.off &&
	              x->together.off < range_end(part);
	out->fresh_at = x->together.off;
}

ssize_t
windows_next(struct windows *w, struct window *out, void *buf, struct err *e)
{
	size_t bytes = 0;

	out->nrelocs = 0;
	out->fresh = false;
	if (!disk_seekable(w->disk))
		return next_of_stream(w, out, buf, e);
	out->nregions = walk_next(&w->walk, out->regions);
	for (unsigned i = 0; i < out->nregions; i++) {
		if (windows_read(w, out->regions[i], (uint8_t *)buf + bytes, e) != 0)
			return -1;
		attach(w, out, out->regions[i]);
		bytes += out->regions[i].len * SECTOR_BYTES;
	}
	return (ssize_t)bytes;
}
