/* job.c: takes a chunk to the target: the chunk is taken over in the thread that feeds,
 * decoded in one of several threads, and written and settled by the writer (with -n by
 * the decoder). install.c and install_threads.c call this. */
#include "imageunzip/install/job_impl.h"

#include <assert.h>
#include <stdlib.h>

#include "common/image/format/reloc.h"
#include "common/image/read/only.h"
#include "imageunzip/install/free_space.h"
#include "imageunzip/install/moved_part.h"
#include "imageunzip/install/target_tail.h"

static bool
relocates(const struct target *t, const struct ndz_header *h)
{
	uint64_t to;

	for (unsigned i = 0; i < h->nrelocs; i++)
		if (maps_whole(t->maps, (struct range){ h->relocs[i].sector, 1 }, &to) &&
		    reloc_changes(&h->relocs[i], t->slice))
			return true;
	return moved_part_looks_at(t, h);
}

/* Does the chunk have data of a tail that does not go to its own place? */
static bool
goes_elsewhere(const struct chunk *c, const struct target *t)
{
	return !target_tail_in_place(t, &c->ext.tail) &&
	       tail_touches(&c->ext.tail, c->h.regions, c->h.nregions);
}

bool
job_can_skip(const struct chunk *c, const struct target *t, size_t raw_cap)
{
	return c->ext.fragments != NULL && c->ext.has_digest && !relocates(t, &c->h) &&
	       !goes_elsewhere(c, t) && chunk_packed_bytes(c) <= raw_cap;
}

/* Choose how to decode a job. JOB_PACKED neither decodes zero fragments nor keeps them in
 * memory; a chunk with relocations is decoded whole, because these may change zeros. */
static void
choose_how(struct job *j, const struct target *t, size_t raw_cap)
{
	const struct chunk *c = &j->c;

	if (job_can_skip(c, t, raw_cap))
		j->how = JOB_PACKED;
	else
		j->how = c->raw_bytes <= raw_cap ? JOB_WHOLE : JOB_STREAMED;
}

/* Cut the header to the partition that is installed alone. */
static int
cut_header(struct job *j, const struct target *t, struct err *e)
{
	j->at = &j->c.h;
	if (t->only.len == 0)
		return 0;
	j->cut = malloc(sizeof *j->cut);
	if (j->cut == NULL)
		return err_nomem(e, "a chunk");
	only_header(&j->c.h, t->only, j->cut);
	j->at = j->cut;
	j->apart = ndz_header_raw_bytes(j->cut) < j->c.raw_bytes;
	return 0;
}

int
job_new(struct job **out, struct proved *proved, const struct target *t, size_t raw_cap,
    struct err *e)
{
	const struct sink_chunk *put = proved_chunk(proved);
	const struct chunk *c = proved_parsed(proved, e);
	struct job *j = NULL;

	if (c == NULL)
		return -1;
	j = calloc(1, sizeof *j);
	if (j == NULL)
		return err_nomem(e, "a chunk");
	*j = (struct job){ .proved = proved_hold(proved),
		.c = *c,
		.number = put->number,
		.bytes = put->bytes };
	if (cut_header(j, t, e) != 0) {
		job_free(j);
		return -1;
	}
	choose_how(j, t, raw_cap);
	*out = j;
	return 0;
}

static void
release(struct job *j)
{
	if (j->bytes != NULL)
		proved_read(j->proved);
	j->bytes = NULL;
}

void
job_free(struct job *j)
{
	release(j);
	proved_drop(j->proved);
	free(j->cut);
	free(j->same);
	free(j->parts.p);
	free(j);
}

/* Write the decoded fragments of a JOB_PACKED, neighbours at once. */
static int
put_packed(struct cursor *c, const struct job *j, struct err *e)
{
	struct fragments f = fragments_of(&j->c);
	const uint8_t *p = j->raw;
	uint64_t n = 0;

	while (fragments_next(&f)) {
		bool same = j->same != NULL && j->same[f.number];
		if (!f.entry->zero && !same) {
			n += f.raw_bytes;
			continue;
		}
		if (cursor_put(c, p, n, e) != 0 ||
		    (same ? cursor_put_same(c, f.raw_bytes, e)
			  : cursor_put(c, NULL, f.raw_bytes, e)) != 0)
			return -1;
		p += n + (f.entry->zero ? 0 : f.raw_bytes);
		n = 0;
	}
	return cursor_put(c, p, n, e);
}

static int
decode(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor all = cursor_of(&j->c, t, NULL);

	switch (j->how) {
	case JOB_STREAMED:
		return chunk_pieces(&j->c, j->bytes, dec, NULL, NULL, e);
	case JOB_WHOLE:
		if (!j->decoded && chunk_decode(&j->c, j->bytes, dec, j->raw, e) != 0)
			return -1;
		return cursor_relocate(&all, j->raw, j->c.raw_bytes, e);
	default:
		assert(!j->decoded && (!j->partial || j->same != NULL));
		if (!t->cfg->skip_same && !j->apart)
			return chunk_decode_packed(&j->c, j->bytes, dec, j->raw, e);
		if (j->same == NULL && job_find_same(j, t, e) != 0)
			return -1;
		return chunk_decode_others(&j->c, j->bytes, dec, j->same, j->raw, e);
	}
}

/* A streamed chunk is only checked here; its bytes are needed once more. */
int
job_decode(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	if (decode(j, t, dec, e) != 0)
		return err_ctx(e, "chunk %u", j->number);
	if (j->how != JOB_STREAMED)
		release(j);
	return 0;
}

static int
put_job(const struct job *j, struct cursor *c, struct decoder *dec, struct err *e)
{
	switch (j->how) {
	case JOB_PACKED:
		return put_packed(c, j, e);
	case JOB_STREAMED:
		return chunk_pieces(&j->c, j->bytes, dec, cursor_put_piece, c, e);
	default:
		return cursor_put(c, j->raw, j->c.raw_bytes, e);
	}
}

/* Treat the sectors of a region that do not go to their own place as free space. */
static int
free_left(struct target *t, const struct maps *diverted, struct range r, struct err *e)
{
	uint64_t n, to;

	for (; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		n = maps_run(diverted, r, &to);
		if (to != r.off && target_free_space(t, r.off, r.off + n, e) != 0)
			return -1;
	}
	return 0;
}

static int
free_gaps(struct job *j, struct target *t, struct err *e)
{
	const struct ndz_header *h = j->at;
	uint64_t from = h->firstsect;
	const struct maps *maps = t->maps;

	/* Where partitions move, free space is filled when all else is done. */
	if (t->fit != NULL)
		return 0;
	for (unsigned i = 0; i < h->nregions; i++) {
		if (free_space_fill(t->free_space, t, from, h->regions[i].off, &j->owes, e) != 0 ||
		    (maps == &t->diverted && free_left(t, maps, h->regions[i], e) != 0))
			return -1;
		from = range_end(h->regions[i]);
	}
	return free_space_fill(t->free_space, t, from, h->lastsect, &j->owes, e);
}

bool
job_overlaps(const struct job *a, const struct job *b)
{
	return a->c.h.firstsect < b->c.h.lastsect && b->c.h.firstsect < a->c.h.lastsect;
}

int
job_launch(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor c = cursor_of(&j->c, t, target_write);

	c.parts = &j->parts;
	if (t->cfg->skip_same && j->how != JOB_PACKED)
		c.put = job_write_differing;
	int rc = put_job(j, &c, dec, e);
	j->ticket = target_ticket(t);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", j->number);
}

int
job_settle(struct job *j, struct target *t, struct err *e)
{
	if (target_land_upto(t, j->ticket, e) != 0 || free_gaps(j, t, e) != 0)
		return err_ctx(e, "chunk %u", j->number);
	target_note_covered(t, j->at->firstsect, j->at->lastsect);
	return 0;
}

int
job_mend(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor c = cursor_of(&j->c, t, target_compare);

	return put_job(j, &c, dec, e) == 0 ? 0 : err_ctx(e, "chunk %u", j->number);
}
