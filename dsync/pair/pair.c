/* pair.c: one sync, and one comparison, of a device and its copy.  dsync calls this, in its
 * first thread. */
#include "dsync/pair/pair.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "dsync/change/bases.h"
#include "dsync/read/device.h"
#include "dsync/read/uncached.h"

enum { PIECE_BYTES = 1 << 20 };

/* Find which of the remembered states the copy has.  Returns its index in all[]; -1: none. */
static int
find_state(const struct bases *b, const struct stream_id *id)
{
	for (unsigned i = 0; i < b->n; i++)
		if (stream_id_set(id) && stream_id_same(&b->all[i].id, id))
			return (int)i;
	return -1;
}

/* Confirm the state that the copy has, if it is remembered and was not confirmed yet. */
static int
settle(struct pair *p, const struct far_status *s, bool *known, bool *late, struct err *e)
{
	struct bases b;

	if (extract_bases(&p->from, &b, e) != 0)
		return -1;
	int at = find_state(&b, &s->id);
	*known = at >= 0;
	*late = at > 0 || (at == 0 && !b.confirmed);
	bases_close(&b);
	return *late ? extract_done(&p->from, &s->id, e) : 0;
}

/* Send the stream.  Both ends may fail, one because of the other: when this end could not
 * write because the pipe is broken, the other end's reason is the better one. */
static int
send_to(struct pair *p, struct pair_report *r, struct err *e)
{
	struct far_merge *m;
	struct disk *to;
	struct err far;

	if (far_merge_begin(&m, &p->to, &to, e) != 0)
		return -1;
	int rc = extract_stream(&p->from, to, &r->sent, e);
	bool broken = rc != 0 && e->os == EPIPE;
	int far_rc = far_merge_end(m, &far);
	if (far_rc != 0 && (rc == 0 || broken))
		*e = far;
	return rc == 0 ? far_rc : rc;
}

/* Whether the copy does not hold what was merged into it, and a comparison has found where it differs:
 * so the user knows of it.  More may have been written since, so all of the copy has to be replaced. */
static int
is_to_mend(struct pair *p, const struct far_status *s, bool *mend, struct err *e)
{
	struct rangeset differs = { 0 };

	*mend = false;
	if (strcmp(s->condition, "changed") != 0)
		return 0;
	int rc = extract_noted(&p->from, NOTED_DIFFERS, INT64_MAX, &differs, e);
	*mend = rc != 0 || rangeset_count(&differs) > 0;
	rangeset_free(&differs);
	return rc == 0 || e->kind == ERR_FORMAT ? 0 : -1;
}

int
pair_sync(struct pair *p, bool full, struct pair_report *r, struct err *e)
{
	uint64_t began = clock_us();
	bool known, mend;

	memset(r, 0, sizeof *r);
	p->from.full = full;
	if (far_status(&p->to, &r->before, e) != 0)
		return -1;
	if (strcmp(r->before.condition, "interrupted") == 0 &&
	    (far_recover(&p->to, e) != 0 || far_status(&p->to, &r->before, e) != 0))
		return -1;
	if (settle(p, &r->before, &known, &r->confirmed_late, e) != 0 ||
	    is_to_mend(p, &r->before, &mend, e) != 0)
		return -1;
	p->from.full = full || !known || mend;
	p->from.incomplete = strcmp(r->before.condition, "incomplete") == 0;
	if (send_to(p, r, e) != 0)
		return -1;
	r->seconds = (double)(clock_us() - began) / 1e6;
	return extract_done(&p->from, &r->sent.head.id, e);
}

struct verify {
	const struct extract_config *from;
	struct disk *disk;
	struct uncached *uncached;
	struct uncached_buf *buf;
	uint64_t at;
	uint64_t copy_bytes; /* of the copy, as it was merged; 0: not known */
	const struct rangeset *changed;
	struct rangeset unsent; /* bytes that are zeros in the copy; owned */
	struct pair_difference *out;
};

/* Make zeros of those bytes of the piece that were never sent. */
static void
blank_unsent(const struct verify *v, struct range piece, uint8_t *data)
{
	for (size_t i = rangeset_find(&v->unsent, piece.off); i < rangeset_count(&v->unsent); i++) {
		struct range r = range_clip(rangeset_get(&v->unsent, i), piece.off, range_end(piece));
		if (r.len == 0)
			break;
		memset(data + (r.off - piece.off), 0, (size_t)r.len);
	}
}

static int
compare_piece(void *arg, const uint8_t digest[SHA256_BYTES], struct err *e)
{
	struct verify *v = arg;
	struct range r = range_clip(
	    (struct range){ v->at, PIECE_BYTES }, 0, v->out->device_bytes);
	uint8_t own[SHA256_BYTES], *data;

	if (r.len == 0)
		return err_set(e, ERR_FORMAT, "the copy is longer than its source");
	v->at += r.len;
	if (v->from->progress != NULL)
		v->from->progress(v->from->progress_arg, v->at, v->out->device_bytes);
	if (rangeset_touches(v->changed, r))
		return 0;
	if (uncached_read(v->uncached, v->buf, r.off, (size_t)r.len, &data, e) != 0)
		return -1;
	blank_unsent(v, r, data);
	sha256(data, (size_t)r.len, own);
	v->out->compared_bytes += r.len;
	return memcmp(own, digest, sizeof own) == 0 ? 0
	                                            : rangeset_add(&v->out->differs, r, e);
}

static int
compare(struct pair *p, struct verify *v, struct err *e)
{
	if (device_open(&v->disk, p->from.device, e) != 0 ||
	    uncached_new(&v->uncached, v->disk, e) != 0)
		return -1;
	v->buf = uncached_buf_new(PIECE_BYTES);
	if (v->buf == NULL)
		return err_nomem(e, "comparing");
	v->out->device_bytes = disk_size_bytes(v->disk);
	if (v->copy_bytes != 0 && v->copy_bytes != v->out->device_bytes)
		return err_set(e, ERR_REFUSED,
		    "%s has %" PRIu64 " bytes now, and the copy is of %" PRIu64 "; sync it first",
		    p->from.device, v->out->device_bytes, v->copy_bytes);
	if (p->from.since != NULL &&
	    extract_noted(&p->from, NOTED_UNSENT, v->out->device_bytes, &v->unsent, e) != 0)
		return -1;
	if (far_digests(&p->to, PIECE_BYTES, compare_piece, v, e) != 0)
		return -1;
	if (v->at != v->out->device_bytes)
		return err_set(e, ERR_REFUSED, "the copy is shorter than its source");
	return 0;
}

static int
check_known(struct pair *p, uint64_t *copy_bytes, struct err *e)
{
	struct far_status s;
	bool known, late;

	if (far_status(&p->to, &s, e) != 0 || settle(p, &s, &known, &late, e) != 0)
		return -1;
	*copy_bytes = s.bytes;
	if (!known)
		return err_set(e, ERR_REFUSED,
		    "the copy is %s, and its state is not known here; sync it first",
		    s.condition);
	if (strcmp(s.condition, "incomplete") == 0 || strcmp(s.condition, "interrupted") == 0)
		return err_set(
		    e, ERR_REFUSED, "a merge of the copy has not ended; sync it first");
	return 0;
}

/* Remove what was written during the comparison from the differences. */
static int
leave_out(struct pair_difference *d, const struct rangeset *changed, struct err *e)
{
	struct rangeset all = d->differs;
	int rc = 0;

	rangeset_init(&d->differs);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&all); i++) {
		struct range r = rangeset_get(&all, i), piece;
		for (; rc == 0 && r.len > 0; r.off += piece.len, r.len -= piece.len) {
			piece = (struct range){ r.off, r.len < PIECE_BYTES ? r.len : PIECE_BYTES };
			if (!rangeset_touches(changed, piece))
				rc = rangeset_add(&d->differs, piece, e);
		}
	}
	rangeset_free(&all);
	rangeset_seal(&d->differs);
	return rc;
}

int
pair_verify(struct pair *p, struct pair_difference *d, struct err *e)
{
	struct extract_report r;
	struct rangeset changed;
	struct err ignored;

	memset(d, 0, sizeof *d);
	rangeset_init(&d->differs);
	rangeset_init(&changed);
	struct verify v = { .from = &p->from, .changed = &changed, .out = d };
	p->from.full = p->from.incomplete = false; /* a sync may have set them */
	bool since = p->from.since != NULL;
	int rc = since ? check_known(p, &v.copy_bytes, e) : 0;
	if (rc == 0 && since)
		rc = extract_list(&p->from, &changed, &r, e);
	if (rc == 0)
		rc = compare(p, &v, e);
	rangeset_seal(&d->differs);
	if (rc == 0 && since && rangeset_count(&d->differs) > 0) {
		rangeset_free(&changed);
		rc = extract_list(&p->from, &changed, &r, e);
		if (rc == 0)
			rc = leave_out(d, &changed, e);
		if (rc == 0 && rangeset_count(&d->differs) > 0)
			rc = extract_differs(&p->from, d->device_bytes, &d->differs, e);
	}
	rangeset_free(&v.unsent);
	uncached_buf_free(v.buf);
	uncached_free(v.uncached);
	disk_close(v.disk, &ignored);
	rangeset_free(&changed);
	return rc;
}
