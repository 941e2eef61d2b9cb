/* delta_samples.c: makes samples of a delta's base from the base's signature. With
 * imagezip -H the base itself is not available, so the hashes of its signature become the
 * samples that installers compare with the disk: those of blocks that do not change,
 * evenly spread over the disk; delta_replaced.c has those of all that the delta replaces.
 * delta.c calls this in imagezip's first thread, when it has compared the source with the
 * old signature. */
#include "imagezip/capture/delta_samples.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/format.h"

enum {
	/* How many records are candidates for each kind of sample. */
	CANDIDATES = 4 * SAMPLES_SPREAD_MAX,
	/* The most sectors that an installer has to read for the samples of the whole disk:
	 * 32 MiB. */
	SPREAD_SECTORS_MAX = 65536,
};

/* What becomes of the block of an old record: it stays, is replaced as a whole, or is free
 * by now.  UNKNOWN: it cannot be compared. */
enum fate { STAYS, REPLACED, FREED, FATES, UNKNOWN = FATES };

struct finder {
	const struct delta_samples *in;
	struct rangeset avoid; /* sectors that relocations change */
	struct samples kinds[FATES];
	size_t count[FATES], seen[FATES];
	/* Blocks of zeros are found on any empty disk. */
	uint32_t zero_sectors;
	uint8_t zero_digest[SAMPLE_DIGEST_BYTES];
};

static enum fate
fate_of(struct finder *f, size_t i, struct sample *x)
{
	const struct delta_samples *in = f->in;
	const struct sig_record *old = &in->old->records[i], *now;
	struct range r = { old->start, old->count };

	*x = (struct sample){ .sectors = r };
	memcpy(x->before, old->hash, sizeof x->before);
	memcpy(x->after, old->hash, sizeof x->after);
	if (r.len > SAMPLE_SECTORS_MAX || !range_within(r, in->layout->total) ||
	    rangeset_total_in(&f->avoid, r) > 0 || (in->any_length && i == in->old->n - 1))
		return UNKNOWN;
	if (rangeset_total_in(in->same, r) == r.len)
		return STAYS;
	now = sig_find(in->now, old->start);
	if (now != NULL && now->count == old->count) {
		/* Where the source has relocations, the base may have had others. */
		bool sure = in->layout->relocs.n == 0 &&
		            !(in->any_length && now == &in->now->records[in->now->n - 1]);
		memcpy(x->after, now->hash, sizeof x->after);
		return sure ? REPLACED : UNKNOWN;
	}
	return rangeset_total_in(in->stored, r) > 0 ? UNKNOWN : FREED;
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

/* Collect candidates of each kind, evenly spread; `zeros`: blocks of zeros, or all others. */
static int
collect(struct finder *f, bool zeros, struct err *e)
{
	struct sample x;

	memset(f->seen, 0, sizeof f->seen);
	for (size_t i = 0; i < f->in->old->n; i++) {
		enum fate fate = fate_of(f, i, &x);
		if (fate == UNKNOWN)
			continue;
		size_t step = f->count[fate] / CANDIDATES + 1;
		if (f->seen[fate]++ % step != 0)
			continue;
		int is = is_zero(f, &x, e);
		if (is < 0 || (is == (int)zeros &&
				  samples_add(&f->kinds[fate], &x, e) != 0))
			return -1;
	}
	return 0;
}

static void
count_all(struct finder *f)
{
	struct sample x;

	for (size_t i = 0; i < f->in->old->n; i++) {
		enum fate fate = fate_of(f, i, &x);
		if (fate != UNKNOWN)
			f->count[fate]++;
	}
}

/* Choose samples.  Blocks that stay count most: they are right whatever part of the delta
 * was installed before. */
static int
choose(struct finder *f, struct basis *b, struct err *e)
{
	uint64_t longest = 1;

	for (unsigned k = 0; k < FATES; k++) {
		size_t most = SAMPLES_SPREAD_MAX - b->spread.n;
		samples_thin(&f->kinds[k], most);
		for (size_t i = 0; i < f->kinds[k].n; i++) {
			const struct sample *x = &f->kinds[k].v[i];
			longest = x->sectors.len > longest ? x->sectors.len : longest;
			if (samples_add(&b->spread, x, e) != 0)
				return -1;
		}
	}
	if (SPREAD_SECTORS_MAX / longest < SAMPLES_SPREAD_MAX)
		samples_thin(&b->spread, SPREAD_SECTORS_MAX / longest);
	return 0;
}

static int
find_avoid(struct finder *f, struct err *e)
{
	const struct relocs *r = &f->in->layout->relocs;

	for (size_t i = 0; i < r->n; i++)
		if (rangeset_add(&f->avoid, reloc_sectors(&r->relocs[i]), e) != 0)
			return -1;
	return 0;
}

int
delta_samples(struct basis *b, const struct delta_samples *in, struct err *e)
{
	struct finder f = { .in = in };

	b->spread.hash = b->replaced.hash = (enum sample_hash)in->old->hash;
	rangeset_init(&f.avoid);
	int rc = find_avoid(&f, e);
	rangeset_seal(&f.avoid);
	if (rc == 0) {
		count_all(&f);
		rc = collect(&f, false, e);
	}
	if (rc == 0 && f.kinds[STAYS].n + f.kinds[REPLACED].n + f.kinds[FREED].n == 0)
		rc = collect(&f, true, e);
	if (rc == 0)
		rc = choose(&f, b, e);
	for (unsigned k = 0; k < FATES; k++)
		samples_free(&f.kinds[k]);
	rangeset_free(&f.avoid);
	return rc;
}
