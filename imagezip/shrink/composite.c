/* composite.c: a disk that is put together out of pieces of others.  shrink.c makes and writes it,
 * in the first thread; the threads of the capture read it. */
#include "imagezip/shrink/composite.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

struct piece {
	struct range sectors;
	struct disk *from; /* borrowed */
	uint64_t from_sector;
};

struct written {
	uint64_t sector;
	uint8_t bytes[SECTOR_BYTES];
};

struct composite {
	const char *name; /* borrowed */
	size_t n, cap;
	struct piece *pieces; /* owned */
	size_t nwritten, written_cap;
	struct written *written; /* owned; a table's sectors, so there are few */
};

/* The first piece that ends behind the sector; NULL: there is none. */
static const struct piece *
piece_at(const struct composite *s, uint64_t sector)
{
	for (size_t i = 0; i < s->n; i++)
		if (range_end(s->pieces[i].sectors) > sector)
			return &s->pieces[i];
	return NULL;
}

/* Read from one piece, or zeros up to the next one: *len bytes at most, and says how many. */
static int
read_some(const struct composite *s, uint8_t *buf, size_t *len, uint64_t off, struct err *e)
{
	const struct piece *p = piece_at(s, off / SECTOR_BYTES);
	uint64_t begin = p != NULL ? p->sectors.off * SECTOR_BYTES : UINT64_MAX;
	bool zeros = off < begin;
	uint64_t end = zeros ? begin : range_end(p->sectors) * SECTOR_BYTES;

	if (*len > end - off)
		*len = (size_t)(end - off);
	if (!zeros)
		return disk_read(p->from, buf, *len,
		    off - begin + p->from_sector * SECTOR_BYTES, e);
	memset(buf, 0, *len);
	return 0;
}

/* Lay the sectors that were written over what was read. */
static void
lay_over(const struct composite *s, uint8_t *buf, size_t len, uint64_t off)
{
	for (size_t i = 0; i < s->nwritten; i++) {
		uint64_t at = s->written[i].sector * SECTOR_BYTES;
		struct range both = range_clip(
		    (struct range){ at, SECTOR_BYTES }, off, off + len);
		if (both.len != 0)
			memcpy(buf + (both.off - off),
			    s->written[i].bytes + (both.off - at), both.len);
	}
}

static int
composite_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	const struct composite *s = ctx;

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at;
		if (read_some(s, (uint8_t *)buf + at, &n, off + at, e) != 0)
			return -1;
	}
	lay_over(s, buf, len, off);
	return 0;
}

/* The sector as it will be read, to be changed. */
static struct written *
writable(struct composite *s, uint64_t sector, struct err *e)
{
	for (size_t i = 0; i < s->nwritten; i++)
		if (s->written[i].sector == sector)
			return &s->written[i];
	if (grow_array(&s->written, &s->written_cap, s->nwritten, sizeof *s->written,
		"a partition table", e) != 0)
		return NULL;
	struct written *w = &s->written[s->nwritten];
	w->sector = sector;
	if (composite_read(s, w->bytes, sizeof w->bytes, sector * SECTOR_BYTES, e) != 0)
		return NULL;
	s->nwritten++;
	return w;
}

static int
composite_write(void *ctx, const void *buf, size_t len, uint64_t off, struct err *e)
{
	for (size_t at = 0, n; at < len; at += n) {
		size_t in = (size_t)((off + at) % SECTOR_BYTES);
		struct written *w = writable(ctx, (off + at) / SECTOR_BYTES, e);
		n = len - at < SECTOR_BYTES - in ? len - at : SECTOR_BYTES - in;
		if (w == NULL)
			return -1;
		memcpy(w->bytes + in, (const uint8_t *)buf + at, n);
	}
	return 0;
}

int
composite_begin(struct composite **out, const char *name, struct err *e)
{
	*out = calloc(1, sizeof **out);
	if (*out == NULL)
		return err_nomem(e, "a smaller disk");
	(*out)->name = name;
	return 0;
}

int
composite_add(struct composite *s, struct range sectors, struct disk *from, uint64_t from_sector,
    struct err *e)
{
	if (sectors.len == 0)
		return 0;
	if (grow_array(&s->pieces, &s->cap, s->n, sizeof *s->pieces, "a smaller disk", e) != 0)
		return -1;
	s->pieces[s->n++] = (struct piece){ sectors, from, from_sector };
	return 0;
}

int
composite_open(struct disk **out, struct composite *s, uint64_t sectors, unsigned sector_bytes,
    struct err *e)
{
	static const struct disk_ops ops = { .read = composite_read, .write = composite_write };

	if (disk_open_ops(out, s->name, DISK_FILE, sectors * SECTOR_BYTES, &ops, s, e) != 0)
		return -1;
	disk_set_sector_bytes(*out, sector_bytes);
	return 0;
}

void
composite_end(struct composite *s)
{
	if (s == NULL)
		return;
	free(s->pieces);
	free(s->written);
	free(s);
}
