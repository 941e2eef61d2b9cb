#include "common/install/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/install/cover.h"
#include "common/install/moved.h"
#include "common/install/reloc.h"
#include "common/install/tail.h"
#include "common/ndz/fragments.h"
#include "common/ndz/only.h"

/* As much as the largest fragment. */
enum { COMPARE_BYTES = CODEC_WINDOWS_MAX * FRAGMENT_WINDOW_BYTES };

static bool
relocates(const struct target *t, const struct ndz_header *h)
{
	for (unsigned i = 0; i < h->nrelocs; i++)
		if (moved_wants(t, h->relocs[i].sector) &&
		    reloc_changes(&h->relocs[i], t->slice))
			return true;
	return moved_looks_at(t, h);
}

/* Has the chunk something that does not go to its place? */
static bool
goes_elsewhere(const struct chunk *c, const struct target *t)
{
	return !tail_in_place(t, &c->ext.tail) &&
	       tail_touches(&c->ext.tail, c->h.regions, c->h.nregions);
}

bool
job_can_skip(const struct chunk *c, const struct target *t, size_t raw_cap)
{
	return c->ext.fragments != NULL && c->ext.has_digest && !relocates(t, &c->h) &&
	       !goes_elsewhere(c, t) && chunk_packed_bytes(c) <= raw_cap;
}

/* Zero fragments are neither inflated nor written, unless a relocation changes
 * them. */
static void
choose_how(struct job *j, const struct target *t, size_t raw_cap)
{
	const struct chunk *c = &j->c;

	if (job_can_skip(c, t, raw_cap))
		j->how = JOB_PACKED;
	else
		j->how = c->raw_bytes <= raw_cap ? JOB_WHOLE : JOB_STREAMED;
}

/* Of what is installed alone, the target knows nothing else. */
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
job_new(struct job **out, uint32_t number, const void *bytes, const struct target *t,
    size_t raw_cap, void (*released)(void *arg, const void *chunk), void *arg,
    struct err *e)
{
	struct job *j = calloc(1, sizeof *j);

	if (j == NULL) {
		if (released != NULL)
			released(arg, bytes);
		return err_nomem(e, "a chunk");
	}
	*j = (struct job){
		.number = number, .bytes = bytes, .released = released, .arg = arg
	};
	if (chunk_parse(&j->c, bytes, e) != 0 || cut_header(j, t, e) != 0) {
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
	if (j->released != NULL)
		j->released(j->arg, j->bytes);
	j->released = NULL;
}

void
job_free(struct job *j)
{
	release(j);
	chunk_free(&j->c);
	free(j->cut);
	free(j->same);
	free(j);
}

/* Where the data of a chunk goes, piece by piece, in order. */
struct cursor {
	struct target *t;
	const struct ndz_header *h;
	const struct tail *tail; /* does not go to its place; NULL: all does */
	/* What is done with it: written, compared, ... */
	target_put_fn *put;
	unsigned region;
	uint64_t region_at; /* bytes of it that are done */
	uint64_t raw_at;    /* bytes of the chunk's data that are done */
};

/* Apply the relocations that lie in data[n], which begins at c->raw_at. */
static int
relocate(const struct cursor *c, uint8_t *data, size_t n, struct err *e)
{
	for (unsigned i = 0; i < c->h->nrelocs; i++) {
		const struct ndz_reloc *r = &c->h->relocs[i];
		if (!moved_wants(c->t, r->sector) || !reloc_changes(r, c->t->slice))
			continue;
		uint64_t at = reloc_at(c->h, r);
		if (at < c->raw_at || at - c->raw_at >= n)
			continue;
		size_t off = (size_t)(at - c->raw_at);
		if (reloc_bytes(r) > n - off)
			return err_set(e, ERR_FORMAT,
			    "the relocation at sector %" PRIu64 " is cut in two",
			    r->sector);
		if (reloc_apply(r, c->t->slice, data + off, n - off, e) != 0)
			return -1;
	}
	moved_apply(c->t, c->h, c->raw_at, data, n);
	return 0;
}

/* Of a short last sector only the valid bytes count; a new file ends there. */
static uint64_t
trim_short(const struct cursor *c, uint64_t sector, uint64_t bytes)
{
	for (unsigned i = 0; i < c->h->nrelocs; i++) {
		const struct ndz_reloc *r = &c->h->relocs[i];
		uint64_t last = sector + bytes / SECTOR_BYTES - 1;
		if (r->type != NDZ_RELOC_SHORT_SECTOR || r->sector != last ||
		    r->size >= SECTOR_BYTES)
			continue;
		c->t->short_end = last * SECTOR_BYTES + r->size;
		return bytes - SECTOR_BYTES + r->size;
	}
	return bytes;
}

/* Go on by up to n > 0 bytes that lie side by side on the disk: how many, and
 * where they begin. */
static uint64_t
advance(struct cursor *c, uint64_t n, uint64_t *sector)
{
	struct range r = c->h->regions[c->region];
	uint64_t left = r.len * SECTOR_BYTES - c->region_at;
	uint64_t now = n < left ? n : left;

	*sector = r.off + c->region_at / SECTOR_BYTES;
	c->region_at += now;
	c->raw_at += now;
	if (now == left) {
		c->region++;
		c->region_at = 0;
	}
	return now;
}

/* --skip-same without fragment digests: write what is not there. */
static int write_differing(
    struct target *, uint64_t sector, const void *data, uint64_t bytes, struct err *);

/* What is wanted of some bytes that lie side by side on the image's disk; p NULL: they
 * are zeros. */
static int
put_wanted(
    struct cursor *c, uint64_t sector, const uint8_t *p, uint64_t bytes, struct err *e)
{
	struct range only = c->t->only;
	struct range all = { sector, (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES };

	if (only.len == 0)
		return c->put(c->t, sector, p, bytes, e);
	struct range r = range_clip(all, only.off, range_end(only));
	if (r.len == 0)
		return 0;
	uint64_t skip = (r.off - sector) * SECTOR_BYTES, n = bytes - skip;
	if (n > r.len * SECTOR_BYTES)
		n = r.len * SECTOR_BYTES;
	/* The digest of a fragment that is cut says nothing about what is left of it.
	 */
	bool compare = n < bytes && p != NULL && c->t->cfg->skip_same &&
	               c->put == target_write;
	return (compare ? write_differing : c->put)(
	    c->t, r.off - only.off, p != NULL ? p + skip : NULL, n, e);
}

/* The next n bytes of the chunk's data; p NULL: they are zeros. */
static int
put_data(struct cursor *c, const uint8_t *p, uint64_t n, struct err *e)
{
	uint64_t now, sector;

	for (; n > 0; n -= now) {
		now = advance(c, n, &sector);
		uint64_t bytes = trim_short(c, sector, now);
		if ((c->tail == NULL ? put_wanted(c, sector, p, bytes, e)
				     : tail_divert(c->t, c->tail, c->put, sector, p,
					   bytes, e)) != 0)
			return -1;
		p = p != NULL ? p + now : NULL;
	}
	return 0;
}

static int
put_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct cursor *c = arg;

	if (relocate(c, data, n, e) != 0 || put_data(c, data, n, e) != 0)
		return -1;
	return target_land(c->t, e);
}

static int
note_same(
    struct target *t, uint64_t sector, const void *data, uint64_t bytes, struct err *e)
{
	(void)data;
	(void)e;
	target_note_same(t, sector, bytes);
	return 0;
}

static int
put_nothing(
    struct target *t, uint64_t sector, const void *data, uint64_t bytes, struct err *e)
{
	(void)t, (void)sector, (void)data, (void)bytes, (void)e;
	return 0;
}

/* What is there already: counted while writing, passed over while comparing. */
static int
put_same(struct cursor *c, uint64_t n, struct err *e)
{
	struct cursor same = *c;

	same.put = c->put == target_compare ? put_nothing : note_same;
	int rc = put_data(&same, NULL, n, e);
	same.put = c->put;
	*c = same;
	return rc;
}

/* Neighbouring fragments are written at once. */
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
		if (put_data(c, p, n, e) != 0 ||
		    (same ? put_same(c, f.raw_bytes, e)
			  : put_data(c, NULL, f.raw_bytes, e)) != 0)
			return -1;
		p += n + (f.entry->zero ? 0 : f.raw_bytes);
		n = 0;
	}
	return put_data(c, p, n, e);
}

static int
write_differing(
    struct target *t, uint64_t sector, const void *data, uint64_t bytes, struct err *e)
{
	uint8_t *got = malloc(COMPARE_BYTES);
	const uint8_t *p = data;
	int rc = got != NULL ? 0 : err_nomem(e, "a buffer to compare with");

	while (rc == 0 && bytes > 0) {
		size_t n = bytes < COMPARE_BYTES ? (size_t)bytes : COMPARE_BYTES;
		ssize_t had = target_read(t, sector, got, n, e);
		if (had < 0)
			rc = -1;
		else if ((size_t)had == n && memcmp(got, p, n) == 0)
			target_note_same(t, sector, n);
		else
			rc = target_write(t, sector, p, n, e);
		sector += n / SECTOR_BYTES;
		p += n;
		bytes -= n;
	}
	free(got);
	return rc;
}

/* How much of the next n bytes is wanted?  The cursor, a copy, is gone behind them. */
static uint64_t
count_wanted(struct cursor c, uint64_t n)
{
	uint64_t now, sector, wanted = 0;

	for (; n > 0; n -= now) {
		now = advance(&c, n, &sector);
		struct range r = { sector, now / SECTOR_BYTES };
		if (c.t->only.len != 0)
			r = range_clip(r, c.t->only.off, range_end(c.t->only));
		wanted += r.len * SECTOR_BYTES;
	}
	return wanted;
}

static void
pass_over(struct cursor *c, uint64_t n)
{
	uint64_t now, sector;

	for (; n > 0; n -= now)
		now = advance(c, n, &sector);
}

/* 1 the next n bytes of the disk, all wanted, are there, in buf; 0 it ends before; -1.
 */
static int
gather(struct cursor *c, uint8_t *buf, uint64_t n, struct err *e)
{
	uint64_t now, sector;
	bool whole = true;

	for (; n > 0; n -= now, buf += now) {
		now = advance(c, n, &sector);
		ssize_t had = target_read(c->t, sector - c->t->only.off, buf, now, e);
		if (had < 0)
			return -1;
		whole &= (uint64_t)had == now;
	}
	return whole;
}

static bool
all_zero(const uint8_t *p, uint64_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Is the run of n zeros there? */
static int
zeros_are_there(struct cursor *c, uint8_t *buf, uint64_t n, struct err *e)
{
	int same = 1;

	for (uint64_t now; n > 0; n -= now) {
		now = n < COMPARE_BYTES ? n : COMPARE_BYTES;
		int rc = gather(c, buf, now, e);
		if (rc < 0)
			return -1;
		same &= rc == 1 && all_zero(buf, now);
	}
	return same;
}

/* Fragments that were read from the disk and wait for their digests: two take little
 * longer than one. */
struct comparison {
	struct job *j;
	struct cursor at;
	uint8_t *buf[2];
	struct fragments read[2];
	unsigned n;
};

static void
compare_read(struct comparison *c)
{
	const void *data[2] = { c->buf[0], c->buf[1] };
	bool is[2];

	if (c->n == 2)
		fragments_are(c->read, data, is);
	else if (c->n == 1)
		is[0] = fragment_is(&c->read[0], data[0]);
	for (unsigned i = 0; i < c->n; i++)
		c->j->same[c->read[i].number] = is[i];
	c->n = 0;
}

static int
compare_fragment(struct comparison *c, const struct fragments *f, struct err *e)
{
	uint8_t *buf = c->buf[c->n];
	uint64_t wanted = count_wanted(c->at, f->raw_bytes);

	if (wanted < f->raw_bytes || !c->at.t->cfg->skip_same) {
		c->j->same[f->number] = wanted == 0;
		pass_over(&c->at, f->raw_bytes);
		return 0;
	}
	if (f->entry->zero) {
		int rc = zeros_are_there(&c->at, buf, f->raw_bytes, e);
		c->j->same[f->number] = rc == 1;
		return rc < 0 ? -1 : 0;
	}
	int rc = gather(&c->at, buf, f->raw_bytes, e);
	if (rc == 1)
		c->read[c->n++] = *f;
	if (c->n == 2)
		compare_read(c);
	return rc < 0 ? -1 : 0;
}

/* Which fragments need not be decoded: those that are not wanted, and with --skip-same
 * those that are on the disk already? */
static int
find_same(struct job *j, struct target *t, struct err *e)
{
	struct comparison c = { .j = j, .at = { .t = t, .h = &j->c.h } };
	struct fragments f = fragments_of(&j->c);
	int rc = 0;

	j->same = calloc(j->c.ext.nfragments, sizeof *j->same);
	c.buf[0] = malloc(2 * COMPARE_BYTES);
	if (j->same == NULL || c.buf[0] == NULL) {
		free(c.buf[0]);
		return err_nomem(e, "a buffer to compare with");
	}
	c.buf[1] = c.buf[0] + COMPARE_BYTES;
	while (rc == 0 && fragments_next(&f))
		rc = compare_fragment(&c, &f, e);
	if (rc == 0)
		compare_read(&c);
	free(c.buf[0]);
	return rc;
}

int
job_compare(const struct chunk *c, struct target *t, bool **same, struct err *e)
{
	struct job j = { .c = *c };
	int rc = find_same(&j, t, e);

	*same = j.same;
	return rc;
}

/* The header alone, where not all of the stream is here; what is decoded of it has a
 * digest of its own. */
static int
check_digest(const struct job *j, const struct install_config *cfg, struct err *e)
{
	const struct proof_config *proof = &cfg->proof;
	/* A proof covers every bit of the chunk, its digest among them. */
	bool proved = proof->verify_key != NULL || proof->decrypt != NULL;

	if (!j->partial)
		return proved || cfg->digests_checked
		           ? 0
		           : chunk_check_digest(&j->c, j->bytes, e);
	assert(j->how == JOB_PACKED && j->same != NULL);
	return chunk_header_proved(&j->c, j->bytes)
	           ? 0
	           : err_set(e, ERR_FORMAT, "the digest of the header is wrong");
}

static int
decode(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor all = { .t = t, .h = &j->c.h };

	switch (j->how) {
	case JOB_STREAMED:
		return chunk_pieces(&j->c, j->bytes, dec, NULL, NULL, e);
	case JOB_WHOLE:
		if (chunk_decode(&j->c, j->bytes, dec, j->raw, e) != 0)
			return -1;
		return relocate(&all, j->raw, j->c.raw_bytes, e);
	default:
		if (!t->cfg->skip_same && !j->apart)
			return chunk_decode_packed(&j->c, j->bytes, dec, j->raw, e);
		if (j->same == NULL && find_same(j, t, e) != 0)
			return -1;
		return chunk_decode_others(&j->c, j->bytes, dec, j->same, j->raw, e);
	}
}

/* A streamed chunk is only checked here; its bytes are needed once more.
 * Adler-32 knows nothing of the header: that is the digest's part. */
int
job_decode(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	if (check_digest(j, t->cfg, e) != 0 || decode(j, t, dec, e) != 0)
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
		return chunk_pieces(&j->c, j->bytes, dec, put_piece, c, e);
	default:
		return put_data(c, j->raw, j->c.raw_bytes, e);
	}
}

static struct cursor
cursor_of(const struct job *j, struct target *t, target_put_fn *put)
{
	return (struct cursor){ .t = t,
		.h = &j->c.h,
		.put = put,
		.tail = goes_elsewhere(&j->c, t) ? &j->c.ext.tail : NULL };
}

static int
free_gaps(struct job *j, struct target *t, struct err *e)
{
	const struct ndz_header *h = j->at;
	uint64_t from = h->firstsect;
	bool elsewhere = goes_elsewhere(&j->c, t);

	for (unsigned i = 0; i < h->nregions; i++) {
		if (cover_fill(t->cover, t, from, h->regions[i].off, &j->owes, e) != 0 ||
		    (elsewhere &&
			tail_free(t, &j->c.ext.tail, h->regions[i], e) != 0))
			return -1;
		from = range_end(h->regions[i]);
	}
	return cover_fill(t->cover, t, from, h->lastsect, &j->owes, e);
}

bool
job_overlaps(const struct job *a, const struct job *b)
{
	return a->c.h.firstsect < b->c.h.lastsect && b->c.h.firstsect < a->c.h.lastsect;
}

int
job_launch(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor c = cursor_of(j, t, target_write);

	if (t->cfg->skip_same && j->how != JOB_PACKED)
		c.put = write_differing;
	int rc = put_job(j, &c, dec, e);
	j->ticket = target_ticket(t);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", j->number);
}

static int
settle(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	struct cursor c = cursor_of(j, t, target_compare);

	if (target_land_upto(t, j->ticket, e) != 0 ||
	    (t->cfg->read_back && put_job(j, &c, dec, e) != 0))
		return -1;
	return free_gaps(j, t, e);
}

int
job_settle(struct job *j, struct target *t, struct decoder *dec, struct err *e)
{
	if (settle(j, t, dec, e) != 0)
		return err_ctx(e, "chunk %u", j->number);
	target_note_covered(t, j->at->firstsect, j->at->lastsect);
	return 0;
}
