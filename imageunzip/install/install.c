/* install.c: takes the chunks of an installation: each chunk is checked, becomes a job,
 * and goes to the threads. The sink of the installation, parts.c and the rehearsal call
 * this, in the one thread that feeds chunks; install_bytes_covered() may be called in
 * any. */
#include "imageunzip/install/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/pipeline.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/parts.h"
#include "imageunzip/install/tail.h"

/* A file is emptied only when there is something to put there, because a delta may be
 * refused for what the file holds. */
static int
empty_file(struct install *in, struct err *e)
{
	struct boot_area *h = &in->target.boot_area;

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
	/* With --only, what the image stores of a partition must fit: install_consider()
	 * checks that. */
	return in->parts != NULL ? 0 : target_check_fit(&in->target, sectors, e);
}

/* Note the part of a region that is written, at the place where it is written. */
static int
note_region(struct install *in, struct range r, struct err *e)
{
	uint64_t n, to;

	if (tail_in_place(&in->target, &in->tail))
		return cover_note(&in->cover, r, e);
	for (; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = tail_place(&in->target, &in->tail, r, &to);
		if (to != UINT64_MAX &&
		    cover_note(&in->cover, (struct range){ to, n }, e) != 0)
			return -1;
	}
	return 0;
}

int
install_note_stored(struct install *in, const struct ndz_header *h, struct err *e)
{
	tail_count(&in->tail, h->regions, h->nregions, in->tail_sectors);
	for (unsigned i = 0; i < h->nregions; i++)
		if (note_region(in, h->regions[i], e) != 0)
			return -1;
	return 0;
}

/* Check and note what concerns all chunks together; at: the chunk as the target has it. */
static int
note_chunk(struct install *in, uint32_t number, struct chunk *c,
    const struct ndz_header *at, struct err *e)
{
	if (install_note_stored(in, at, e) != 0 ||
	    tiling_add(&in->tiling, number, &c->h, e) != 0 ||
	    install_note_lost(in, &c->ext, e) != 0)
		return -1;
	install_note_seen(in, number, &c->h, at);
	in->ours |= c->ext.present;
	in->delta |= ext_is_delta(&c->ext);
	/* holds_file is read when all threads are gone. */
	in->target.holds_file |= c->ext.has_image && c->ext.image.kind == EXT_KIND_FILE;
	if (c->ext.last)
		in->promised = c->ext.nchunks;
	return 0;
}

void
install_tell_cut(struct install *in, uint64_t bytes)
{
	char sentence[WARNING_BYTES], was[32], is[32];

	if (bytes == 0 || bytes >= in->held_bytes || !in->holds_data)
		return;
	snprintf(sentence, sizeof sentence,
	    "%s: the file is replaced by a new one of %s, and had %s; --in-place writes "
	    "into a file and leaves its length as it is",
	    disk_name(in->target.disk), human_bytes(bytes, is, sizeof is),
	    human_bytes(in->held_bytes, was, sizeof was));
	in->held_bytes = 0;
	if (in->cfg.say != NULL)
		in->cfg.say(sentence);
}

/* Settle, with the first chunk and before anything is written, what the installation is.
 * Where the image stores nothing of the boot area, the present one is kept. */
static int
settle(struct install *in, const struct job *j, struct err *e)
{
	const struct ndz_header *h = j->at;
	struct boot_area *boot = &in->target.boot_area;

	memcpy(boot->marker.uuid, install_uuid(&j->c), NDZ_UUID_BYTES);
	bool stores_boot_area = h->nregions > 0 && h->regions[0].off == 0 &&
	                        h->regions[0].len >= BOOT_AREA_SECTORS;
	if (in->gate.closed && j->number != 0 && j->c.ext.present)
		return err_set(e, ERR_REFUSED,
		    "comes before chunk 0, which says what the image is");
	if (gate_open(&in->gate, &in->target, &j->c.ext, &j->c, install_begun(in), e) !=
	    0)
		return -1;
	/* If a delta were interrupted, only its base could bring back the boot area. */
	if (!stores_boot_area && (h->firstsect == 0 || ext_is_delta(&j->c.ext)))
		boot->on = false;
	if (resume_settle(&in->resume, j, e) != 0)
		return -1;
	/* The file does not hold an interrupted installation of this image. */
	in->must_empty = in->holds_data && in->resume.had == 0;
	if (in->must_empty && j->c.ext.has_image)
		install_tell_cut(in, j->c.ext.image.source_bytes);
	return empty_file(in, e);
}

static int
admit(struct install *in, struct job *j, struct err *e)
{
	if (install_check_job(in, j, e) != 0 ||
	    (in->fed == 0 && settle(in, j, e) != 0) ||
	    resume_fed(&in->resume, j, e) != 0)
		return -1;
	in->fed++;
	return !j->partial && cover_wants_table(&in->cover, &j->c.h)
	           ? cover_learn(&in->cover, &in->target, &j->c, j->bytes, e)
	           : 0;
}

int
install_admit(struct install *in, struct job *j, struct err *e)
{
	if (admit(in, j, e) != 0)
		err_ctx(e, "chunk %u", j->number);
	else if (note_chunk(in, j->number, &j->c, j->at, e) == 0)
		return 0;
	install_retire(in, j);
	return -1;
}

int
install_check_meant(struct install *in, const struct ext *x, struct err *e)
{
	/* With --only, the image of a disk is installed into a partition. */
	if (in->parts != NULL)
		return 0;
	target_note_image(&in->target, x);
	return gate_check_meant(&in->target, x, e) == 0
	           ? install_check_reach(in, x, e)
	           : -1;
}

bool
install_waits(const struct install *in)
{
	return in->gate.closed;
}

void
install_expect(struct install *in, uint32_t nchunks)
{
	parts_expect(in->parts, nchunks);
	in->resume.expected = nchunks;
}

void
install_trust_digests(struct install *in)
{
	parts_trust_digests(in->parts);
	in->cfg.digests_checked = true;
}

bool
install_has(const struct install *in, uint32_t chunk)
{
	return in->parts != NULL ? parts_has(in->parts, chunk)
	                         : resume_has(&in->resume, chunk);
}

bool
install_lacks_place(struct install *in)
{
	return in->parts != NULL ? parts_lacks_place(in->parts)
	                         : resume_lacks_place(&in->resume);
}

int
install_offer(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	return in->parts != NULL ? parts_offer(in->parts, number, bytes, e)
	                         : resume_offer(&in->resume, bytes, number, e);
}

bool
install_resumes(const struct install *in)
{
	return in->parts == NULL && resume_pending(&in->resume);
}

bool
install_in_order(const struct install *in)
{
	return in->parts == NULL && disk_kind(in->target.disk) == DISK_STREAM;
}

int
install_compare(struct install *in, const struct chunk *c, bool **same, struct err *e)
{
	const struct ndz_header *h = &c->h;
	struct err too_small; /* the whole image will be refused */

	*same = NULL;
	if (in->parts != NULL || install_guesses(in, c))
		return 0;
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
	if (in->parts != NULL)
		return parts_feed(in->parts, number, bytes, released, arg, e);
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
	return install_admit(in, j, e) == 0 ? install_submit(in, j, e) : -1;
}

int
install_pass(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;
	struct ndz_header at;

	if (in->parts != NULL)
		return parts_feed(in->parts, number, bytes, NULL, NULL, e);
	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = image_identity_check(&in->id, &c.h, &c.ext, e);
	if (in->target.only.len != 0)
		only_header(&c.h, in->target.only, &at);
	if (rc == 0)
		rc = install_learn_tail(in, &c.ext.tail, e);
	if (rc == 0)
		rc = note_chunk(
		    in, number, &c, in->target.only.len != 0 ? &at : &c.h, e);
	in->passed += rc == 0;
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

bool
install_failed(struct install *in)
{
	return in->parts != NULL ? parts_failed(in->parts) : pipeline_failed(in->pipe);
}

uint64_t
install_bytes_covered(struct install *in)
{
	return in->parts != NULL ? parts_bytes_covered(in->parts)
	                         : in->target.bytes_covered;
}
