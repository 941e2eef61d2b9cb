/* install_end.c: ends an installation: it checks that all chunks came and completes the
 * target, or gives the installation up. The sink of the installation and parts.c call
 * this, in the thread that feeds chunks. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/pipeline.h"
#include "common/disk/output.h"
#include "imageunzip/install/finish.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/parts.h"
#include "imageunzip/install/tail.h"

/* Tell the user which sectors are zeros because they could not be read from the source. */
static void
tell_lost(struct install *in, struct install_stats *s)
{
	char text[WARNING_BYTES];

	if (in->lost.nranges > 0 && in->cfg.warn != NULL)
		in->cfg.warn(lost_text(&in->lost, text, sizeof text));
	s->lost = in->lost;
	in->lost = (struct lost){ 0 };
}

/* Tell the user which parts of the image's tail are not where they were on the source. */
static void
tell_tail(struct install *in, struct install_stats *s)
{
	uint64_t left[TAIL_PIECES_MAX] = { 0 }, moved[TAIL_PIECES_MAX] = { 0 }, to;
	char sentence[WARNING_BYTES], what[400];
	bool known = false;

	if (tail_in_place(&in->target, &in->tail))
		return;
	for (size_t i = 0; i < in->tail.n; i++) {
		uint64_t n = in->tail_sectors[i];
		tail_place(&in->target, &in->tail, in->tail.pieces[i].sectors, &to);
		(to == UINT64_MAX ? left : moved)[i] = n;
		*(to == UINT64_MAX ? &s->tail_left_out
				   : &s->tail_moved) += n * SECTOR_BYTES;
		known |= to == UINT64_MAX && in->tail.pieces[i].kind != TAIL_UNKNOWN;
	}
	if (s->tail_moved > 0 && in->cfg.say != NULL) {
		snprintf(sentence, sizeof sentence,
		    "these parts of the tail were moved to the end of the disk: %s",
		    tail_text(&in->tail, moved, what, sizeof what));
		in->cfg.say(sentence);
	}
	bool wanted = !known || in->cfg.tail == INSTALL_TAIL_SKIP;
	void (*tell)(const char *) = wanted ? in->cfg.say : in->cfg.warn;
	if (s->tail_left_out == 0 || tell == NULL)
		return;
	snprintf(sentence, sizeof sentence,
	    "the end of the image's disk, which had %" PRIu64
	    " sectors, is left out (see --tail): %s",
	    in->tail.disk_sectors, tail_text(&in->tail, left, what, sizeof what));
	tell(sentence);
}

/* Remove a new file, unless a state remembers what it holds. */
static void
drop_new_file(const struct install *in)
{
	if (in->unlink_path != NULL && !resume_pending(&in->resume) && !in->must_empty)
		output_remove(in->unlink_path);
}

/* Is it known what all chunks store?  It is not for chunks of an earlier run that were not
 * passed. */
static bool
all_known(const struct install *in)
{
	return in->resume.had == in->passed;
}

static int
complete(struct install *in, struct err *e)
{
	/* What a delta does not store belongs to its base, and images of other tools may be
	 * deltas. */
	struct finish f = { .target = &in->target,
		.cover = &in->cover,
		.known = all_known(in),
		.ours = in->ours && !in->delta,
		.sector_bytes = in->sector_bytes,
		.tail = &in->tail,
		.tail_sectors = in->tail_sectors };

	/* The incomplete marker stands until the target is sealed, and the installation can
	 * be resumed until the state forgets it. */
	if (install_check_written(in, e) != 0 || target_size(&in->target, e) != 0 ||
	    install_look_data(in, e) != 0 ||
	    tail_finish(&in->target, &in->tail, e) != 0 ||
	    finish_target(&f, &in->stale_wiped, e) != 0 ||
	    install_look_again(in, e) != 0 ||
	    resume_forget(&in->resume, e) != 0 || target_seal(&in->target, e) != 0)
		return -1;
	finish_tell_kernel(&in->target);
	/* This is for images that do not say how long they are. */
	if (in->target.fresh)
		install_tell_cut(in, disk_size_bytes(in->target.disk));
	return 0;
}

static int
check_all_came(const struct install *in, struct err *e)
{
	uint32_t there = in->fed + in->resume.had;

	if (in->target.only.len != 0)
		return install_only_all_came(in, e);
	/* The last chunk may be one of an earlier run. */
	if (in->resume.had > 0 ? there == in->resume.expected
			       : !in->ours || there == in->promised)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "truncated: %u chunks came, and the image's last one %s", in->fed,
	    in->promised == 0 ? "is missing" : "gives another number");
}

static int
check_tiling(struct install *in, struct err *e)
{
	char text[WARNING_BYTES];
	struct range gap;

	if (!all_known(in))
		return 0;
	if (in->target.only.len != 0
		? tiling_check_within(&in->tiling, in->target.only, &gap, e) != 0
		: tiling_check(&in->tiling, &gap, e) != 0)
		return -1;
	if (gap.len == 0 || in->cfg.warn == NULL)
		return 0;
	snprintf(text, sizeof text,
	    "no chunk of the image covers the sectors %" PRIu64 " to %" PRIu64
	    ": they are unchanged",
	    gap.off, range_end(gap) - 1);
	in->cfg.warn(text);
	return 0;
}

int
install_finish(struct install *in, struct install_stats *s, struct err *e)
{
	struct err closing;

	if (in->parts != NULL)
		return parts_finish(in, s, e);
	int rc = install_threads_stop(in, e);
	if (rc == 0)
		rc = check_all_came(in, e);
	if (rc == 0)
		rc = check_tiling(in, e);
	if (rc == 0)
		rc = complete(in, e);
	if (rc == 0)
		rc = resume_done(&in->resume, e);
	*s = (struct install_stats){ .chunks = in->chunks,
		.bytes_written = in->target.bytes_written,
		.bytes_same = in->target.bytes_same,
		.bytes_filled = in->target.bytes_filled,
		.bytes_covered = in->target.bytes_covered,
		.stale_wiped = in->stale_wiped };
	if (rc == 0)
		tell_tail(in, s);
	if (target_close(&in->target, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	if (rc != 0)
		drop_new_file(in);
	else
		tell_lost(in, s);
	install_free(in);
	return rc;
}

void
install_abort(struct install *in)
{
	struct err e = { .kind = ERR_CANCELLED, .text = "cancelled" };

	if (in == NULL)
		return;
	if (in->parts != NULL) {
		parts_abort(in);
		return;
	}
	pipeline_fail(in->pipe, &e);
	install_threads_stop(in, &e);
	target_close(&in->target, &e);
	drop_new_file(in);
	install_free(in);
}
