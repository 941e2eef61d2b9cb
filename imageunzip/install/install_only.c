/* install_only.c: what is special about installing some partitions of the image of a disk
 * (--only): each is a place of its own, which is known when the image's table is. install.c
 * and install_end.c call this in the thread that feeds the chunks. */
#include <inttypes.h>

#include "common/base/number.h"
#include "common/image/read/imgtable.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"

enum { LOST_ROOM_BYTES = 1 << 16, HUMAN_CAP = 32 };

/* Of an image from a pipe, each chunk comes once. */
static int
check_pipe(const struct place *p, struct range sectors, struct err *e)
{
	const struct install *in = p->in;

	if (in->search != NULL || in->again.nchunks != 0)
		return 0;
	if (sectors.off < in->passed_end)
		return err_set(e, ERR_UNSUPPORTED,
		    "the image describes partition %u only behind its data, so --only "
		    "needs the image as a file, not through a pipe",
		    p->number);
	if (p->target.room < sectors.len)
		return err_set(e, ERR_REFUSED,
		    "partition %u of the target is smaller than partition %u of the image, "
		    "so the image must be a file, not a pipe, to find out whether its data "
		    "fits",
		    p->target.number, p->number);
	return 0;
}

/* What chunk 0 says is checked at once, because a partition of which it has nothing is not
 * fed chunk 0. */
static int
open_place(struct place *p, const struct ext *first, struct err *e)
{
	return gate_open(&p->gate, &p->target, first, NULL, install_begun(p), e) == 0 &&
	               install_check_reach(p, first, e) == 0 &&
	               resume_meet(&p->resume, first, e) == 0
	           ? 0
	           : err_ctx(e, "chunk 0");
}

static int
settle_place(struct place *p, struct err *e)
{
	struct install *in = p->in;
	const struct partition *found = imgtable_find(in->table, p->number);
	const char *described =
	    in->first.has_image ? in->first.image.filesystems : NULL;

	/* only_settle() refuses the partition when all partitions that could be had instead
	 * are known. */
	if (p->known || found == NULL || imgtable_left_out(in->table, p->number))
		return 0;
	const struct area all = { .sectors = { 0, found->sectors.len },
		.unsure = areas_may_have_label(found, described) };
	p->known = true;
	if (check_pipe(p, found->sectors, e) != 0)
		return -1;
	target_set_only(&p->target, found);
	if (state_slot_learn_one(&p->resume.slot, &all, e) != 0 ||
	    free_space_learn_one(&p->free_space, &all, e) != 0)
		return -1;
	return in->has_first ? open_place(p, &in->first, e) : 0;
}

int
only_settle(struct install *in, struct err *e)
{
	uint64_t sector;

	in->known = true;
	for (unsigned i = 0; i < in->n; i++) {
		if (settle_place(&in->place[i], e) != 0)
			return -1;
		in->known &= in->place[i].known;
	}
	for (unsigned i = 0; i < in->n; i++)
		if (!in->place[i].known && !imgtable_needs(in->table, &sector))
			return imgtable_refuse(in->table, in->place[i].number, e);
	return 0;
}

/* A partition may become known only behind the first chunk. */
static void
keep_first(struct install *in, struct ext *first)
{
	if (in->has_first)
		return;
	in->first = *first;
	*first = (struct ext){ 0 };
	in->has_first = true;
}

static int
learn(struct install *in, uint32_t number, struct chunk *c, const void *bytes,
    struct err *e)
{
	in->delta |= ext_is_delta(&c->ext);
	if (in->known)
		return 0;
	if (imgtable_learn(in->table, number, c, bytes, e) != 0)
		return -1;
	if (number == 0)
		keep_first(in, &c->ext);
	return only_settle(in, e);
}

int
install_learn(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = in->fit != NULL     ? fit_learn(in, number, &c, bytes, e)
	         : !install_is_only(in) ? install_guess(in->place, number, &c, bytes, e)
	                              : learn(in, number, &c, bytes, e);
	if (rc == 0 && in->search != NULL)
		rc = part_search_learn(in, number, &c.h, e);
	chunk_free(&c);
	return rc;
}

int
only_cut_lost(struct install *in, struct err *e)
{
	struct rangeset within;
	struct lostset set;
	struct lost cut = { 0 };
	int rc = 0;

	if (in->lost.nranges == 0)
		return 0;
	lostset_init(&set);
	rangeset_init(&within);
	for (unsigned i = 0; rc == 0 && i < in->n; i++)
		rc = rangeset_add(&within, in->place[i].target.only, e);
	rangeset_seal(&within);
	if (rc == 0)
		rc = lostset_add(&set, &in->lost, &within, e);
	if (rc == 0 && rangeset_count(&set.set) > 0)
		rc = lost_make(&cut, &set, LOST_ROOM_BYTES, e);
	rangeset_free(&within);
	lostset_free(&set);
	lost_free(&in->lost);
	in->lost = cut;
	return rc;
}

int
only_fits(const struct place *p, uint64_t stored_end, struct err *e)
{
	const struct target *t = &p->target;
	char has[HUMAN_CAP], needs[HUMAN_CAP];

	if (stored_end <= t->room)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: partition %u is too small: it has %s, and partition %u of the "
	    "image stores something as far as %s (%" PRIu64
	    " sectors of 512 bytes, and "
	    "%" PRIu64 ")",
	    disk_name(t->disk), t->number,
	    human_bytes(t->room * SECTOR_BYTES, has, sizeof has), p->number,
	    human_bytes(stored_end * SECTOR_BYTES, needs, sizeof needs), t->room,
	    stored_end);
}

int
only_nothing(const struct place *p, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "the image stores nothing of partition %u: it was left out when the image "
	    "was "
	    "made, or was empty",
	    p->number);
}

void
only_note_seen(struct place *p, uint32_t number, const struct ndz_header *h,
    const struct ndz_header *at)
{
	struct seen *s = &p->seen;

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
with_resumed(const struct place *p)
{
	struct seen s = p->seen;

	if (p->resume.had == p->passed)
		return s;
	s.count += p->resume.had - p->passed;
	for (uint32_t i = 0; i < p->resume.expected; i++)
		if (resume_has(&p->resume, i)) {
			s.low = i < s.low ? i : s.low;
			s.high = i > s.high ? i : s.high;
		}
	return s;
}

/* Chunks with sectors of one range follow one another, so a number that is missing
 * between two others is a chunk that is missing. In version 1 of the format, chunks do
 * not say which of them answers for the free space between their data. */
int
only_all_came(const struct place *p, struct err *e)
{
	const struct target *t = &p->target;
	struct seen s = with_resumed(p);

	if (!p->known)
		return imgtable_refuse(p->in->table, p->number, e);
	uint32_t nchunks = p->in->promised != 0 ? p->in->promised : p->resume.expected;

	if (s.count == 0 || (s.stored == 0 && !p->in->delta && p->resume.had == 0))
		return only_nothing(p, e);
	bool begins = p->tiling.silent || s.low == 0 || s.from <= t->only.off;
	bool ends = p->tiling.silent || s.high == nchunks - 1 ||
	            t->covered_end >= t->only.len;
	if (begins && ends && s.high - s.low + 1 == s.count)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "partition %u of the image is incomplete: some of its chunks are missing; "
	    "%u came, with numbers from %u to %u",
	    p->number, s.count, s.low, s.high);
}
