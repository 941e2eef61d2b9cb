/* install_end.c: ends an installation: it checks that all chunks came and completes the
 * target, or gives the installation up. The sink of the installation calls this, in the
 * thread that feeds chunks. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/pipeline.h"
#include "common/disk/output.h"
#include "imageunzip/install/followed.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/rehearsal.h"
#include "imageunzip/install/target_finish.h"
#include "imageunzip/install/target_tail.h"

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

	if (target_tail_in_place(&in->place->target, &in->tail))
		return;
	for (size_t i = 0; i < in->tail.n; i++) {
		uint64_t n = in->tail_sectors[i];
		maps_run(in->place->target.maps, in->tail.pieces[i].sectors, &to);
		(to == MAPS_NOWHERE ? left : moved)[i] = n;
		*(to == MAPS_NOWHERE ? &s->tail_left_out
				     : &s->tail_moved) += n * SECTOR_BYTES;
		known |= to == MAPS_NOWHERE && in->tail.pieces[i].kind != TAIL_UNKNOWN;
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

/* Into a pipe, a write that fails may have written a part. */
static bool
is_changed(const struct place *p)
{
	const struct target *t = &p->target;

	return t->boot_area.touched || t->boot_area.was_marked || t->begun ||
	       t->bytes_written + t->bytes_filled > 0 || (p->in->is_stream && p->fed > 0);
}

enum sink_left
install_left(const struct install *in, bool removed)
{
	bool changed = false;

	if (removed || in->cfg.dry)
		return removed ? SINK_LEFT_NO_FILE : SINK_LEFT_UNSAID;
	for (unsigned i = 0; i < in->n; i++)
		changed |= is_changed(&in->place[i]);
	if (!changed || in->must_empty)
		return SINK_LEFT_AS_WAS;
	if (in->cfg.skip_same || resume_pending(&in->place->resume))
		return SINK_LEFT_STATE;
	return in->delta || in->is_stream ? SINK_LEFT_PART : SINK_LEFT_SECTORS;
}

/* Remove a new file, unless a state remembers what it holds.  Returns what is left. */
static enum sink_left
drop_new_file(const struct install *in)
{
	bool drops = in->unlink_path != NULL && !resume_pending(&in->place->resume) &&
	             !in->must_empty;

	if (drops)
		output_remove(in->unlink_path);
	return install_left(in, drops);
}

/* Is it known what all chunks store?  It is not for chunks of an earlier run that were not
 * passed. */
static bool
all_known(const struct place *p)
{
	return p->resume.had == p->passed;
}

/* The marker of the place stands until its target is sealed, and the installation can be
 * resumed until the state forgets it: before tools change filesystems. */
static int
complete(struct place *p, struct err *e)
{
	struct install *in = p->in;
	struct target *t = &p->target;
	bool dry = in->cfg.dry;
	unsigned wiped = 0;
	/* What a delta does not store belongs to its base, and images of other tools may be
	 * deltas. */
	struct target_finish f = { .target = t,
		.free_space = &p->free_space,
		.known = all_known(p),
		.ours = in->ours && !in->delta,
		.sector_bytes = in->sector_bytes,
		.dry = dry,
		.tail = &in->tail,
		.tail_sectors = in->tail_sectors };

	if (!dry && (install_check_written(p, e) != 0 || target_size(t, e) != 0 ||
	                install_recheck_data(p, e) != 0 || target_tail_finish(t,
	                &in->tail, e) != 0))
		return -1;
	int rc = target_finish_all(&f, &wiped, e);
	in->stale_wiped += wiped;
	if (rc == 0 && dry)
		rehearsal_grown(in, &f.change);
	if (rc != 0 || dry)
		return rc;
	if (install_recheck_again(p, e) != 0 || resume_forget(&p->resume, e) != 0 ||
	    followed_grow(t, &f.longer, e) != 0 || target_seal(t, e) != 0)
		return -1;
	target_finish_tell_kernel(t);
	return resume_done(&p->resume, e);
}

static int
check_all_came(const struct place *p, struct err *e)
{
	const struct install *in = p->in;
	uint32_t there = p->fed + p->resume.had;

	if (p->number != 0)
		return only_all_came(p, e);
	/* The last chunk may be one of an earlier run. */
	if (p->resume.had > 0 ? there == p->resume.expected
	                      : !in->ours || there == in->promised)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "truncated: %u chunks came, and the image's last one %s", p->fed,
	    in->promised == 0 ? "is missing" : "gives another number");
}

static int
check_tiling(struct place *p, struct err *e)
{
	const struct install_config *cfg = &p->in->cfg;
	char text[WARNING_BYTES];
	struct range gap;

	if (!all_known(p))
		return 0;
	if (p->number != 0
	        ? tiling_check_within(&p->tiling, p->target.only, &gap, e) != 0
	        : tiling_check(&p->tiling, &gap, e) != 0)
		return -1;
	if (gap.len == 0 || cfg->warn == NULL)
		return 0;
	snprintf(text, sizeof text,
	    "no chunk of the image covers the sectors %" PRIu64 " to %" PRIu64
	    ": they are unchanged",
	    gap.off, range_end(gap) - 1);
	cfg->warn(text);
	return 0;
}

/* Complete one place after the other. */
static int
finish_all(struct install *in, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < in->n; i++)
		rc = check_all_came(&in->place[i], e);
	for (unsigned i = 0; rc == 0 && i < in->n; i++)
		rc = check_tiling(&in->place[i], e);
	if (rc == 0 && in->cfg.dry)
		rc = rehearsal_end(in, e);
	for (unsigned i = 0; rc == 0 && i < in->n; i++)
		rc = complete(&in->place[i], e);
	return rc;
}

static void
add_up(struct install *in, struct install_stats *s)
{
	*s = (struct install_stats){ .chunks = in->chunks, .stale_wiped = in->stale_wiped };
	for (unsigned i = 0; i < in->n; i++) {
		const struct target *t = &in->place[i].target;
		s->bytes_written += t->bytes_written;
		s->bytes_same += t->bytes_same;
		s->bytes_filled += t->bytes_filled;
		s->bytes_covered += t->bytes_covered;
	}
}

int
install_finish(
    struct install *in, struct install_stats *s, enum sink_left *left, struct err *e)
{
	struct err closing;
	int rc = install_threads_stop(in, e);

	if (rc == 0)
		rc = finish_all(in, e);
	add_up(in, s);
	if (rc == 0 && install_is_only(in))
		rc = only_cut_lost(in, e);
	if (rc == 0 && !in->cfg.dry)
		tell_tail(in, s);
	if (install_close(in, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	if (rc != 0)
		*left = drop_new_file(in);
	else if (!in->cfg.dry)
		tell_lost(in, s);
	install_free(in);
	return rc;
}

enum sink_left
install_abort(struct install *in)
{
	struct err e = { .kind = ERR_CANCELLED, .text = "cancelled" };

	if (in == NULL)
		return SINK_LEFT_UNSAID;
	pipeline_fail(in->pipe, &e);
	install_threads_stop(in, &e);
	(void)install_close(in, &e);
	enum sink_left left = drop_new_file(in);
	install_free(in);
	return left;
}
