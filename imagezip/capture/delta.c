/* delta.c: compares the source with a signature (-H), and leaves only what differs in the
 * layout. main.c calls this in the first thread, between layout and capture. */
#include "imagezip/capture/delta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/output.h"
#include "common/image/format/marker.h"
#include "common/image/write/sighash.h"
#include "imagezip/capture/delta_replaced.h"
#include "imagezip/capture/delta_samples.h"
#include "imagezip/capture/kept.h"
#include "imagezip/capture/windows.h"

/* Make the signature of all that would be stored, by reading it. */
static int
hash_now(struct delta *x, struct windows *source, struct err *e)
{
	struct window *w = calloc(1, sizeof *w);
	uint8_t *buf = malloc(FRAGMENT_WINDOW_BYTES);
	struct sigmaker *m = NULL;
	ssize_t n = -1;

	if (w == NULL || buf == NULL)
		err_nomem(e, "a window");
	else if (sigmaker_new(&m, x->hash, x->block_sectors, e) == 0)
		while ((n = windows_next(source, w, buf, e)) > 0) {
			if (cancel_check(e) == 0 &&
			    sigmaker_add_window(m, w, buf, 0, e) == 0)
				continue;
			n = -1;
			break;
		}
	int rc = n == 0 ? sigmaker_finish(m, &x->now, e) : -1;
	sigmaker_free(m);
	free(buf);
	free(w);
	return rc;
}

/* Has any sector of the partition table changed? Then what is stored of a block may differ
 * from before, although the block itself has not changed. */
static bool
table_changed(const struct layout *l, const struct rangeset *changed)
{
	for (size_t i = 0; i < rangeset_count(changed); i++)
		if (layout_has_table(l, rangeset_get(changed, i)))
			return true;
	return false;
}

/* Hash the stored sectors, except those in `same`, whose records are taken over. */
static int
hash_rest(struct delta *x, struct disk *d, struct layout *l, const struct rangeset *same,
    const struct capture_what *o, struct err *e)
{
	struct rangeset rest, all = l->store;
	struct windows w;

	rangeset_init(&rest);
	int rc = rangeset_union(&rest, &all, e);
	if (rc == 0)
		rc = rangeset_minus(&rest, same, e);
	x->read_sectors = rangeset_total(&rest);
	l->store = rest;
	if (rc == 0) {
		windows_init(&w, d, l, o, &x->lost);
		rc = hash_now(x, &w, e);
		windows_done(&w);
	}
	rangeset_free(&l->store);
	l->store = all;
	return rc;
}

/* Make the signature without reading blocks of which it is known that they have not changed. */
static int
hash_changed(struct delta *x, struct disk *d, struct layout *l, const struct sig *old,
    const struct capture_what *o, struct err *e)
{
	struct sig kept = { .version = old->version, .hash = old->hash,
		.block_sectors = old->block_sectors };
	struct rangeset same;
	int rc = 0;

	rangeset_init(&same);
	if (!table_changed(l, o->changed))
		rc = kept_find(&kept, old, l, o->changed, e);
	if (rc == 0)
		rc = sig_sectors(&kept, &same, e);
	rangeset_seal(&same);
	if (rc == 0)
		rc = hash_rest(x, d, l, &same, o, e);
	if (rc == 0)
		rc = kept_merge(&x->now, &kept, e);
	rangeset_free(&same);
	sig_free(&kept);
	return rc;
}

static int
read_sectors(void *arg, struct range r, void *buf, struct err *e)
{
	return windows_read(arg, r, buf, e);
}

/* Does the source differ from a record of the old signature? If the new signature has a
 * record of the same sectors, the hashes are compared; if not, the sectors are read, and
 * their new hash is added to *cut.  Returns 1, 0, or -1. */
static int
differs(struct delta *x, const struct sig *old, const struct sig_record *r,
    struct windows *w, struct sig *cut, struct err *e)
{
	struct range sectors = { r->start, r->count };
	const struct sig_record *now = sig_find(&x->now, r->start);
	struct sig_record new = { .start = r->start, .count = r->count };

	if (now != NULL && now->count == r->count)
		return memcmp(now->hash, r->hash, sig_hash_bytes(old->hash)) != 0;
	if (range_end(sectors) > w->layout->total)
		return 1;
	if (sig_hash_range(old->hash, sectors, read_sectors, w, new.hash, e) != 0)
		return -1;
	if (memcmp(new.hash, r->hash, sig_hash_bytes(old->hash)) == 0)
		return 0;
	return sig_add(cut, &new, e) == 0 ? 1 : -1;
}

/* Put into *same the sectors of old records whose data has not changed. */
static int
find_same(struct delta *x, const struct sig *old, struct windows *w,
    struct rangeset *same, struct sig *cut, struct err *e)
{
	for (size_t i = 0; i < old->n; i++) {
		const struct sig_record *r = &old->records[i];
		struct range sectors = { r->start, r->count };
		if (rangeset_total_in(&w->layout->store, sectors) == 0)
			continue;
		int rc = differs(x, old, r, w, cut, e);
		if (rc < 0 || (rc == 0 && rangeset_add(same, sectors, e) != 0) ||
		    cancel_check(e) != 0)
			return -1;
	}
	return 0;
}

/* Is the record stored whether it has changed or not?  The table tells where a partition lies
 * (--only of imageunzip).  Installers hold the first 4 KiB back when the image stores them,
 * and put the incomplete marker there, by which an interrupted installation of the delta is
 * known. */
static bool
is_kept(const struct layout *l, struct range r)
{
	return r.off < MARKER_AREA_SECTORS || layout_has_table(l, r);
}

/* Put into *changed whole records of the new signature, so that their hashes can be checked
 * when they are stored. */
static int
find_changed(struct delta *x, const struct rangeset *same, struct rangeset *changed,
    const struct layout *l, bool short_end, struct err *e)
{
	/* The short last sector of a file is always stored, since it tells where the file
	 * ends. */
	for (size_t i = 0; i < x->now.n; i++) {
		struct range r = { x->now.records[i].start, x->now.records[i].count };
		size_t k = rangeset_find(same, r.off);
		bool is_same = k < rangeset_count(same) &&
		               rangeset_get(same, k).off <= r.off &&
		               range_end(rangeset_get(same, k)) >= range_end(r);
		x->changed_sectors += is_same ? 0 : r.len;
		if (is_same && !(short_end && i == x->now.n - 1) && !is_kept(l, r))
			continue;
		if (rangeset_add(changed, r, e) != 0)
			return -1;
	}
	/* Installers want a chunk to hold something, so one block is stored although it is
	 * the same. */
	rangeset_seal(changed);
	if (rangeset_count(changed) == 0)
		return rangeset_add(changed,
		    (struct range){ x->now.records[0].start, x->now.records[0].count },
		    e);
	return 0;
}

static int
find_freed(struct delta *x, const struct sig *old, const struct layout *l, struct err *e)
{
	if (sig_sectors(old, &x->freed, e) != 0)
		return -1;
	rangeset_clip(&x->freed, 0, l->total);
	return rangeset_minus(&x->freed, &l->store, e);
}

static int
find_samples(struct delta *x, const struct sig *old, struct windows *w,
    const struct rangeset *same, const struct rangeset *changed, const struct sig *cut,
    bool any_length, struct err *e)
{
	const struct delta_samples in = { .old = old,
		.now = &x->now,
		.same = same,
		.cut = cut,
		.stored = &w->layout->store,
		.layout = w->layout,
		.any_length = any_length };

	return delta_samples(&x->basis, &in, e) == 0
	           ? delta_replaced(&x->basis, &in, changed, e)
	           : -1;
}

static int
compare(struct delta *x, const struct sig *old, struct disk *d, struct windows *w,
    const struct capture_what *o, struct err *e)
{
	struct layout *l = w->layout;
	struct rangeset same, changed;
	struct sig cut = { .hash = old->hash };

	rangeset_init(&same);
	rangeset_init(&changed);
	x->full_sectors = rangeset_total(&l->store);
	x->read_sectors = x->full_sectors;
	int rc = o->changed != NULL ? hash_changed(x, d, l, old, o, e) : hash_now(x, w, e);
	if (rc == 0)
		rc = find_same(x, old, w, &same, &cut, e);
	rangeset_seal(&same);
	if (rc == 0)
		rc = find_changed(x, &same, &changed, l,
		    disk_size_bytes(d) % SECTOR_BYTES != 0, e);
	rangeset_seal(&changed);
	if (rc == 0)
		rc = find_freed(x, old, l, e);
	if (rc == 0)
		rc = find_samples(x, old, w, &same, &changed, &cut, o->any_length, e);
	uint64_t stored = rangeset_total(&changed);
	if (rc == 0 && stored <= x->full_sectors / 100 * o->delta_percent +
				     x->full_sectors % 100 * o->delta_percent / 100) {
		x->on = true;
		sig_state(old, &x->base);
		sig_state(&x->now, &x->state);
		rangeset_free(&l->store);
		l->store = changed;
		rangeset_init(&changed);
	}
	sig_free(&cut);
	rangeset_free(&same);
	rangeset_free(&changed);
	return rc;
}

int
delta_find(struct delta *x, struct disk *d, struct layout *l, const struct capture_what *o,
    struct err *e)
{
	struct windows w;
	struct sig old;

	*x = (struct delta){ .hash = SIG_SHA1, .block_sectors = SIG_BLOCK_SECTORS };
	rangeset_init(&x->freed);
	rangeset_init(&x->lost);
	basis_init(&x->basis, SAMPLE_SHA1);
	if (o->sig_old == NULL)
		return 0;
	if (!disk_seekable(d))
		return err_set(e, ERR_USAGE,
		    "%s: a pipe cannot be compared with a signature", disk_name(d));
	if (sig_read(&old, o->sig_old, e) != 0)
		return -1;
	if (old.n == 0) {
		sig_free(&old);
		return err_set(e, ERR_REFUSED,
		    "%s: has no record of any block, so a delta could not say what its "
		    "base is; make the signature of an image with imagehash -c",
		    o->sig_old);
	}
	x->hash = old.hash;
	x->block_sectors = old.block_sectors;
	windows_init(&w, d, l, o, &x->lost);
	int rc = compare(x, &old, d, &w, o, e);
	rangeset_seal(&x->lost);
	windows_done(&w);
	sig_free(&old);
	if (rc != 0)
		delta_free(x);
	return rc;
}

void
delta_free(struct delta *x)
{
	sig_free(&x->now);
	rangeset_free(&x->freed);
	rangeset_free(&x->lost);
	basis_free(&x->basis);
}

int
delta_merge(struct delta *x, struct sig *stored, struct err *e)
{
	if (!x->on)
		return 0;
	for (size_t i = 0; i < stored->n; i++) {
		const struct sig_record *r = &stored->records[i];
		struct sig_record *now = sig_find(&x->now, r->start);
		if (now == NULL || now->count != r->count ||
		    memcmp(now->hash, r->hash, sizeof r->hash) != 0)
			return err_set(e, ERR_IO,
			    "sectors %u-%u changed while they were read: a delta needs "
			    "a source that does not change",
			    r->start, r->start + r->count - 1);
		now->chunk = r->chunk;
		now->continues = r->continues;
	}
	sig_free(stored);
	*stored = x->now;
	x->now = (struct sig){ 0 };
	return 0;
}
