/* extract.c: one extract, from opening the device to remembering the state that was sent.
 * dmextract and dsync call this, in their first thread. */
#include "dsync/extract/extract.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/madeat.h"
#include "common/image/format/marker.h"
#include "dsync/extract/consistent.h"
#include "dsync/extract/fine.h"
#include "dsync/extract/notes.h"
#include "dsync/extract/send.h"
#include "dsync/extract/snapshot.h"
#include "dsync/extract/states.h"
#include "dsync/extract/used.h"
#include "dsync/read/device.h"

/* All that is open during an extract. */
struct work {
	struct states st;
	struct extract_report *report; /* borrowed */
	struct change_about about;
	void *self; /* the kind's own data; NULL: not open */
	struct rangeset changed;
	struct rangeset unused; /* of everything: what no filesystem uses; bytes */
	struct snapshot snapshot;
	struct disk *from; /* what data is read from; the job's disk, or the snapshot */
	bool refines;     /* digests of what is sent are kept */
	struct fine fine; /* then */
	bool narrowed;    /* of what the source of change names, only what differs is sent */
	uint64_t sent_bytes; /* of what has changed */
	struct consistency consistency;
	struct base lost; /* a state that the kind has kept, and that could not be remembered */
	bool is_lost;     /* there is such a state */
};

static void
work_end(struct work *w)
{
	struct err ignored; /* all that matters was written before */

	if (w->from != w->st.job.disk)
		disk_close(w->from, &ignored);
	snapshot_drop(&w->snapshot);
	if (w->self != NULL)
		w->st.kind->close(w->self);
	if (w->is_lost)
		states_dropped(&w->st, &w->lost);
	fine_end(&w->fine);
	rangeset_free(&w->changed);
	rangeset_free(&w->unused);
	disk_close(w->st.job.disk, &ignored);
	states_end(&w->st);
}

/* A device whose size has changed was made anew. */
static void
check_size(struct work *w, struct extract_report *r)
{
	struct bases *b = &w->st.bases;

	if (!w->st.kind->has_bases || b->device_bytes == w->st.job.device_bytes)
		return;
	if (b->device_bytes != 0)
		snprintf(r->warning, sizeof r->warning,
		    "everything counts as changed: %s had %" PRIu64
		    " bytes, and has %" PRIu64 " now",
		    w->st.cfg->device, b->device_bytes, w->st.job.device_bytes);
	b->device_bytes = w->st.job.device_bytes;
	states_forget(&w->st);
}

static int
work_begin(struct work *w, const struct extract_config *cfg, bool look_only,
    struct extract_report *r, struct err *e)
{
	memset(w, 0, sizeof *w);
	memset(r, 0, sizeof *r);
	w->report = r;
	rangeset_init(&w->changed);
	rangeset_init(&w->unused);
	if (states_find(&w->st, cfg, e) != 0 || device_open(&w->st.job.disk, cfg->device, e) != 0 ||
	    states_open(&w->st, 0, e) != 0)
		return -1;
	if (w->st.bases.damage[0] != '\0')
		snprintf(r->warning, sizeof r->warning,
		    "everything counts as changed: %s", w->st.bases.damage);
	w->st.look_only = look_only;
	w->st.job.device_bytes = disk_size_bytes(w->st.job.disk);
	if (w->st.job.device_bytes == 0 || w->st.job.device_bytes == UINT64_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is neither a device nor a file with a size", cfg->device);
	check_size(w, r);
	return w->st.kind->open(&w->self, &w->st.job, &w->about, e);
}

/* Whether the source of change can be refined: it remembers states, and names whole pages. */
static int
check_fine(const struct work *w, struct err *e)
{
	const char *why = !w->st.kind->has_bases ? "remembers no states"
	                  : w->about.compares ? "compares contents itself"
	                  : w->about.block_bytes % HASHES_BLOCK_MIN != 0
	                      ? "does not note changes in multiples of 4 KiB"
	                      : NULL;

	if (why == NULL)
		return 0;
	return err_set(e, ERR_USAGE, "--fine is not for the source of change \"%s\", which %s",
	    w->st.kind->name, why);
}

/* Whether the error is that digests cannot be read or kept, which is no reason to fail unless somebody
 * has asked for them.  Then the sync goes on without them. */
static bool
does_without(struct work *w, const struct err *e)
{
	if (w->st.cfg->fine != FINE_BY_ITSELF || e->kind == ERR_NOMEM || e->kind == ERR_CANCELLED)
		return false;
	if (w->report->warning[0] == '\0')
		snprintf(w->report->warning, sizeof w->report->warning,
		    "no digests of pages are kept: %.470s", e->text);
	fine_end(&w->fine);
	w->refines = false;
	return true;
}

/* Of what the source of change names, keep what differs from what the target holds.  That is known
 * only of the base: a target that may have a state which was sent later, or a part of one, must get
 * all that was written since. */
static int
narrow(struct work *w, struct extract_report *r, struct err *e)
{
	const struct bases *b = &w->st.bases;
	const struct extract_config *c = w->st.cfg;
	bool at_base = bases_known(b) && b->n == 1 && !c->full && !c->incomplete;

	r->named_bytes = rangeset_total(&w->changed);
	w->refines = c->fine != FINE_NEVER && check_fine(w, e) == 0;
	if (!w->refines)
		return c->fine == FINE_ALWAYS ? -1 : 0;
	int rc = fine_begin(&w->fine, w->st.path, w->st.job.device_bytes,
	    bases_known(b) ? &b->all[0].id : NULL, e);
	if (rc == 0 && at_base)
		rc = fine_narrow(&w->fine, w->from, c->fine == FINE_ALWAYS, &w->changed, e);
	w->narrowed = rc == 1;
	return rc >= 0 || does_without(w, e) ? 0 : -1;
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
	if (w->st.cfg->full || !w->st.cfg->incomplete || notes_each_write(w))
		return w->st.cfg->full;
	snprintf(r->warning, sizeof r->warning,
	    "everything counts as changed: the copy is incomplete, and the source of change "
	    "\"%s\" does not note each write",
	    w->st.kind->name);
	return true;
}

static int
find_changes(struct work *w, struct extract_report *r, struct err *e)
{
	char warning[512];
	unsigned n = w->st.kind->has_bases && bases_known(&w->st.bases) ? w->st.bases.n : 0;

	if (must_send_all(w, r)) {
		int rc = rangeset_add(
		    &w->changed, (struct range){ 0, w->st.job.device_bytes }, e);
		rangeset_seal(&w->changed);
		return rc;
	}
	if (change_since(w->st.kind, w->self, &w->st.job, &w->about, w->st.bases.all, n, &w->changed,
		warning, e) != 0)
		return -1;
	if (warning[0] != '\0')
		memcpy(r->warning, warning, sizeof warning);
	return 0;
}

/* Whether everything is sent and the free blocks can be left out.  For that, the source must
 * know all writes, so that a block that is used later is sent then, and nobody may write while
 * the filesystems are read. */
static bool
may_leave_out(const struct work *w)
{
	return w->st.cfg->used && w->about.cumulative && w->st.kind->has_bases && w->consistency.steady &&
	       rangeset_total(&w->changed) == w->st.job.device_bytes;
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
	return rangeset_invert(&w->unused, 0, w->st.job.device_bytes, e);
}

/* Open what data is read from, if it is not the device. */
static int
open_from(struct work *w, struct extract_report *r, struct err *e)
{
	const char *path = w->st.cfg->from;

	w->from = w->st.job.disk;
	r->frozen_us = w->about.frozen_us;
	if (w->st.cfg->snapshot != NULL && w->about.from[0] != '\0')
		return err_set(e, ERR_USAGE, "--since=%s reads a snapshot of its own",
		    w->st.kind->name);
	if (w->st.cfg->snapshot != NULL) {
		if (snapshot_take(&w->snapshot, w->st.cfg->snapshot, w->st.cfg->device, e) != 0)
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
	if (disk_size_bytes(w->from) == w->st.job.device_bytes)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: has another size than %s, so it cannot be its snapshot", path,
	    w->st.cfg->device);
}

static int
make_head(struct work *w, struct stream_head *h, struct err *e)
{
	bool full = rangeset_total(&w->changed) == w->st.job.device_bytes;

	memset(h, 0, sizeof *h);
	h->device_bytes = w->st.job.device_bytes;
	h->block_bytes = w->narrowed ? HASHES_BLOCK_MIN : w->about.block_bytes;
	h->flags = (full ? STREAM_FULL : 0u) |
	           (notes_each_write(w) && !w->narrowed ? STREAM_CUMULATIVE : 0u);
	h->made_at = made_at();
	snprintf(h->kind, sizeof h->kind, "%s", w->st.kind->name);
	if (w->st.kind->has_bases) {
		if (bases_next_time(&w->st.bases, &h->made_at, e) != 0)
			return -1;
		h->lineage = w->st.bases.lineage;
		for (unsigned i = 0; bases_known(&w->st.bases) && i < w->st.bases.n; i++)
			h->bases[h->nbases++] = w->st.bases.all[i].id;
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
	const struct extract_config *cfg = w->st.cfg;

	w->sent_bytes += bytes.len;
	if (cfg->progress != NULL)
		cfg->progress(cfg->progress_arg, w->sent_bytes, w->report->changed_bytes);
	if (w->refines && hashes_sent(&w->fine.next, bytes, data, e) != 0 && !does_without(w, e))
		return -1;
	return w->st.kind->sent != NULL ? w->st.kind->sent(w->self, bytes, data, e) : 0;
}

/* Judge whether what was sent is consistent.  A kind that sees every write decides it. */
static int
judge(struct work *w, struct extract_report *r, struct err *e)
{
	int quiet = w->from == w->st.job.disk && w->st.kind->quiet != NULL
	                ? w->st.kind->quiet(w->self, e)
	                : 0;

	if (quiet < 0)
		return -1;
	r->end.fuzzy = !consistency_held(&w->consistency) && quiet == 0;
	if (r->end.fuzzy)
		memcpy(r->why_fuzzy, w->consistency.why, sizeof r->why_fuzzy);
	if (r->end.fuzzy && w->st.cfg->require_consistent)
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

	if (!w->st.kind->has_bases)
		return 0;
	if (w->st.kind->keep(w->self, id, base.token, e) != 0)
		return -1;
	bool full = rangeset_total(&w->changed) == w->st.job.device_bytes;
	int rc = w->refines ? fine_keep(&w->fine, id, full, e) : 0;
	if (rc == 0 && w->refines)
		w->report->digests_bytes = fine_bytes(w->st.job.device_bytes);
	if (rc == 0 || does_without(w, e))
		rc = notes_remember_unsent(&w->st, &w->changed, &w->unused, e);
	if (rc == 0) {
		bases_add(&w->st.bases, &base, states_dropped, &w->st);
		rc = bases_save(&w->st.bases, e);
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
	if (!w->st.cfg->require_consistent || w->consistency.steady || w->st.kind->quiet != NULL)
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
		.zstd = w->st.cfg->zstd, .jobs = w->st.cfg->jobs,
		.bytes_per_second = w->st.cfg->bytes_per_second, .sent = tell_sent, .arg = w };

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

	if (w->st.cfg->any_source || rangeset_total(&w->changed) != w->st.job.device_bytes ||
	    marker_refuse_any(w->from, &why) == 0)
		return 0;
	return err_set(e, why.kind,
	    "%.400s; finish it first, or use --force to copy it as it is", why.text);
}

int
extract_stream(const struct extract_config *cfg, struct disk *to, struct extract_report *r,
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
		rc = notes_add_differing(&w.st, &w.changed, r, e);
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

	w.from = w.st.job.disk;
	if (rc == 0)
		rc = find_changes(&w, r, e);
	if (rc == 0)
		rc = narrow(&w, r, e);
	if (rc == 0) {
		r->head.block_bytes = w.narrowed ? HASHES_BLOCK_MIN : w.about.block_bytes;
		r->head.device_bytes = w.st.job.device_bytes;
		r->changed_bytes = rangeset_total(&w.changed);
		*changed = w.changed;
		rangeset_init(&w.changed);
	}
	work_end(&w);
	return rc;
}
