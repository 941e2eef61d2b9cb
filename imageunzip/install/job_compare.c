/* job_compare.c: finds the parts of a chunk that are on the target already (--skip-same),
 * so that they are neither decoded nor written. job.c calls this in the threads of the
 * decoders and of the writer, and frisbee before a chunk has arrived. */
#include "imageunzip/install/job_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"

/* How many of the next n bytes are wanted? The cursor is a copy, so the caller's does not
 * move. */
static uint64_t
count_wanted(struct cursor c, uint64_t n)
{
	uint64_t now, sector, wanted = 0;

	for (; n > 0; n -= now) {
		now = cursor_advance(&c, n, &sector);
		struct range r = { sector, now / SECTOR_BYTES };
		for (uint64_t to, run; r.len > 0; r = (struct range){ r.off + run, r.len - run }) {
			run = maps_run(c.maps, r, &to);
			wanted += to != MAPS_NOWHERE ? run * SECTOR_BYTES : 0;
		}
	}
	return wanted;
}

/* Move the cursor over n bytes. */
static void
pass_over(struct cursor *c, uint64_t n)
{
	uint64_t now, sector;

	for (; n > 0; n -= now)
		now = cursor_advance(c, n, &sector);
}

/* Read what the disk has in the place of the next n bytes, all of which are wanted, into
 * buf: 1; 0: the disk ends before; -1. */
static int
gather(struct cursor *c, uint8_t *buf, uint64_t n, struct err *e)
{
	uint64_t now, sector, to;
	bool whole = true;

	for (; n > 0; n -= now, buf += now) {
		now = cursor_advance(c, n, &sector);
		maps_run(c->maps, (struct range){ sector, 1 }, &to);
		ssize_t had = target_read(c->t, to, buf, now, e);
		if (had < 0)
			return -1;
		whole &= (uint64_t)had == now;
	}
	return whole;
}

/* Does the disk have the run of n zeros already? */
static int
zeros_are_there(struct cursor *c, uint8_t *buf, uint64_t n, struct err *e)
{
	int same = 1;

	for (uint64_t now; n > 0; n -= now) {
		now = n < COMPARE_BYTES ? n : COMPARE_BYTES;
		int rc = gather(c, buf, now, e);
		if (rc < 0)
			return -1;
		same &= rc == 1 && is_zero(buf, now);
	}
	return same;
}

/* Fragments that were read from the disk and wait for their digests, which are computed
 * in pairs: two take little longer than one. */
struct comparison {
	struct job *j;
	bool all; /* compare what is wanted; or only find what is not wanted */
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

	if (wanted < f->raw_bytes || !c->all) {
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

static int
find_same(struct job *j, struct target *t, bool all, struct err *e)
{
	struct comparison c = { .j = j, .all = all, .at = cursor_of(&j->c, t, NULL) };
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

/* Find the fragments that need not be decoded: those that are not wanted, and with
 * --skip-same those that are on the disk already. */
int
job_find_same(struct job *j, struct target *t, struct err *e)
{
	return find_same(j, t, t->cfg->skip_same, e);
}

int
job_is_there(const struct chunk *c, struct target *t, struct err *e)
{
	struct job j = { .c = *c };
	bool there = true;

	if (!job_can_skip(c, t, SIZE_MAX))
		return 0;
	int rc = find_same(&j, t, true, e);
	for (size_t i = 0; rc == 0 && i < c->ext.nfragments; i++)
		there &= j.same[i];
	free(j.same);
	return rc == 0 ? there : -1;
}

int
job_compare(const struct chunk *c, struct target *t, bool **same, struct err *e)
{
	struct job j = { .c = *c };
	int rc = job_find_same(&j, t, e);

	*same = j.same;
	return rc;
}

int
job_write_differing(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
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
			rc = target_note_same(t, sector, n, parts, e);
		else
			rc = target_write(t, sector, p, n, parts, e);
		sector += n / SECTOR_BYTES;
		p += n;
		bytes -= n;
	}
	free(got);
	return rc;
}
