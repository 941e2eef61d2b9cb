/* extract.c: one extract, from opening the device to remembering the state that was sent.
 * dmextract and dsync call this, in their first thread. */
#include "dsync/extract/extract.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/madeat.h"
#include "common/image/format/marker.h"
#include "dsync/change/change.h"
#include "dsync/extract/consistent.h"
#include "dsync/extract/fine.h"
#include "dsync/extract/send.h"
#include "dsync/extract/snapshot.h"
#include "dsync/extract/used.h"
#include "dsync/read/device.h"
#include "dsync/run/place.h"

/* All that is open during an extract. */
struct work {
	const struct extract_config *cfg;
	bool look_only; /* nothing of what is remembered may change */
	const struct change_kind *kind;
	struct change_job job;
	struct change_about about;
	void *self; /* the kind's own data; NULL: not open */
	char *state_path;
	struct bases bases;
	struct rangeset changed;
	struct rangeset unused; /* of everything: what no filesystem uses; bytes */
	struct snapshot snapshot;
	struct disk *from; /* what data is read from; the job's disk, or the snapshot */
	struct fine fine; /* with cfg->fine */
	bool narrowed;    /* of what the source of change names, only what differs is sent */
	struct consistency consistency;
	struct base lost; /* a state that the kind has kept, and that could not be remembered */
	bool is_lost;     /* there is such a state */
};

/* A state is not needed any more. */
static void
tell_dropped(void *arg, const struct base *base)
{
	struct work *w = arg;

	if (w->kind->dropped != NULL)
		w->kind->dropped(&w->job, base);
	hashes_drop(w->state_path, &base->id);
}

static void
work_end(struct work *w)
{
	struct err ignored; /* all that matters was written before */

	if (w->from != w->job.disk)
		disk_close(w->from, &ignored);
	snapshot_drop(&w->snapshot);
	if (w->self != NULL)
		w->kind->close(w->self);
	if (w->is_lost)
		tell_dropped(w, &w->lost);
	fine_end(&w->fine);
	rangeset_free(&w->changed);
	rangeset_free(&w->unused);
	bases_close(&w->bases);
	disk_close(w->job.disk, &ignored);
	free(w->state_path);
}

/* Find the file in which the kind remembers states; NULL for a kind that remembers nothing. */
static int
find_state(struct work *w, struct err *e)
{
	const struct extract_config *c = w->cfg;
	const char *path = c->state != NULL                        ? c->state
	                   : w->kind->path_is_args && w->job.args[0] ? w->job.args
	                                                             : NULL;

	if (!w->kind->has_bases)
		return 0;
	if (w->kind->path_is_args && path == NULL)
		return err_set(e, ERR_USAGE, "--since=%s: %s is missing", w->kind->name,
		    w->kind->args);
	if (path == NULL)
		w->state_path = bases_path(c->folder, c->device, c->target, e);
	else if (asprintf(&w->state_path, "%s%s%s", path, c->target != NULL ? "." : "",
		     c->target != NULL ? c->target : "") < 0)
		w->state_path = NULL, err_nomem(e, "a name");
	return w->state_path != NULL ? 0 : -1;
}

/* Find the kind and its file of states, and open nothing. */
static int
work_kind(struct work *w, const struct extract_config *cfg, struct err *e)
{
	memset(w, 0, sizeof *w);
	w->cfg = cfg;
	w->bases.lock = -1;
	rangeset_init(&w->changed);
	rangeset_init(&w->unused);
	w->kind = change_find(cfg->since, &w->job.args, e);
	if (w->kind == NULL || find_state(w, e) != 0)
		return -1;
	w->job.device = cfg->device;
	w->job.folder = cfg->folder;
	w->job.state_path = w->state_path;
	return cfg->snapshot != NULL ? snapshot_check(cfg->snapshot, e) : 0;
}

/* Open the file of states, `how` of enum bases_how.  A full copy needs none of what it holds. */
static int
work_state(struct work *w, unsigned how, struct err *e)
{
	bool own = w->cfg->state == NULL && !(w->kind->path_is_args && w->job.args[0]);

	if (!w->kind->has_bases)
		return 0;
	if (w->cfg->full)
		how |= BASES_ANEW;
	if ((how & BASES_LOOK) == 0 && own && place_make(w->state_path, e) != 0)
		return -1;
	return bases_open(&w->bases, w->state_path, w->kind->name, how, e);
}

/* Forget all states, but not the lineage.  With look_only, what the kind keeps of them stays. */
static void
forget_states(struct work *w)
{
	struct bases *b = &w->bases;
	struct stream_id lineage = b->lineage;
	uint64_t bytes = b->device_bytes;

	for (unsigned i = 0; i < b->n && !w->look_only; i++)
		tell_dropped(w, &b->all[i]);
	bases_forget(b);
	if (stream_id_set(&lineage))
		b->lineage = lineage;
	b->device_bytes = bytes;
}

/* A device whose size has changed was made anew. */
static void
check_size(struct work *w, struct extract_report *r)
{
	struct bases *b = &w->bases;

	if (!w->kind->has_bases || b->device_bytes == w->job.device_bytes)
		return;
	if (b->device_bytes != 0)
		snprintf(r->warning, sizeof r->warning,
		    "everything counts as changed: %s had %" PRIu64
		    " bytes, and has %" PRIu64 " now",
		    w->cfg->device, b->device_bytes, w->job.device_bytes);
	b->device_bytes = w->job.device_bytes;
	forget_states(w);
}

static int
work_begin(struct work *w, const struct extract_config *cfg, bool look_only,
    struct extract_report *r, struct err *e)
{
	memset(r, 0, sizeof *r);
	if (work_kind(w, cfg, e) != 0 || device_open(&w->job.disk, cfg->device, e) != 0 ||
	    work_state(w, 0, e) != 0)
		return -1;
	if (w->bases.damage[0] != '\0')
		snprintf(r->warning, sizeof r->warning,
		    "everything counts as changed: %s", w->bases.damage);
	w->look_only = look_only;
	w->job.device_bytes = disk_size_bytes(w->job.disk);
	if (w->job.device_bytes == 0 || w->job.device_bytes == UINT64_MAX)
		return err_set(e, ERR_USAGE,
		    "%s: is neither a device nor a file with a size", cfg->device);
	check_size(w, r);
	return w->kind->open(&w->self, &w->job, &w->about, e);
}

/* Whether the source of change can be refined: it remembers states, and names whole pages. */
static int
check_fine(const struct work *w, struct err *e)
{
	const char *why = !w->kind->has_bases ? "remembers no states"
	                  : w->about.compares ? "compares contents itself"
	                  : w->about.block_bytes % HASHES_BLOCK_MIN != 0
	                      ? "does not note changes in multiples of 4 KiB"
	                      : NULL;

	if (why == NULL)
		return 0;
	return err_set(e, ERR_USAGE, "--fine is not for the source of change \"%s\", which %s",
	    w->kind->name, why);
}

/* Of what the source of change names, keep what differs from what the target holds.  That is known
 * only of the base: a target that may have a state which was sent later, or a part of one, must get
 * all that was written since. */
static int
narrow(struct work *w, struct extract_report *r, struct err *e)
{
	const struct bases *b = &w->bases;
	bool at_base = bases_known(b) && b->n == 1 && !w->cfg->full && !w->cfg->incomplete;

	r->named_bytes = rangeset_total(&w->changed);
	if (!w->cfg->fine)
		return 0;
	if (check_fine(w, e) != 0 || fine_begin(&w->fine, w->state_path, w->job.device_bytes,
					 bases_known(b) ? &b->all[0].id : NULL, e) != 0)
		return -1;
	int rc = at_base ? fine_narrow(&w->fine, w->from, &w->changed, e) : 0;
	w->narrowed = rc == 1;
	return rc < 0 ? -1 : 0;
}

/* Whether the source of change notes each write, also one that wrote back what had been there. */
static bool
notes_each_write(const struct work *w)
{
	return w->about.cumulative && !w->about.compares;
}

/* Whether everything is to be sent, whatever has changed.  A target that holds a part of a
 * stream may have blocks that were written back in the source since; a comparison with earlier
 * states cannot find these. */
static bool
must_send_all(const struct work *w, struct extract_report *r)
{
	if (w->cfg->full || !w->cfg->incomplete || notes_each_write(w))
		return w->cfg->full;
	snprintf(r->warning, sizeof r->warning,
	    "everything counts as changed: the copy is incomplete, and the source of change "
	    "\"%s\" does not note each write",
	    w->kind->name);
	return true;
}

static int
find_changes(struct work *w, struct extract_report *r, struct err *e)
{
	char warning[512];
	unsigned n = w->kind->has_bases && bases_known(&w->bases) ? w->bases.n : 0;

	if (must_send_all(w, r)) {
		int rc = rangeset_add(
		    &w->changed, (struct range){ 0, w->job.device_bytes }, e);
		rangeset_seal(&w->changed);
		return rc;
	}
	if (change_since(w->kind, w->self, &w->job, &w->about, w->bases.all, n, &w->changed,
		warning, e) != 0)
		return -1;
	if (warning[0] != '\0')
		memcpy(r->warning, warning, sizeof warning);
	return 0;
}

/* Add the ranges in which the copy was found to differ.  If that list cannot be read, everything has
 * to be sent. */
static int
add_differing(struct work *w, struct extract_report *r, struct err *e)
{
	struct rangeset differs;
	struct err why;

	if (!w->kind->has_bases)
		return 0;
	rangeset_init(&differs);
	int rc = noted_read(
	    w->state_path, NOTED_DIFFERS, w->job.device_bytes, &differs, &why);
	if (rc != 0 && r->warning[0] == '\0')
		snprintf(r->warning, sizeof r->warning, "everything counts as changed: %.470s",
		    why.text);
	rc = rc == 0 ? 0 : rangeset_add(&differs, (struct range){ 0, w->job.device_bytes }, e);
	rangeset_seal(&differs);
	r->differed_bytes = rangeset_total(&differs);
	if (rc == 0)
		rc = rangeset_union(&w->changed, &differs, e);
	rangeset_free(&differs);
	return rc;
}

/* Whether everything is sent and the free blocks can be left out.  For that, the source must
 * know all writes, so that a block that is used later is sent then, and nobody may write while
 * the filesystems are read. */
static bool
may_leave_out(const struct work *w)
{
	return w->cfg->used && w->about.cumulative && w->kind->has_bases && w->consistency.steady &&
	       rangeset_total(&w->changed) == w->job.device_bytes;
}

/* Find what no filesystem uses.  When that cannot be known, everything is used. */
static int
find_unused(struct work *w, struct err *e)
{
	struct err reason;

	if (!may_leave_out(w))
		return 0;
	if (used_find(w->from, &w->unused, &reason) != 0) {
		if (reason.kind != ERR_NOMEM && reason.kind != ERR_CANCELLED)
			return 0;
		*e = reason;
		return -1;
	}
	return rangeset_invert(&w->unused, 0, w->job.device_bytes, e);
}

/* Remember what a full copy leaves out, instead of what was left out before.  The list of what
 * was never sent belongs to one state.  So, unless the old list and the new one are empty, all
 * states are forgotten, and none is remembered beside that of this copy until it has arrived.
 * They are forgotten first, so that no crash leaves a state with the list of another one. */
static int
replace_unsent(struct work *w, bool were_some, struct err *e)
{
	if (!were_some && rangeset_count(&w->unused) == 0)
		return 0;
	forget_states(w);
	if (bases_save(&w->bases, e) != 0)
		return -1;
	return noted_write(w->state_path, NOTED_UNSENT, &w->unused, e);
}

/* Remember what was never sent: after a full copy, what it leaves out; otherwise the part of
 * the list before that has not changed since. */
static int
remember_unsent(struct work *w, struct err *e)
{
	bool full = rangeset_total(&w->changed) == w->job.device_bytes;
	struct rangeset before;

	rangeset_init(&before);
	int rc = noted_read(
	    w->state_path, NOTED_UNSENT, w->job.device_bytes, &before, e);
	if (full) {
		/* A list that cannot be read is replaced, too. */
		rc = replace_unsent(w, rc != 0 || rangeset_count(&before) > 0, e);
	} else if (rc == 0 && rangeset_count(&before) > 0) {
		rc = rangeset_minus(&before, &w->changed, e);
		if (rc == 0)
			rc = noted_write(w->state_path, NOTED_UNSENT, &before, e);
	}
	rangeset_free(&before);
	return rc;
}

/* Open what data is read from, if it is not the device. */
static int
open_from(struct work *w, struct extract_report *r, struct err *e)
{
	const char *path = w->cfg->from;

	w->from = w->job.disk;
	r->frozen_us = w->about.frozen_us;
	if (w->cfg->snapshot != NULL && w->about.from[0] != '\0')
		return err_set(e, ERR_USAGE, "--since=%s reads a snapshot of its own",
		    w->kind->name);
	if (w->cfg->snapshot != NULL) {
		if (snapshot_take(&w->snapshot, w->cfg->snapshot, w->cfg->device, e) != 0)
			return -1;
		path = w->snapshot.path;
		r->frozen_us = w->snapshot.frozen_us;
	}
	if (path == NULL && w->about.from[0] != '\0')
		path = w->about.from;
	if (path == NULL)
		return 0;
	if (device_open(&w->from, path, e) != 0)
		return w->from = NULL, -1;
	if (disk_size_bytes(w->from) == w->job.device_bytes)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: has another size than %s, so it cannot be its snapshot", path,
	    w->cfg->device);
}

static int
make_head(struct work *w, struct stream_head *h, struct err *e)
{
	bool full = rangeset_total(&w->changed) == w->job.device_bytes;

	memset(h, 0, sizeof *h);
	h->device_bytes = w->job.device_bytes;
	h->block_bytes = w->narrowed ? HASHES_BLOCK_MIN : w->about.block_bytes;
	h->flags = (full ? STREAM_FULL : 0u) |
	           (notes_each_write(w) && !w->narrowed ? STREAM_CUMULATIVE : 0u);
	h->made_at = made_at();
	snprintf(h->kind, sizeof h->kind, "%s", w->kind->name);
	if (w->kind->has_bases) {
		if (bases_next_time(&w->bases, &h->made_at, e) != 0)
			return -1;
		h->lineage = w->bases.lineage;
		for (unsigned i = 0; bases_known(&w->bases) && i < w->bases.n; i++)
			h->bases[h->nbases++] = w->bases.all[i].id;
	} else if (stream_id_set(&w->about.base)) {
		h->bases[h->nbases++] = w->about.base;
	}
	stream_id_make(&h->id);
	return 0;
}

static int
tell_sent(void *arg, struct range bytes, const void *data, struct err *e)
{
	struct work *w = arg;

	if (w->cfg->fine && hashes_sent(&w->fine.next, bytes, data, e) != 0)
		return -1;
	return w->kind->sent != NULL ? w->kind->sent(w->self, bytes, data, e) : 0;
}

/* Judge whether what was sent is consistent.  A kind that sees every write decides it. */
static int
judge(struct work *w, struct extract_report *r, struct err *e)
{
	int quiet = w->from == w->job.disk && w->kind->quiet != NULL
	                ? w->kind->quiet(w->self, e)
	                : 0;

	if (quiet < 0)
		return -1;
	r->end.fuzzy = !consistency_held(&w->consistency) && quiet == 0;
	if (r->end.fuzzy)
		memcpy(r->why_fuzzy, w->consistency.why, sizeof r->why_fuzzy);
	if (r->end.fuzzy && w->cfg->require_consistent)
		return err_set(e, ERR_REFUSED,
		    "%.400s: the blocks may be of different points in time; read a snapshot "
		    "instead (--snapshot, --from)",
		    r->why_fuzzy);
	return 0;
}

/* Remember the state that was sent as pending.  If that fails, what the kind keeps of it is removed at
 * the end, when nothing uses it any more. */
static int
remember(struct work *w, const struct stream_id *id, struct err *e)
{
	struct base base = { .id = *id };

	if (!w->kind->has_bases)
		return 0;
	if (w->kind->keep(w->self, id, base.token, e) != 0)
		return -1;
	bool full = rangeset_total(&w->changed) == w->job.device_bytes;
	int rc = w->cfg->fine ? fine_keep(&w->fine, id, full, e) : 0;
	if (rc == 0)
		rc = remember_unsent(w, e);
	if (rc == 0) {
		bases_add(&w->bases, &base, tell_dropped, w);
		rc = bases_save(&w->bases, e);
	}
	w->lost = base;
	w->is_lost = rc != 0;
	return rc;
}

/* Write the end of the stream, after all that it stands for is remembered. */
static int
write_end(struct disk *to, const struct stream_end *end, uint64_t at, struct err *e)
{
	uint8_t bytes[STREAM_END_BYTES];

	stream_put_end(end, bytes);
	return disk_write(to, bytes, sizeof bytes, at, e);
}

static int
refuse_early(struct work *w, struct err *e)
{
	if (!w->cfg->require_consistent || w->consistency.steady || w->kind->quiet != NULL)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%.400s: the blocks could be of different points in time; read a snapshot instead "
	    "(--snapshot, --from)",
	    w->consistency.why);
}

static int
send_it(struct work *w, struct disk *to, struct extract_report *r, struct err *e)
{
	struct send_config c = { .from = w->from, .changed = &w->changed,
		.unused = &w->unused, .to = to,
		.zstd = w->cfg->zstd, .jobs = w->cfg->jobs,
		.bytes_per_second = w->cfg->bytes_per_second, .sent = tell_sent, .arg = w };

	r->changed_bytes = rangeset_total(&w->changed);
	r->unused_bytes = rangeset_total(&w->unused);
	if (make_head(w, &r->head, e) != 0 ||
	    send_changed(&c, &r->head, &r->end.totals, &r->written_bytes, e) != 0 ||
	    judge(w, r, e) != 0 || remember(w, &r->head.id, e) != 0)
		return -1;
	int rc = write_end(to, &r->end, r->written_bytes, e);
	r->written_bytes += STREAM_END_BYTES;
	return rc;
}

/* The first copy of a disk that is not whole would be no copy of a disk.  Later ones have what was
 * written to it. */
static int
check_whole(struct work *w, struct err *e)
{
	struct err why;

	if (w->cfg->any_source || rangeset_total(&w->changed) != w->job.device_bytes ||
	    marker_refuse_any(w->from, &why) == 0)
		return 0;
	return err_set(e, why.kind,
	    "%.400s; finish it first, or use --force to copy it as it is", why.text);
}

int
extract(const struct extract_config *cfg, struct disk *to, struct extract_report *r,
    struct err *e)
{
	struct work w;
	int rc = work_begin(&w, cfg, false, r, e);

	if (rc == 0)
		rc = open_from(&w, r, e);
	if (rc == 0) {
		consistency_begin(&w.consistency, w.from);
		rc = refuse_early(&w, e);
	}
	if (rc == 0)
		rc = find_changes(&w, r, e);
	if (rc == 0)
		rc = narrow(&w, r, e);
	if (rc == 0)
		rc = add_differing(&w, r, e);
	if (rc == 0)
		rc = check_whole(&w, e);
	if (rc == 0)
		rc = find_unused(&w, e);
	if (rc == 0)
		rc = send_it(&w, to, r, e);
	work_end(&w);
	return rc;
}

int
extract_list(const struct extract_config *cfg, struct rangeset *changed,
    struct extract_report *r, struct err *e)
{
	struct work w;
	int rc = work_begin(&w, cfg, true, r, e);

	w.from = w.job.disk;
	if (rc == 0)
		rc = find_changes(&w, r, e);
	if (rc == 0)
		rc = narrow(&w, r, e);
	if (rc == 0) {
		r->head.block_bytes = w.narrowed ? HASHES_BLOCK_MIN : w.about.block_bytes;
		r->head.device_bytes = w.job.device_bytes;
		r->changed_bytes = rangeset_total(&w.changed);
		*changed = w.changed;
		rangeset_init(&w.changed);
	}
	work_end(&w);
	return rc;
}

static int
check_has_states(const struct work *w, struct err *e)
{
	if (w->kind->has_bases)
		return 0;
	return err_set(e, ERR_USAGE, "--since=%s: this source of change has no states",
	    w->kind->name);
}

int
extract_check_states(const struct extract_config *cfg, struct err *e)
{
	struct work w;
	int rc = work_kind(&w, cfg, e);

	if (rc == 0)
		rc = check_has_states(&w, e);
	work_end(&w);
	return rc;
}

/* Open the states of a kind that has some. */
static int
open_states(struct work *w, const struct extract_config *cfg, struct err *e)
{
	if (work_kind(w, cfg, e) != 0 || check_has_states(w, e) != 0)
		return -1;
	return work_state(w, BASES_LOOK, e);
}

int
extract_done(const struct extract_config *cfg, const struct stream_id *id, struct err *e)
{
	struct work w;
	const struct rangeset none = { 0 };
	int rc = open_states(&w, cfg, e);
	struct stream_id before = w.bases.confirmed ? w.bases.all[0].id : (struct stream_id){ 0 };

	if (rc == 0)
		rc = bases_confirm(&w.bases, id, tell_dropped, &w, e);
	if (rc == 0)
		rc = bases_save(&w.bases, e);
	/* Each state that was pending was sent after the copy was found to differ. */
	if (rc == 0 && !stream_id_same(&before, &w.bases.all[0].id))
		rc = noted_write(w.state_path, NOTED_DIFFERS, &none, e);
	work_end(&w);
	return rc;
}

/* Add ranges to the list of those that differ.  One that is damaged stays: everything will be sent. */
static int
note_more(struct work *w, uint64_t device_bytes, const struct rangeset *differs, struct err *e)
{
	struct rangeset all;

	rangeset_init(&all);
	int rc = noted_read(w->state_path, NOTED_DIFFERS, device_bytes, &all, e);
	bool damaged = rc != 0 && e->kind == ERR_FORMAT;
	if (rc == 0)
		rc = rangeset_union(&all, differs, e);
	if (rc == 0)
		rc = noted_write(w->state_path, NOTED_DIFFERS, &all, e);
	rangeset_free(&all);
	return damaged ? 0 : rc;
}

/* A stream of a pending state lacks what is noted now, so it must not count as arrived any more.
 * The states are forgotten first, so that no crash leaves one of them beside the new list. */
int
extract_differs(const struct extract_config *cfg, uint64_t device_bytes,
    const struct rangeset *differs, struct err *e)
{
	struct work w;
	int rc = open_states(&w, cfg, e);

	if (rc == 0) {
		bases_drop_pending(&w.bases, tell_dropped, &w);
		rc = bases_save(&w.bases, e);
	}
	if (rc == 0)
		rc = note_more(&w, device_bytes, differs, e);
	work_end(&w);
	return rc;
}

int
extract_bases(const struct extract_config *cfg, struct bases *out, struct err *e)
{
	struct work w;
	int rc = open_states(&w, cfg, e);

	if (rc == 0) {
		*out = w.bases;
		w.bases.path = NULL; /* the caller owns the bases now */
	}
	work_end(&w);
	return rc;
}

int
extract_noted(const struct extract_config *cfg, enum noted what, uint64_t device_bytes,
    struct rangeset *noted, struct err *e)
{
	struct work w;
	int rc = work_kind(&w, cfg, e);

	if (rc == 0)
		rc = work_state(&w, BASES_LOOK, e);
	rangeset_init(noted);
	if (rc == 0 && w.state_path != NULL)
		rc = noted_read(w.state_path, what, device_bytes, noted, e);
	work_end(&w);
	if (rc != 0)
		rangeset_free(noted);
	return rc;
}
