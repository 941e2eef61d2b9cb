/* delta_samples.c: makes samples of a delta's base from the base's signature. With
 * imagezip -H the base itself is not available, so the hashes of its signature become the
 * samples that installers compare with the disk: those of blocks with sectors that every
 * use of the source's filesystems changes, and those of blocks that do not change, evenly
 * spread over the disk; delta_replaced.c has those of all that the delta replaces.
 * delta.c calls this in imagezip's first thread, when it has compared the source with the
 * old signature. */
#include "imagezip/capture/delta_samples.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/pick.h"

/* How many records are candidates for each kind of sample. */
enum { CANDIDATES = 4 * SAMPLES_SPREAD_MAX };

struct finder {
	const struct delta_samples *in;
	struct rangeset avoid; /* sectors that relocations change */
	struct pick pick;      /* owned */
	size_t count[FATES], seen[FATES];
	/* Blocks of zeros are found on any empty disk. */
	uint32_t zero_sectors;
	uint8_t zero_digest[SAMPLE_DIGEST_BYTES];
};

const struct sig_record *
delta_samples_now(const struct delta_samples *in, const struct sig_record *old)
{
	const struct sig_record *now = sig_find(in->now, old->start);

	return now != NULL && now->count == old->count ? now
	                                               : sig_find(in->cut, old->start);
}

/* What becomes of the block of an old record: it stays, is replaced as a whole, or is free
 * by now. */
static enum fate
fate_of(struct finder *f, size_t i, struct sample *x)
{
	const struct delta_samples *in = f->in;
	const struct sig_record *old = &in->old->records[i], *now;
	struct range r = { old->start, old->count };
	uint64_t there = rangeset_total_in(in->stored, r);

	*x = (struct sample){ .sectors = r };
	memcpy(x->before, old->hash, sizeof x->before);
	memcpy(x->after, old->hash, sizeof x->after);
	if (r.len > SAMPLE_SECTORS_MAX || !range_within(r, in->layout->total) ||
	    rangeset_total_in(&f->avoid, r) > 0 || (in->any_length && i == in->old->n - 1))
		return FATE_UNKNOWN;
	if (rangeset_total_in(in->same, r) == r.len)
		return FATE_STAYS;
	if (there == 0)
		return FATE_FREED;
	now = delta_samples_now(in, old);
	/* Where the source has relocations, the base may have had others; and the last sector
	 * of a file may be short. */
	if (now == NULL || there < r.len || in->layout->relocs.n > 0 ||
	    (in->any_length && range_end(r) == in->layout->total))
		return FATE_UNKNOWN;
	memcpy(x->after, now->hash, sizeof x->after);
	return FATE_REPLACED;
}

static int
is_zero(struct finder *f, const struct sample *x, struct err *e)
{
	size_t bytes = x->sectors.len * SECTOR_BYTES;

	if (f->zero_sectors != x->sectors.len) {
		void *zeros = calloc(1, bytes);
		if (zeros == NULL)
			return err_nomem(e, "zeros");
		int rc = sample_digest((enum sample_hash)f->in->old->hash, zeros, bytes,
		    f->zero_digest, e);
		free(zeros);
		if (rc != 0)
			return -1;
		f->zero_sectors = (uint32_t)x->sectors.len;
	}
	return memcmp(f->zero_digest, x->before, sizeof x->before) == 0;
}

static void
count_all(struct finder *f)
{
	struct sample x;

	for (size_t i = 0; i < f->in->old->n; i++) {
		enum fate fate = fate_of(f, i, &x);
		if (fate != FATE_UNKNOWN)
			f->count[fate]++;
	}
}

/* Offer candidates of each kind, evenly spread. */
static int
collect(struct finder *f, struct err *e)
{
	struct sample x;

	for (size_t i = 0; i < f->in->old->n; i++) {
		enum fate fate = fate_of(f, i, &x);
		if (fate == FATE_UNKNOWN)
			continue;
		if (rangeset_touches(&f->in->layout->hot, x.sectors) &&
		    pick_add_hot(&f->pick, &x, e) != 0)
			return -1;
		size_t step = f->count[fate] / CANDIDATES + 1;
		if (f->seen[fate]++ % step != 0)
			continue;
		int zero = is_zero(f, &x, e);
		if (zero < 0 || pick_add(&f->pick, fate, &x, zero == 1, e) != 0)
			return -1;
	}
	return 0;
}

int
delta_samples(struct basis *b, const struct delta_samples *in, struct err *e)
{
	struct finder f = { .in = in };
	const struct relocs *r = &in->layout->relocs;

	b->spread.hash = b->replaced.hash = (enum sample_hash)in->old->hash;
	rangeset_init(&f.avoid);
	int rc = pick_avoid(&f.avoid, r->relocs, r->n, e);
	rangeset_seal(&f.avoid);
	if (rc == 0) {
		count_all(&f);
		rc = collect(&f, e);
	}
	if (rc == 0)
		rc = pick_end(&f.pick, b, e);
	pick_free(&f.pick);
	rangeset_free(&f.avoid);
	return rc;
}
