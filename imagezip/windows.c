#include "imagezip/windows.h"

#include <string.h>

void
windows_init(struct windows *w, struct disk *d, struct layout *l, bool bad_as_zeros,
    struct rangeset *bad)
{
	*w = (struct windows){ .disk = d, .layout = l, .bad_as_zeros = bad_as_zeros, .bad = bad,
		.walk.set = &l->store };
	cache_init(&w->cache, d);
}

void
windows_done(struct windows *w)
{
	cache_done(&w->cache);
}

/* Sector by sector, what cannot be read becomes zeros and is noted. */
static int
rescue(struct windows *w, uint64_t sector, uint64_t count, uint8_t *buf, struct err *e)
{
	for (; count > 0; sector++, count--, buf += SECTOR_BYTES) {
		if (disk_read(w->disk, buf, SECTOR_BYTES, sector * SECTOR_BYTES, e) == 0)
			continue;
		if (e->kind != ERR_IO)
			return -1;
		memset(buf, 0, SECTOR_BYTES);
		if (rangeset_add(w->bad, (struct range){ sector, 1 }, e) != 0)
			return -1;
	}
	return 0;
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
	if (!w->bad_as_zeros || e->kind != ERR_IO || have != bytes)
		return -1;
	return rescue(w, sector, r.len, buf, e);
}

/* The same, but what is stored as zeros is not read. */
int
windows_read(struct windows *w, struct range r, void *out, struct err *e)
{
	uint8_t *buf = out;
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
	return read_range(w, (struct range){ at, end - at }, buf + (at - r.off) * SECTOR_BYTES,
	    e);
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

ssize_t
windows_next(struct windows *w, struct window *out, void *buf, struct err *e)
{
	size_t bytes = 0;

	if (!disk_seekable(w->disk))
		return next_of_stream(w, out, buf, e);
	out->nregions = walk_next(&w->walk, out->regions);
	for (unsigned i = 0; i < out->nregions; i++) {
		if (windows_read(w, out->regions[i], (uint8_t *)buf + bytes, e) != 0)
			return -1;
		bytes += out->regions[i].len * SECTOR_BYTES;
	}
	return (ssize_t)bytes;
}
