/* delta_replaced.c: a delta has a sample of each block of its base that it replaces, in whole
 * or in part, so that installers can compare all of them with the disk.  The digests before
 * are those of the base's signature.  delta.c calls this in imagezip's first thread, when it
 * knows what the delta will store. */
#include "imagezip/capture/delta_replaced.h"

#include <string.h>

#include "common/base/cancel.h"

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
is_wanted(const struct delta_samples *in, const struct rangeset *changed, size_t i,
    struct range r, bool same)
{
	const struct relocs *relocs = &in->layout->relocs;

	return rangeset_touches(changed, r) && r.len <= SAMPLE_SECTORS_MAX &&
	       !(in->any_length && i == in->old->n - 1) &&
	       !has_reloc(relocs, r) && (same || !has_lilo(relocs));
}

/* Add the sample of old record number i.  Of sectors that are free by now the source has what
 * the base had, unless they were used in between: then its hash is not that of what the disk
 * will hold, and installers see by the chunk itself that it is installed. */
static int
add_record(struct basis *b, const struct delta_samples *in, const struct rangeset *changed,
    size_t i, struct err *e)
{
	const struct sig_record *old = &in->old->records[i], *now = old;
	struct range r = { old->start, old->count };
	bool same = rangeset_total_in(in->same, r) == r.len;
	struct sample x = { .sectors = r };

	if (!is_wanted(in, changed, i, r, same))
		return 0;
	if (!same)
		now = delta_samples_now(in, old);
	memcpy(x.before, old->hash, sizeof x.before);
	if (now != NULL)
		memcpy(x.after, now->hash, sizeof x.after);
	return basis_add_replaced(b, &x, e);
}

int
delta_replaced(struct basis *b, const struct delta_samples *in,
    const struct rangeset *changed, struct err *e)
{
	for (size_t i = 0; i < in->old->n; i++)
		if (add_record(b, in, changed, i, e) != 0 || cancel_check(e) != 0)
			return -1;
	return 0;
}
