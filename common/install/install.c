#include "common/install/install.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/pipeline.h"
#include "common/install/install_impl.h"
#include "common/install/job.h"

/* What the file held is given up only when there is something to put there: a
 * delta is refused because of what it may have held. */
static int
empty_file(struct install *in, struct err *e)
{
	struct head *h = &in->target.head;

	if (!in->must_empty)
		return 0;
	if (disk_truncate(in->target.disk, 0, e) != 0)
		return -1;
	memset(h->bytes, 0, sizeof h->bytes);
	h->was_marked = false;
	in->must_empty = false;
	return 0;
}

int
install_check_fit(struct install *in, uint64_t sectors, struct err *e)
{
	return target_check_fit(&in->target, sectors, e);
}

static int
note_stored(struct install *in, const struct ndz_header *h, struct err *e)
{
	for (unsigned i = 0; !in->cfg.keep_stale && i < h->nregions; i++)
		if (rangeset_add(&in->stored, h->regions[i], e) != 0)
			return -1;
	return 0;
}

/* What is asked of all chunks together. */
static int
note_chunk(struct install *in, uint32_t number, struct chunk *c, struct err *e)
{
	if (note_stored(in, &c->h, e) != 0 ||
	    tiling_add(&in->tiling, number, &c->h, e) != 0)
		return -1;
	in->ours |= c->ext.present;
	in->delta |= ext_is_delta(&c->ext);
	/* Looked at when all threads are gone. */
	in->target.holds_file |= c->ext.has_image && c->ext.image.kind == EXT_KIND_FILE;
	if (c->ext.last)
		in->promised = c->ext.nchunks;
	if (c->ext.lost.nranges > 0 && in->lost.nranges == 0) {
		in->lost = c->ext.lost;
		c->ext.lost = (struct lost){ 0 };
	}
	return 0;
}

/* Before anything is written.  An image that leaves part of the head as it is
 * keeps what stands there. */
static int
settle(struct install *in, const struct job *j, struct err *e)
{
	const struct ndz_header *h = &j->c.h;
	struct head *head = &in->target.head;

	memcpy(head->mark.uuid, j->c.ext.has_uuid ? j->c.ext.uuid : h->uuid,
	    NDZ_UUID_BYTES);
	bool stores_head = h->regions[0].off == 0 && h->regions[0].len >= HEAD_SECTORS;
	bool delta = ext_is_delta(&j->c.ext);
	/* The mark of this delta's own interrupted installation is none of its base. */
	if (delta && head->was_marked &&
	    memcmp(head->old.uuid, head->mark.uuid, NDZ_UUID_BYTES) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: an installation was not completed there, so a delta "
		    "has no base",
		    disk_name(in->target.disk));
	/* Only its base could bring back the head, were a delta interrupted. */
	if (!stores_head && (h->firstsect == 0 || delta))
		head->on = false;
	if (resume_settle(&in->resume, j, e) != 0)
		return -1;
	/* What is in a file turned out to be of something else. */
	in->must_empty = in->holds_data && in->resume.had == 0;
	return empty_file(in, e);
}

void
install_expect(struct install *in, uint32_t nchunks)
{
	in->resume.expected = nchunks;
}

void
install_trust_digests(struct install *in)
{
	in->cfg.digests_checked = true;
}

bool
install_has(const struct install *in, uint32_t chunk)
{
	return resume_has(&in->resume, chunk);
}

bool
install_lacks_place(struct install *in)
{
	return resume_lacks_place(&in->resume);
}

int
install_offer(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	return resume_offer(&in->resume, bytes, number, e);
}

bool
install_resumes(const struct install *in)
{
	return resume_pending(&in->resume);
}

bool
install_in_order(const struct install *in)
{
	return disk_kind(in->target.disk) == DISK_STREAM;
}

int
install_compare(struct install *in, const struct chunk *c, bool **same, struct err *e)
{
	const struct ndz_header *h = &c->h;
	struct err too_small; /* whole, it will be refused */

	*same = NULL;
	if (!job_can_skip(c, &in->target, in->raw_bytes) ||
	    target_check_fit(
		&in->target, range_end(h->regions[h->nregions - 1]), &too_small) != 0)
		return 0;
	return job_compare(c, &in->target, same, e) == 0 ? 1 : -1;
}

int
install_feed(struct install *in, uint32_t number, const void *bytes,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *e)
{
	return install_feed_compared(in, number, bytes, NULL, false, released, arg, e);
}

int
install_feed_compared(struct install *in, uint32_t number, const void *bytes,
    bool *same, bool partial, void (*released)(void *arg, const void *chunk), void *arg,
    struct err *e)
{
	struct job *j;

	if (job_new(&j, number, bytes, &in->target, in->raw_bytes, released, arg, e) !=
	    0) {
		free(same);
		return err_ctx(e, "chunk %u", number);
	}
	j->same = same;
	j->partial = partial;
	if (install_check_job(in, j, e) != 0 ||
	    (in->fed == 0 && settle(in, j, e) != 0) ||
	    resume_fed(&in->resume, j, e) != 0) {
		install_retire(in, j);
		return err_ctx(e, "chunk %u", number);
	}
	in->fed++;
	if (note_chunk(in, number, &j->c, e) != 0) {
		install_retire(in, j);
		return -1;
	}
	return install_submit(in, j, e);
}

int
install_pass(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = image_identity_check(&in->id, &c.h, &c.ext, e);
	if (rc == 0)
		rc = note_chunk(in, number, &c, e);
	in->passed += rc == 0;
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

bool
install_failed(struct install *in)
{
	return pipeline_failed(in->pipe);
}

uint64_t
install_bytes_covered(struct install *in)
{
	return in->target.bytes_covered;
}
