/* delta_replaced.c: a delta has a sample of each block of its base that it replaces, in whole
 * or in part, so that installers can compare all of them with the disk.  The digests before
 * are those of the base's signature.  delta.c calls this in imagezip's first thread, when it
 * knows what the delta will store. */
#include "imagezip/capture/delta_replaced.h"

#include <string.h>

#include "common/base/cancel.h"
#include "common/image/write/sighash.h"

struct search {
	const struct delta_samples *in;
	const struct rangeset *changed;
	struct windows *source;
};

static int
read_source(void *arg, struct range r, void *buf, struct err *e)
{
	return windows_read(arg, r, buf, e);
}

/* Does any relocation come from a map that is written anew now and then?  Labels stay where they
 * are. */
static bool
has_lilo(const struct relocs *relocs)
{
	for (size_t i = 0; i < relocs->n; i++)
		if (relocs->relocs[i].type != NDZ_RELOC_FREEBSD_LABEL &&
		    relocs->relocs[i].type != NDZ_RELOC_OPENBSD_LABEL)
			return true;
	return false;
}

static bool
has_reloc(const struct relocs *relocs, struct range r)
{
	for (size_t i = 0; i < relocs->n; i++) {
		struct range x = reloc_sectors(&relocs->relocs[i]);
		if (range_clip(x, r.off, range_end(r)).len > 0)
			return true;
	}
	return false;
}

/* Does the delta replace the old record number i, and can a sample say what it was?  Where
 * the source has LILO's relocations, what differs may have had others in the base. */
static bool
is_wanted(const struct search *s, size_t i, struct range r, bool same)
{
	const struct delta_samples *in = s->in;
	const struct relocs *relocs = &in->layout->relocs;

	return rangeset_touches(s->changed, r) && r.len <= SAMPLE_SECTORS_MAX &&
	       !(in->any_length && i == in->old->n - 1) &&
	       !has_reloc(relocs, r) && (same || !has_lilo(relocs));
}

/* What will stand in the sectors of an old record.  Of sectors that are free by now the source
 * has what the base had, unless they were used in between: then this is not what the disk
 * will hold, and installers see by the chunk itself that it is installed. */
static int
find_after(const struct search *s, struct range r, uint8_t after[SIG_HASH_MAX],
    struct err *e)
{
	const struct sig_record *now = sig_find(s->in->now, (uint32_t)r.off);

	if (now != NULL && now->count == r.len) {
		memcpy(after, now->hash, SIG_HASH_MAX);
		return 0;
	}
	memset(after, 0, SIG_HASH_MAX);
	if (!range_within(r, s->in->layout->total))
		return 0;
	return sig_hash_range(s->in->old->hash, r, read_source, s->source, after, e);
}

static int
add_record(struct search *s, struct basis *b, size_t i, struct err *e)
{
	const struct sig_record *old = &s->in->old->records[i];
	struct range r = { old->start, old->count };
	bool same = rangeset_total_in(s->in->same, r) == r.len;
	uint8_t after[SIG_HASH_MAX];
	struct sample x = { .sectors = r };

	if (!is_wanted(s, i, r, same))
		return 0;
	memcpy(after, old->hash, sizeof after);
	if (!same && find_after(s, r, after, e) != 0)
		return -1;
	memcpy(x.before, old->hash, sizeof x.before);
	memcpy(x.after, after, sizeof x.after);
	return basis_add_replaced(b, &x, e);
}

int
delta_replaced(struct basis *b, const struct delta_samples *in,
    const struct rangeset *changed, struct windows *source, struct err *e)
{
	struct search s = { .in = in, .changed = changed, .source = source };

	for (size_t i = 0; i < in->old->n; i++)
		if (add_record(&s, b, i, e) != 0 || cancel_check(e) != 0)
			return -1;
	return 0;
}
