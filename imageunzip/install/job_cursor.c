/* job_cursor.c: finds where the data of a chunk goes and puts it there: to the sectors
 * that the header names, relocated, and from there where the maps say. job.c and
 * job_compare.c call this in the decoders' threads and the writer's, each cursor in one
 * thread. */
#include "imageunzip/install/job_impl.h"

#include <inttypes.h>

#include "common/image/format/reloc.h"
#include "imageunzip/install/moved_part.h"

/* Is this sector of the image installed? */
static bool
wants(const struct maps *maps, uint64_t sector)
{
	uint64_t to;

	return maps_whole(maps, (struct range){ sector, 1 }, &to);
}

/* Apply the relocations that lie in data[n], which begins at c->raw_at. */
int
cursor_relocate(const struct cursor *c, uint8_t *data, size_t n, struct err *e)
{
	for (unsigned i = 0; i < c->h->nrelocs; i++) {
		const struct ndz_reloc *r = &c->h->relocs[i];
		if (!wants(c->maps, r->sector) || !reloc_changes(r, c->t->slice))
			continue;
		uint64_t at = reloc_at(c->h, r);
		if (at < c->raw_at || at - c->raw_at >= n)
			continue;
		size_t off = (size_t)(at - c->raw_at);
		if (reloc_bytes(r) > n - off)
			return err_set(e, ERR_FORMAT,
			    "the relocation at sector %" PRIu64 " is cut in two",
			    r->sector);
		if (reloc_apply(r, c->t->slice, data + off, n - off, e) != 0)
			return -1;
	}
	moved_part_apply(c->t, c->h, c->raw_at, data, n);
	return 0;
}

/* How many of these bytes are data? The last sector of a file may be short
 * (NDZ_RELOC_SHORT_SECTOR); a new file ends there. */
static uint64_t
trim_short(const struct cursor *c, uint64_t sector, uint64_t bytes)
{
	for (unsigned i = 0; i < c->h->nrelocs; i++) {
		const struct ndz_reloc *r = &c->h->relocs[i];
		uint64_t last = sector + bytes / SECTOR_BYTES - 1;
		if (r->type != NDZ_RELOC_SHORT_SECTOR || r->sector != last ||
		    r->size >= SECTOR_BYTES)
			continue;
		c->t->short_end = last * SECTOR_BYTES + r->size;
		return bytes - SECTOR_BYTES + r->size;
	}
	return bytes;
}

/* Go on by up to n > 0 bytes that lie side by side on the disk.  Returns how many, and puts
 * into *sector where they begin. */
uint64_t
cursor_advance(struct cursor *c, uint64_t n, uint64_t *sector)
{
	struct range r = c->h->regions[c->region];
	uint64_t left = r.len * SECTOR_BYTES - c->region_at;
	uint64_t now = n < left ? n : left;

	*sector = r.off + c->region_at / SECTOR_BYTES;
	c->region_at += now;
	c->raw_at += now;
	if (now == left) {
		c->region++;
		c->region_at = 0;
	}
	return now;
}

/* Put bytes that lie side by side on the image's disk where the maps say; p NULL: they are
 * zeros. */
static int
put_mapped(
    struct cursor *c, uint64_t sector, const uint8_t *p, uint64_t bytes, struct err *e)
{
	uint64_t all = bytes, now, to;

	for (; bytes > 0; bytes -= now) {
		struct range r = { sector, (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES };
		uint64_t sectors = maps_run(c->maps, r, &to);
		now = sectors < r.len ? sectors * SECTOR_BYTES : bytes;
		/* The digest of a fragment is of no use when only a part of the fragment
		 * is wanted, so the bytes are compared here. */
		bool compare = now < all && p != NULL && c->t->cfg->skip_same &&
		               c->put == target_write;
		if (to != MAPS_NOWHERE &&
		    (compare ? job_write_differing
			     : c->put)(c->t, to, p, now, c->parts, e) != 0)
			return -1;
		p = p != NULL ? p + now : NULL;
		sector += sectors;
	}
	return 0;
}

/* Put the next n bytes of the chunk's data to their places; p NULL: they are zeros. */
int
cursor_put(struct cursor *c, const uint8_t *p, uint64_t n, struct err *e)
{
	uint64_t now, sector;

	for (; n > 0; n -= now) {
		now = cursor_advance(c, n, &sector);
		uint64_t bytes = trim_short(c, sector, now);
		if (put_mapped(c, sector, p, bytes, e) != 0)
			return -1;
		p = p != NULL ? p + now : NULL;
	}
	return 0;
}

int
cursor_put_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct cursor *c = arg;
	struct err later;
	int rc = cursor_relocate(c, data, n, e) == 0 ? cursor_put(c, data, n, e) : -1;

	/* The caller uses the bytes again, or frees them, so writes that were begun before one
	 * failed must have ended, too. */
	if (target_land(c->t, rc == 0 ? e : &later) != 0)
		rc = -1;
	return rc;
}

static int
note_same(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
{
	(void)data;
	return target_note_same(t, sector, bytes, parts, e);
}

static int
put_nothing(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
{
	(void)t, (void)sector, (void)data, (void)bytes, (void)parts, (void)e;
	return 0;
}

/* Pass over n bytes that the target has already. They are counted when writing, not when
 * comparing. */
int
cursor_put_same(struct cursor *c, uint64_t n, struct err *e)
{
	struct cursor same = *c;

	same.put = c->put == target_compare ? put_nothing : note_same;
	int rc = cursor_put(&same, NULL, n, e);
	same.put = c->put;
	*c = same;
	return rc;
}

struct cursor
cursor_of(const struct chunk *chunk, struct target *t, target_put_fn *put)
{
	return (struct cursor){ .t = t, .h = &chunk->h, .put = put, .maps = t->maps };
}
