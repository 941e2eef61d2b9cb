/* install_only.c: what is special about installing one partition of the image of a disk.
 * parts.c has such an installation for each wanted partition, and calls this in the
 * thread that feeds the chunks. */
#include <inttypes.h>

#include "common/base/number.h"
#include "imageunzip/install/install_impl.h"

enum { LOST_ROOM_BYTES = 1 << 16, HUMAN_CAP = 32 };

int
install_set_only(struct install *in, const struct partition *p, const char *filesystems,
    struct err *e)
{
	struct area all = { .sectors = { 0, p->sectors.len },
		.unsure = areas_may_have_label(p, filesystems) };

	in->only_number = p->number;
	in->target.only = p->sectors;
	in->target.only_mbr_type = p->mbr_type;
	return state_slot_learn_one(&in->resume.slot, &all, e) == 0
	           ? cover_learn_one(&in->cover, &all, e)
	           : -1;
}

int
install_only_open(struct install *in, const struct ext *first, struct err *e)
{
	return gate_open(&in->gate, &in->target, first, NULL, install_begun(in), e) ==
	                       0 &&
	               install_check_reach(in, first, e) == 0 &&
	               resume_meet(&in->resume, first, e) == 0
	           ? 0
	           : err_ctx(e, "chunk 0");
}

int
install_look(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = image_identity_check(&in->id, &c.h, &c.ext, e);
	if (rc == 0)
		rc = install_note_lost(in, &c.ext, e);
	if (rc == 0 && c.ext.last)
		in->promised = c.ext.nchunks;
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

/* Take the lost sectors that lie in the partition. */
static int
cut_lost(const struct lost *all, struct range only, struct lost *out, struct err *e)
{
	struct rangeset within;
	struct lostset set;

	lostset_init(&set);
	rangeset_init(&within);
	int rc = rangeset_add(&within, only, e);
	rangeset_seal(&within);
	if (rc == 0)
		rc = lostset_add(&set, all, &within, e);
	if (rc == 0 && rangeset_count(&set.set) > 0)
		rc = lost_make(out, &set, LOST_ROOM_BYTES, e);
	rangeset_free(&within);
	lostset_free(&set);
	return rc;
}

int
install_note_lost(struct install *in, struct ext *x, struct err *e)
{
	if (x->lost.nranges == 0 || in->lost.nranges > 0)
		return 0;
	if (in->target.only.len != 0)
		return cut_lost(&x->lost, in->target.only, &in->lost, e);
	in->lost = x->lost;
	x->lost = (struct lost){ 0 };
	return 0;
}

int
install_only_fits(const struct install *in, uint64_t stored_end, struct err *e)
{
	const struct target *t = &in->target;
	char has[HUMAN_CAP], needs[HUMAN_CAP];

	if (stored_end <= t->room)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: partition %" PRIu64
	    " is too small: it has %s, and partition %u of the "
	    "image stores something as far as %s (%" PRIu64
	    " sectors of 512 bytes, and "
	    "%" PRIu64 ")",
	    disk_name(t->disk), in->cfg.slice,
	    human_bytes(t->room * SECTOR_BYTES, has, sizeof has), in->only_number,
	    human_bytes(stored_end * SECTOR_BYTES, needs, sizeof needs), t->room,
	    stored_end);
}

int
install_only_nothing(const struct install *in, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "the image stores nothing of partition %u: it was left out when the image "
	    "was "
	    "made, or was empty",
	    in->only_number);
}

void
install_note_seen(struct install *in, uint32_t number, const struct ndz_header *h,
    const struct ndz_header *at)
{
	struct seen *s = &in->seen;

	if (s->count == 0 || number < s->low) {
		s->low = number;
		s->from = h->firstsect;
	}
	if (s->count == 0 || number > s->high)
		s->high = number;
	s->count++;
	s->stored += ndz_header_raw_bytes(at) / SECTOR_BYTES;
}

/* The chunks that came; chunks of an earlier run that were not passed count as if they
 * had come. */
static struct seen
with_resumed(const struct install *in)
{
	struct seen s = in->seen;

	if (in->resume.had == in->passed)
		return s;
	s.count += in->resume.had - in->passed;
	for (uint32_t i = 0; i < in->resume.expected; i++)
		if (resume_has(&in->resume, i)) {
			s.low = i < s.low ? i : s.low;
			s.high = i > s.high ? i : s.high;
		}
	return s;
}

/* Chunks with sectors of one range follow one another, so a number that is missing
 * between two others is a chunk that is missing. In version 1 of the format, chunks do
 * not say which of them answers for the free space between their data. */
int
install_only_all_came(const struct install *in, struct err *e)
{
	const struct target *t = &in->target;
	struct seen s = with_resumed(in);
	uint32_t nchunks = in->promised != 0 ? in->promised : in->resume.expected;

	if (s.count == 0 || (s.stored == 0 && !in->delta && in->resume.had == 0))
		return install_only_nothing(in, e);
	bool begins = in->tiling.silent || s.low == 0 || s.from <= t->only.off;
	bool ends = in->tiling.silent || s.high == nchunks - 1 ||
	            t->covered_end >= t->only.len;
	if (begins && ends && s.high - s.low + 1 == s.count)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "partition %u of the image is incomplete: some of its chunks are missing; "
	    "%u came, with numbers from %u to %u",
	    in->only_number, s.count, s.low, s.high);
}
