/* install.c: takes the chunks of an installation: each chunk is checked, becomes a job for
 * each place that has something of it, and goes to the threads. The sink of the
 * installation calls this, in the one thread that feeds chunks; install_bytes_covered()
 * may be called in any. */
#include "imageunzip/install/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/pipeline.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/target_tail.h"

/* A file is emptied only when there is something to put there, because a delta may be
 * refused for what the file holds. */
static int
empty_file(struct place *p, struct err *e)
{
	struct install *in = p->in;
	struct boot_area *h = &p->target.boot_area;

	if (!in->must_empty)
		return 0;
	if (disk_truncate(in->disk, 0, e) != 0)
		return -1;
	memset(h->bytes, 0, sizeof h->bytes);
	h->was_marked = false;
	in->must_empty = false;
	return 0;
}

int
install_check_fit(struct install *in, uint64_t sectors, struct err *e)
{
	/* With --only, what the image stores of a partition must fit. */
	if (install_fits(in))
		return 0; /* the plan shows it */
	return install_is_only(in) ? 0 : target_check_fit(&in->place->target, sectors, e);
}

/* Note the part of a region that is written, at the place where it is written. */
static int
note_region(struct place *p, struct range r, struct err *e)
{
	uint64_t n, to;

	for (; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = maps_run(p->target.maps, r, &to);
		if (to != MAPS_NOWHERE &&
		    free_space_note(&p->free_space, (struct range){ to, n }, e) != 0)
			return -1;
	}
	return 0;
}

int
install_note_stored(struct place *p, const struct ndz_header *h, struct err *e)
{
	struct install *in = p->in;

	tail_count(&in->tail, h->regions, h->nregions, in->tail_sectors);
	for (unsigned i = 0; i < h->nregions; i++)
		if (note_region(p, h->regions[i], e) != 0)
			return -1;
	return 0;
}

/* Note what a chunk says of the whole image. */
static void
note_image(struct install *in, struct ext *x)
{
	if (x->lost.nranges > 0 && in->lost.nranges == 0) {
		in->lost = x->lost;
		x->lost = (struct lost){ 0 };
	}
	in->ours |= x->present;
	in->delta |= ext_is_delta(x);
	if (x->last)
		in->promised = x->nchunks;
}

/* Check and note what concerns all chunks together; at: the chunk as the target has it. */
static int
note_chunk(struct place *p, uint32_t number, struct chunk *c,
    const struct ndz_header *at, struct err *e)
{
	if (install_note_stored(p, &c->h, e) != 0 ||
	    tiling_add(&p->tiling, number, &c->h, e) != 0)
		return -1;
	note_image(p->in, &c->ext);
	only_note_seen(p, number, &c->h, at);
	/* holds_file is read when all threads are gone. */
	p->target.holds_file |= c->ext.has_image && c->ext.image.kind == EXT_KIND_FILE;
	return 0;
}

void
install_tell_replaced(const struct install *in, uint64_t bytes)
{
	char sentence[WARNING_BYTES], was[32], is[32];

	if (in->held_bytes == 0 || in->cfg.say == NULL)
		return;
	human_bytes(bytes, is, sizeof is);
	snprintf(sentence, sizeof sentence,
	    "%s: the file is replaced by a new one%s%s, and had %s; --in-place writes "
	    "into a file and leaves its length as it is",
	    disk_name(in->disk), bytes != 0 ? " of " : "", bytes != 0 ? is : "",
	    human_bytes(in->held_bytes, was, sizeof was));
	in->cfg.say(sentence);
}

/* Settle, with the first chunk and before anything is written, what the installation is.
 * Where the image stores nothing of the boot area, the present one is kept. */
static int
settle(struct place *p, const struct job *j, struct err *e)
{
	struct install *in = p->in;
	const struct ndz_header *h = j->at;
	struct boot_area *boot = &p->target.boot_area;

	memcpy(boot->marker.uuid, install_uuid(&j->c), NDZ_UUID_BYTES);
	bool stores_boot_area = h->nregions > 0 && h->regions[0].off == 0 &&
	                        h->regions[0].len >= BOOT_AREA_SECTORS;
	if (p->gate.closed && j->number != 0 && j->c.ext.present)
		return err_set(e, ERR_REFUSED,
		    "comes before chunk 0, which says what the image is");
	if (gate_open(&p->gate, &p->target, &j->c.ext, &j->c, install_begun(p), e) != 0)
		return -1;
	/* If a delta were interrupted, only its base could bring back the boot area. */
	if (!stores_boot_area && (h->firstsect == 0 || ext_is_delta(&j->c.ext)))
		boot->on = false;
	if (resume_settle(&p->resume, j, e) != 0)
		return -1;
	/* The file does not hold an interrupted installation of this image. */
	in->must_empty = in->holds_data && p->resume.had == 0;
	if (in->must_empty)
		install_tell_replaced(
		    in, j->c.ext.has_image ? j->c.ext.image.source_bytes : 0);
	return empty_file(p, e);
}

static int
admit(struct place *p, struct job *j, struct err *e)
{
	if (install_check_job(j, e) != 0 || (p->fed == 0 && settle(p, j, e) != 0) ||
	    resume_fed(&p->resume, j, e) != 0)
		return -1;
	p->fed++;
	return !j->partial && p->in->fit == NULL && free_space_wants_table(&p->free_space, &j->c.h)
	           ? free_space_learn(&p->free_space, &p->target, &j->c, j->bytes, e)
	           : 0;
}

int
install_admit(struct job *j, struct err *e)
{
	struct chunk *c = proved_parsed(j->proved, e);

	if (admit(j->place, j, e) != 0)
		err_ctx(e, "chunk %u", j->number);
	else if (note_chunk(j->place, j->number, c, j->at, e) == 0)
		return 0;
	install_retire(j);
	return -1;
}

int
install_check_meant(struct install *in, const struct ext *x, struct err *e)
{
	struct place *p = in->place;

	/* With --only, the image of a disk is installed into a partition. */
	if (install_is_only(in))
		return 0;
	target_note_image(&p->target, x);
	return gate_check_meant(&p->target, x, e) == 0 ? install_check_reach(p, x, e) : -1;
}

bool
install_is_only(const struct install *in)
{
	return in->table != NULL;
}

bool
install_waits(const struct install *in)
{
	return (!install_is_only(in) && in->place->gate.closed) ||
	       (install_fits(in) && install_plan(in) == NULL);
}

void
install_expect(struct install *in, uint32_t nchunks)
{
	for (unsigned i = 0; i < in->n; i++)
		in->place[i].resume.expected = nchunks;
}

bool
install_has(const struct install *in, uint32_t chunk)
{
	bool has = true;

	for (unsigned i = 0; i < in->n; i++)
		has &= resume_has(&in->place[i].resume, chunk);
	return has;
}

/* The state gets no place before the first chunk shows whose it is. */
static bool
lacks_place(struct place *p)
{
	return p->fed > 0 && resume_lacks_place(&p->resume);
}

bool
install_lacks_place(struct install *in)
{
	bool lacks = false;

	for (unsigned i = 0; i < in->n; i++)
		lacks |= lacks_place(&in->place[i]);
	return lacks;
}

int
install_offer(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	for (unsigned i = 0; i < in->n; i++)
		if (lacks_place(&in->place[i]) &&
		    resume_offer(&in->place[i].resume, bytes, number, e) != 0)
			return -1;
	return 0;
}

bool
install_resumes(const struct install *in)
{
	return !install_is_only(in) && resume_pending(&in->place->resume);
}

bool
install_in_order(const struct install *in)
{
	return in->is_stream;
}

int
install_compare(struct install *in, const struct chunk *c, bool **same, struct err *e)
{
	const struct ndz_header *h = &c->h;
	struct target *t = &in->place->target;
	struct err too_small; /* the whole image will be refused */

	*same = NULL;
	if (install_is_only(in) || install_fits(in) || install_guesses(in->place, c))
		return 0;
	if (!job_can_skip(c, t, in->raw_bytes) ||
	    target_check_fit(t, range_end(h->regions[h->nregions - 1]), &too_small) != 0)
		return 0;
	return job_compare(c, t, same, e) == 0 ? 1 : -1;
}

/* Note a chunk that the place has already. */
static int
pass(struct place *p, uint32_t number, struct chunk *c, struct err *e)
{
	struct ndz_header at;

	if (image_identity_check(&p->in->id, &c->h, &c->ext, e) != 0)
		return -1;
	if (p->number != 0)
		only_header(&c->h, p->target.only, &at);
	if (install_learn_tail(p, &c->ext.tail, e) != 0 ||
	    note_chunk(p, number, c, p->number != 0 ? &at : &c->h, e) != 0)
		return -1;
	p->passed++;
	return 0;
}

/* What was compared belongs to the first place that takes the chunk, and so does what was
 * decoded. */
static int
feed_place(struct place *p, struct proved *f, struct chunk *c, struct err *e)
{
	const struct sink_chunk *put = proved_chunk(f);
	struct job *j;

	if (resume_has(&p->resume, put->number))
		return pass(p, put->number, c, e) == 0
		           ? 0
		           : err_ctx(e, "chunk %u", put->number);
	if (job_new(&j, f, &p->target, p->in->raw_bytes, e) != 0)
		return err_ctx(e, "chunk %u", put->number);
	j->place = p;
	j->partial = sink_is_partial(put);
	if (put->part != NULL) {
		j->same = put->part->same;
		put->part->same = NULL;
	}
	install_take_decoded(j);
	return install_admit(j, e) == 0 ? install_submit(j, e) : -1;
}

/* Check a chunk that no place has anything of: that it belongs to the image, and what it
 * says of the whole image. */
static int
look(struct install *in, uint32_t number, struct chunk *c, struct err *e)
{
	if (image_identity_check(&in->id, &c->h, &c->ext, e) != 0)
		return err_ctx(e, "chunk %u", number);
	note_image(in, &c->ext);
	return 0;
}

static bool
takes(const struct place *p, const struct ndz_header *h)
{
	if (p->number == 0)
		return true;
	return p->in->search != NULL ? part_takes(p)
	                             : p->known && only_touches(h, p->target.only);
}

static int
feed_all(struct install *in, struct proved *f, struct err *e)
{
	const struct sink_chunk *put = proved_chunk(f);
	struct chunk *c = proved_parsed(f, e);
	bool taken = false;

	if (c == NULL)
		return err_ctx(e, "chunk %u", put->number);
	if (install_is_only(in) && !in->known && in->search == NULL &&
	    install_learn(in, put->number, put->bytes, e) != 0)
		return -1;
	if (install_fits(in) && install_plan(in) == NULL &&
	    fit_learn_alone(in, put->number, put->bytes, e) != 0)
		return -1;
	if (c->h.lastsect > in->passed_end)
		in->passed_end = c->h.lastsect;
	for (unsigned i = 0; i < in->n; i++) {
		if (!takes(&in->place[i], &c->h))
			continue;
		taken = true;
		if (feed_place(&in->place[i], f, c, e) != 0)
			return -1;
	}
	return taken ? 0 : look(in, put->number, c, e);
}

int
install_feed(struct install *in, struct proved *f, struct err *e)
{
	int rc = feed_all(in, f, e);

	proved_free(f);
	return rc;
}

bool
install_failed(struct install *in)
{
	return pipeline_failed(in->pipe);
}

uint64_t
install_bytes_covered(struct install *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->n; i++)
		sum += in->place[i].target.bytes_covered;
	return sum;
}
