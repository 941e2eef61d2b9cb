/* recut.c: windows are cut anew where the content says so.  encode.c calls this in the
 * thread that reads the source. */
#include "common/image/write/recut.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The relocations of one window that was given out. */
struct kept {
	struct kept *next;
	struct ndz_reloc v[];
};

struct recut {
	struct recut_config cfg;
	struct cut cut;
	bool apart; /* no long fragment goes on into the next window */
	struct kept *kept;
	struct ndz_reloc relocs[NDZ_RELOCS_MAX]; /* of the window that is made */
	/* What was read last, and how much of it is used. */
	struct window in;
	unsigned region, reloc;
	uint64_t region_at; /* sectors of that region already used */
	size_t at;          /* bytes of raw already used */
	bool fresh_to_come; /* in.fresh_at is not used yet */
	bool ended;
	uint8_t raw[FRAGMENT_WINDOW_BYTES];
};

int
recut_new(struct recut **out, const struct recut_config *cfg, struct err *e)
{
	struct recut *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "windows");
	r->cfg = *cfg;
	r->cut = (struct cut){ .zones = cfg->zones, .filler = cfg->filler, .files = cfg->files };
	r->apart = true;
	*out = r;
	return 0;
}

void
recut_free(struct recut *r)
{
	if (r == NULL)
		return;
	while (r->kept != NULL) {
		struct kept *k = r->kept;
		r->kept = k->next;
		free(k);
	}
	free(r);
}

/* Make sure that some of r->in is unused.  Returns 1, 0 at the end, or -1. */
static int
fill(struct recut *r, struct err *e)
{
	if (r->region < r->in.nregions || r->ended)
		return !r->ended;
	r->in.nregions = r->in.nrelocs = 0;
	r->in.fresh = false;
	ssize_t n = r->cfg.next(r->cfg.arg, &r->in, r->raw, e);
	if (n < 0)
		return -1;
	r->region = r->reloc = 0;
	r->region_at = r->at = 0;
	r->fresh_to_come = r->in.fresh;
	r->ended = n == 0;
	return !r->ended;
}

/* The unused sectors of the region at hand. */
static struct range
rest_of_region(const struct recut *r)
{
	struct range all = r->in.regions[r->region];

	return (struct range){ all.off + r->region_at, all.len - r->region_at };
}

/* How many unused relocations belong to the piece. */
static unsigned
relocs_of(const struct recut *r, struct range piece)
{
	unsigned n = 0;

	while (r->reloc + n < r->in.nrelocs &&
	       r->in.relocs[r->reloc + n].sector < range_end(piece))
		n++;
	return n;
}

/* Is the piece in the block that must be the first one of a chunk, or behind it? */
static bool
is_fresh(const struct recut *r, struct range piece)
{
	return r->fresh_to_come && range_end(piece) > r->in.fresh_at;
}

static bool
goes_on(const struct window *w, struct range piece)
{
	return w->nregions > 0 && range_end(w->regions[w->nregions - 1]) == piece.off;
}

/* Would the window be too large with this piece? */
static bool
is_full(const struct recut *r, const struct window *w, size_t bytes, struct range piece)
{
	return bytes + piece.len * SECTOR_BYTES > CUT_WINDOW_BYTES_MAX ||
	       (w->nregions == WINDOW_REGIONS_MAX && !goes_on(w, piece)) ||
	       w->nrelocs + relocs_of(r, piece) > WINDOW_RELOCS_MAX;
}

/* Does the window, which has something, end in front of the piece? */
static bool
ends(struct recut *r, const struct window *w, size_t bytes, struct range piece)
{
	enum cut_kind cut = cut_before(&r->cut);

	if (is_fresh(r, piece)) {
		cut_anew(&r->cut);
		cut = CUT_LONG;
	}
	r->apart = cut == CUT_LONG;
	return cut != CUT_NONE || is_full(r, w, bytes, piece);
}

/* Take the piece's relocations into the window. */
static int
take_relocs(struct recut *r, struct window *w, struct range piece, struct err *e)
{
	unsigned n = relocs_of(r, piece);

	if (n > NDZ_RELOCS_MAX - w->nrelocs)
		return err_set(e, ERR_FORMAT,
		    "no room for the %u relocations of the 4 KiB at sector %" PRIu64, n,
		    piece.off);
	if (n > 0)
		memcpy(r->relocs + w->nrelocs, r->in.relocs + r->reloc,
		    n * sizeof *r->relocs);
	w->nrelocs += n;
	r->reloc += n;
	return 0;
}

/* Take the piece and its data into the window. */
static void
take(struct recut *r, struct window *w, uint8_t *to, struct range piece)
{
	size_t bytes = piece.len * SECTOR_BYTES;

	memcpy(to, r->raw + r->at, bytes);
	cut_add(&r->cut, piece, to);
	if (goes_on(w, piece))
		w->regions[w->nregions - 1].len += piece.len;
	else
		w->regions[w->nregions++] = piece;
	r->at += bytes;
	r->region_at += piece.len;
	if (r->region_at == r->in.regions[r->region].len) {
		r->region++;
		r->region_at = 0;
	}
}

/* Relocations are borrowed by the window until it is packed, so they are kept. */
static int
keep_relocs(struct recut *r, struct window *w, struct err *e)
{
	size_t bytes = w->nrelocs * sizeof *r->relocs;

	if (w->nrelocs == 0)
		return 0;
	struct kept *k = malloc(sizeof *k + bytes);
	if (k == NULL)
		return err_nomem(e, "relocations");
	memcpy(k->v, r->relocs, bytes);
	k->next = r->kept;
	r->kept = k;
	w->relocs = k->v;
	return 0;
}

ssize_t
recut_next(struct recut *r, struct window *w, void *buf, struct err *e)
{
	size_t bytes = 0;
	int rc;

	w->nregions = w->nrelocs = 0;
	w->fresh = false;
	w->apart = r->apart;
	while ((rc = fill(r, e)) == 1) {
		struct range piece = cut_piece(&r->cut, rest_of_region(r));
		if (bytes > 0 && ends(r, w, bytes, piece))
			break;
		if (is_fresh(r, piece)) {
			w->fresh = true;
			r->fresh_to_come = false;
		}
		if (take_relocs(r, w, piece, e) != 0)
			return -1;
		take(r, w, (uint8_t *)buf + bytes, piece);
		bytes += piece.len * SECTOR_BYTES;
	}
	return rc < 0 || keep_relocs(r, w, e) != 0 ? -1 : (ssize_t)bytes;
}
