/* merge.c: one merge, from opening the journal to recording the new state.  dmmerge calls this,
 * in its first thread. */
#include "dsync/merge/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/replace.h"
#include "dsync/merge/apply.h"
#include "dsync/merge/gate.h"
#include "dsync/merge/inflow.h"
#include "dsync/merge/resume.h"
#include "dsync/merge/sample.h"

struct work {
	const struct merge_config *cfg;
	char *path; /* of the journal; owned */
	struct journal *journal;
	struct disk *target;
	struct stream_in *in;
	uint64_t at; /* bytes of the stream received into the journal */
	uint64_t done, total; /* bytes of the device; total 0: unknown */
};

static void
work_end(struct work *w)
{
	struct err ignored; /* what matters was flushed */

	stream_in_close(w->in);
	disk_close(w->target, &ignored);
	journal_close(w->journal);
	free(w->path);
}

static int
find_journal(struct work *w, struct err *e)
{
	const struct merge_config *c = w->cfg;

	w->path = c->journal != NULL ? strdup(c->journal)
	                             : journal_path(c->target, c->folder, e);
	if (w->path == NULL && c->journal != NULL)
		return err_nomem(e, c->journal);
	return w->path != NULL ? 0 : -1;
}

static int
open_target(struct work *w, bool make, struct err *e)
{
	unsigned flags = DISK_READ | DISK_WRITE | (make ? DISK_CREATE : 0u) |
	                 (w->cfg->force ? DISK_FORCE : 0u);

	if (!make && access(w->cfg->target, F_OK) != 0)
		return err_set(e, ERR_ABSENT,
		    "%s: does not exist, and only a full copy makes a new file",
		    w->cfg->target);
	if (disk_open(&w->target, w->cfg->target, flags, e) != 0)
		return -1;
	if (!disk_seekable(w->target))
		return err_set(
		    e, ERR_UNSUPPORTED, "%s: is neither a device nor a file", w->cfg->target);
	return 0;
}

/* Make the target as long as the device that was copied, if that is allowed.  now: change the
 * length; otherwise it is only checked that this is possible. */
static int
fit(struct work *w, const struct stream_head *h, bool now, struct err *e)
{
	uint64_t has = disk_size_bytes(w->target);
	const struct target_state *t = journal_state(w->journal);
	/* A file that a full copy had begun to fill has any size after a power cut. */
	bool known = stream_id_set(&t->lineage) || stream_id_set(&t->next_lineage) || has == 0 ||
	             w->cfg->force;

	if (has == h->device_bytes)
		return 0;
	if (disk_kind(w->target) == DISK_FILE && (h->flags & STREAM_FULL) != 0 && known)
		return now ? disk_truncate(w->target, h->device_bytes, e) : 0;
	if (disk_kind(w->target) == DISK_BLOCK && has > h->device_bytes && w->cfg->force)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s has %" PRIu64 " bytes, and the stream is of a device of %" PRIu64
	    " bytes; give the target that size first",
	    w->cfg->target, has, h->device_bytes);
}

/* Whether the target still holds what was merged into it, as far as its sample shows: 1, 0, or -1
 * with an error. */
static int
sample_holds(struct disk *target, const struct target_state *t, struct err *e)
{
	uint8_t now[SHA256_BYTES];

	if (sample_of(target, t->target_bytes, now, e) != 0)
		return -1;
	return memcmp(now, t->sample, sizeof now) == 0;
}

/* Check that the target still holds what was merged into it.  A full copy needs no check. */
static int
check_sample(struct work *w, const struct stream_head *h, struct err *e)
{
	const struct target_state *t = journal_state(w->journal);

	if (!stream_id_set(&t->id) || (t->flags & TARGET_INCOMPLETE) != 0 ||
	    (h->flags & STREAM_FULL) != 0 || w->cfg->force ||
	    disk_size_bytes(w->target) < t->target_bytes)
		return 0;
	int holds = sample_holds(w->target, t, e);
	if (holds != 0)
		return holds < 0 ? -1 : 0;
	return err_set(e, ERR_REFUSED,
	    "%s: does not hold what was merged into it: it was written since, or is "
	    "another device; send a full copy, or use --force",
	    w->cfg->target);
}

/* Decide again about a stream whose state the target has, as its journal says.  By force it is merged
 * once more, and so is a full copy if the target does not hold that state: the file was removed, or
 * written since. */
static int
check_same(struct work *w, const struct stream_head *h, enum gate_says *says, struct err *e)
{
	int holds = 1;

	if (*says == GATE_SAME && (h->flags & STREAM_FULL) != 0 && !w->cfg->force)
		holds = disk_size_bytes(w->target) == h->device_bytes
		            ? sample_holds(w->target, journal_state(w->journal), e)
		            : 0;
	if (holds == 0 || w->cfg->force)
		*says = GATE_MERGE;
	return holds < 0 ? -1 : 0;
}

static void
tell(struct work *w, const struct stream_record *r)
{
	w->done += r->bytes.len;
	if (w->cfg->progress != NULL)
		w->cfg->progress(w->cfg->progress_arg, w->done, w->total);
}

/* Apply all records of w->in to the target. */
static int
apply_all(struct work *w, struct err *e)
{
	struct stream_record r;
	struct apply *a;
	int rc = 1;

	if (apply_new(&a, w->target, !w->cfg->no_verify, w->cfg->discard, e) != 0)
		return -1;
	while (rc == 1) {
		rc = stream_in_next(w->in, &r, e);
		if (rc == 1 && apply_record(a, &r, e) != 0)
			rc = -1;
		if (rc == 1)
			tell(w, &r);
	}
	if (rc == 0)
		rc = apply_finish(a, e);
	apply_free(a);
	return rc;
}

/* Record that the target has its next state now. */
static int
arrive(struct work *w, struct err *e)
{
	struct target_state s = *journal_state(w->journal);

	s.id = s.next;
	s.lineage = s.next_lineage;
	s.made_at = s.next_made_at;
	s.merged_at = (uint64_t)time(NULL);
	s.flags = s.next_fuzzy ? TARGET_FUZZY : 0;
	memset(&s.next, 0, sizeof s.next);
	memset(&s.next_lineage, 0, sizeof s.next_lineage);
	s.next_fuzzy = false;
	s.stream_bytes = s.next_made_at = 0;
	memset(&s.marks, 0, sizeof s.marks);
	if (sample_of(w->target, s.target_bytes, s.sample, e) != 0 ||
	    journal_say(w->journal, &s, e) != 0)
		return -1;
	return journal_empty(w->journal, e);
}

/* The state to record while a stream is being applied. */
static struct target_state
on_the_way(const struct work *w, const struct stream_head *h, uint32_t flags)
{
	struct target_state s = *journal_state(w->journal);

	if ((s.flags & TARGET_INCOMPLETE) != 0 && !stream_id_same(&s.next, &h->id))
		flags |= TARGET_MIXED;
	s.target_bytes = h->device_bytes;
	s.flags |= flags;
	s.next = h->id;
	s.next_lineage = h->lineage;
	s.next_made_at = h->made_at;
	s.stream_bytes = w->at;
	return s;
}

/* Whether the next state is fuzzy.  A stream that names no base and is no full copy does not
 * replace what was fuzzy before. */
static bool
stays_fuzzy(const struct work *w, const struct stream_head *h, const struct stream_end *end)
{
	bool was = (journal_state(w->journal)->flags & TARGET_FUZZY) != 0;

	return end->fuzzy || (was && h->nbases == 0 && (h->flags & STREAM_FULL) == 0);
}

static int
to_journal(void *arg, const void *bytes, size_t n, struct err *e)
{
	return inflow_put(arg, bytes, n, e);
}

/* Receive the whole stream into the journal, and check it. */
static int
receive(struct work *w, struct merge_report *r, struct err *e)
{
	struct stream_record record;
	struct inflow *in;
	int rc;

	if (inflow_new(&in, w->journal, e) != 0)
		return -1;
	stream_in_copy(w->in, to_journal, in);
	while ((rc = stream_in_next(w->in, &record, e)) == 1)
		tell(w, &record);
	if (rc == 0)
		rc = inflow_end(in, e);
	w->at = inflow_bytes(in);
	inflow_free(in);
	r->end = *stream_in_end(w->in);
	w->done = 0; /* what is told now is what is written */
	w->total = r->end.totals.data_bytes + r->end.totals.zero_bytes;
	return rc;
}

/* Read the stream in the journal from its beginning. */
static int
open_pending(struct work *w, struct err *e)
{
	const struct target_state *t = journal_state(w->journal);

	stream_in_close(w->in);
	w->in = NULL;
	return stream_in_open(&w->in, journal_disk(w->journal), JOURNAL_STREAM_AT,
	    JOURNAL_STREAM_AT + t->stream_bytes, e);
}

/* Apply the stream in the journal, which is whole, for the first time or again. */
static int
roll(struct work *w, struct err *e)
{
	if (open_pending(w, e) != 0)
		return -1;
	if (fit(w, stream_in_head(w->in), true, e) != 0 || apply_all(w, e) != 0)
		return -1;
	return arrive(w, e);
}

static int
merge_by_journal(struct work *w, struct merge_report *r, struct err *e)
{
	struct err late;

	if (receive(w, r, e) != 0) {
		journal_empty(w->journal, &late); /* a part of a stream is of no use */
		return -1;
	}
	struct target_state s = on_the_way(w, &r->head, TARGET_PENDING);
	s.next_fuzzy = stays_fuzzy(w, &r->head, &r->end);
	if (resume_mark(w->target, r->head.device_bytes, &s.marks, e) != 0 ||
	    journal_say(w->journal, &s, e) != 0)
		return -1;
	return roll(w, e);
}

/* The state to record while a stream is being applied in place. */
static struct target_state
in_part(const struct work *w, const struct stream_head *h)
{
	const struct target_state *t = journal_state(w->journal);
	struct target_state s = on_the_way(w, h, TARGET_INCOMPLETE);

	/* No stream that leads on from the target's state has what this one writes. */
	if (!gate_leads_on(t, h))
		memset(&s.id, 0, sizeof s.id);
	/* The target may hold blocks of the stream before, too. */
	if ((t->flags & TARGET_INCOMPLETE) != 0 && t->next_made_at > s.next_made_at)
		s.next_made_at = t->next_made_at;
	return s;
}

static int
merge_in_place(struct work *w, struct merge_report *r, struct err *e)
{
	struct target_state s = in_part(w, &r->head);

	if (journal_say(w->journal, &s, e) != 0 || fit(w, &r->head, true, e) != 0)
		return -1;
	if (apply_all(w, e) != 0)
		return err_ctx(e, "%s is incomplete now", w->cfg->target);
	r->end = *stream_in_end(w->in);
	s.next_fuzzy = stays_fuzzy(w, &r->head, &r->end);
	s.next_made_at = r->head.made_at;
	return journal_say(w->journal, &s, e) == 0 ? arrive(w, e) : -1;
}

/* Read a stream that brings nothing new; it must be whole all the same. */
static int
skip_stream(struct work *w, struct merge_report *r, struct err *e)
{
	struct stream_record record;
	int rc;

	do
		rc = stream_in_next(w->in, &record, e);
	while (rc == 1);
	if (rc == 0)
		r->end = *stream_in_end(w->in);
	r->same = rc == 0;
	return rc;
}

/* Check that the target is still the one that the interrupted merge was writing to. */
static int
check_pending(struct work *w, struct err *e)
{
	const struct target_state *t = journal_state(w->journal);
	struct err why;

	if (w->cfg->force)
		return 0;
	if (open_pending(w, e) != 0)
		return -1;
	if (resume_check(w->target, t->target_bytes, &t->marks, w->in, &why) == 0)
		return 0;
	*e = why;
	return why.kind != ERR_REFUSED ? -1 : err_set(e, ERR_REFUSED,
	    "%.200s; use --force to finish the merge all the same, or remove %.200s and send a "
	    "full copy",
	    why.text, w->path);
}

/* Open the target that an interrupted merge was writing to.  It is there: its name was on the disk
 * before the journal spoke of the merge.  So a file that is missing was removed, or its filesystem is
 * not mounted, and a new one would fill another filesystem. */
static int
open_begun_target(struct work *w, struct err *e)
{
	if (access(w->cfg->target, F_OK) == 0 || errno != ENOENT)
		return open_target(w, false, e);
	return err_set(e, ERR_REFUSED,
	    "%.200s: does not exist; mount its filesystem, or, if the copy was removed, remove %.200s "
	    "and send a full copy",
	    w->cfg->target, w->path);
}

static int
begin(struct work *w, const struct merge_config *cfg, struct merge_report *r, struct err *e)
{
	memset(w, 0, sizeof *w);
	memset(r, 0, sizeof *r);
	w->cfg = cfg;
	if (find_journal(w, e) != 0 || journal_open(&w->journal, w->path, e) != 0)
		return -1;
	if ((journal_state(w->journal)->flags & TARGET_PENDING) == 0)
		return 0;
	if (open_begun_target(w, e) != 0 || check_pending(w, e) != 0 || roll(w, e) != 0)
		return err_ctx(e, "an interrupted merge cannot be finished");
	stream_in_close(w->in);
	w->in = NULL;
	r->rolled_forward = true;
	return 0;
}

static int
open_for(struct work *w, const struct stream_head *h, struct err *e)
{
	if ((journal_state(w->journal)->flags & TARGET_INCOMPLETE) != 0)
		return open_begun_target(w, e);
	return open_target(w, (h->flags & STREAM_FULL) != 0, e);
}

/* Make the name of a target that is a new file survive a power cut.  From then on the journal may say
 * that a stream is being merged into it, and a file that is not there is no new one. */
static int
keep_name(const struct work *w, struct err *e)
{
	return disk_kind(w->target) == DISK_FILE ? replace_sync_name(w->cfg->target, e) : 0;
}

static int
merge_stream(struct work *w, struct disk *from, struct merge_report *r, struct err *e)
{
	enum gate_says says = GATE_MERGE;

	if (stream_in_open(&w->in, from, 0, UINT64_MAX, e) != 0)
		return -1;
	r->head = *stream_in_head(w->in);
	if (w->target == NULL && open_for(w, &r->head, e) != 0)
		return -1;
	if (gate_decide(journal_state(w->journal), &r->head, &says, e) != 0 && !w->cfg->force)
		return err_ctx(e, "%s", w->cfg->target);
	if (fit(w, &r->head, false, e) != 0 || check_sample(w, &r->head, e) != 0 ||
	    check_same(w, &r->head, &says, e) != 0)
		return -1;
	if (says == GATE_SAME)
		return skip_stream(w, r, e);
	if (keep_name(w, e) != 0)
		return -1;
	return w->cfg->in_place ? merge_in_place(w, r, e) : merge_by_journal(w, r, e);
}

int
merge_into_target(const struct merge_config *cfg, struct disk *from, struct merge_report *r,
    struct err *e)
{
	struct work w;
	bool there = access(cfg->target, F_OK) == 0;
	int rc = begin(&w, cfg, r, e);

	if (rc == 0)
		rc = merge_stream(&w, from, r, e);
	if (w.journal != NULL)
		r->state = *journal_state(w.journal);
	/* Remove a file that this call made and wrote nothing to, unless the journal says that it is there. */
	if (rc != 0 && !there && w.target != NULL && disk_size_bytes(w.target) == 0 &&
	    (journal_state(w.journal)->flags & (TARGET_PENDING | TARGET_INCOMPLETE)) == 0)
		unlink(cfg->target);
	r->unseen = w.target != NULL && disk_unseen(w.target);
	work_end(&w);
	return rc;
}

int
merge_recover(const struct merge_config *cfg, struct merge_report *r, struct err *e)
{
	struct work w;
	int rc = begin(&w, cfg, r, e);

	if (w.journal != NULL)
		r->state = *journal_state(w.journal);
	r->unseen = w.target != NULL && disk_unseen(w.target);
	work_end(&w);
	return rc;
}

static int
look_at_journal(const struct merge_config *cfg, struct target_state *s, struct err *e)
{
	struct work w = { .cfg = cfg };
	int rc = find_journal(&w, e);

	if (rc == 0)
		rc = journal_look(s, w.path, e);
	if (rc != 0 && e->kind == ERR_ABSENT) {
		memset(s, 0, sizeof *s);
		rc = 0;
	}
	free(w.path);
	return rc;
}

/* Whether the target is there and holds this state: 1, 0, or -1. */
static int
look_at_target(const struct merge_config *cfg, const struct target_state *s, struct err *e)
{
	struct err ignored; /* the target was only read */
	struct disk *d;
	int holds = 0;

	if (access(cfg->target, F_OK) != 0 && errno == ENOENT)
		return 0;
	if (disk_open(&d, cfg->target, DISK_READ, e) != 0)
		return -1;
	if (disk_seekable(d) && disk_size_bytes(d) >= s->target_bytes)
		holds = sample_holds(d, s, e);
	disk_close(d, &ignored);
	return holds;
}

/* Whether the target should be as its journal says: it has a state, and no merge is under way. */
static bool
is_settled(const struct target_state *s)
{
	return stream_id_set(&s->id) && (s->flags & (TARGET_PENDING | TARGET_INCOMPLETE)) == 0;
}

static bool
same_state(const struct target_state *a, const struct target_state *b)
{
	return stream_id_same(&a->id, &b->id) && a->flags == b->flags &&
	       a->merged_at == b->merged_at;
}

/* A merge that begins or ends meanwhile says so in the journal, before it changes the target. */
int
merge_look(const struct merge_config *cfg, struct merge_report *r, struct err *e)
{
	struct target_state before;

	memset(r, 0, sizeof *r);
	if (look_at_journal(cfg, &r->state, e) != 0)
		return -1;
	do {
		before = r->state;
		int holds = is_settled(&before) ? look_at_target(cfg, &before, e) : 1;
		if (holds < 0 || look_at_journal(cfg, &r->state, e) != 0)
			return -1;
		r->changed = holds == 0;
	} while (r->changed && !same_state(&before, &r->state));
	return 0;
}
