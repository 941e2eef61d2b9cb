/* parts_search.c: chooses the chunks that frisbee asks the server for (--only): what a
 * chunk holds is known only when the chunk has come. parts.c calls this in the sink's
 * thread, with each chunk that came, before the chunk is fed.
 *
 * Chunk 0 is asked for first, then the last one, which has the list of lost sectors, and
 * those with the tables of logical partitions; nothing is installed before all partitions
 * are known. Then each partition has its search (search.h), perhaps several searches, one
 * after the other (enum part_phase), so a chunk that came before can be needed once more.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/parts_impl.h"

static bool
has_bit(const uint8_t *bits, uint32_t i)
{
	return (bits[i / 8] >> i % 8 & 1) != 0;
}

static void
set_bit(uint8_t *bits, uint32_t i)
{
	bits[i / 8] |= (uint8_t)(1 << i % 8);
}

static void
clear_bit(uint8_t *bits, uint32_t i)
{
	bits[i / 8] &= (uint8_t)~(1 << i % 8);
}

int
parts_search_new(struct parts *x, struct err *e)
{
	size_t bytes = x->nchunks / 8 + 1;
	bool ok = true;

	x->spans = calloc(x->nchunks, sizeof *x->spans);
	x->asked = calloc(bytes, 1);
	for (unsigned i = 0; i < x->n; i++) {
		x->part[i].done = calloc(bytes, 1);
		ok &= x->part[i].done != NULL;
	}
	return ok && x->spans != NULL && x->asked != NULL
		   ? 0
		   : err_nomem(e, "the search for the partitions");
}

void
parts_search_free(struct parts *x)
{
	free(x->spans);
	free(x->asked);
	free(x->wants);
	for (unsigned i = 0; i < x->n; i++)
		free(x->part[i].done);
}

/* Ask for a chunk, unless it is on its way. */
static int
want(struct parts *x, uint32_t chunk, struct err *e)
{
	if (has_bit(x->asked, chunk))
		return 0;
	if (grow(&x->wants, &x->wants_cap, x->nwants, sizeof *x->wants,
		"the search for the partitions", e) != 0)
		return -1;
	x->wants[x->nwants++] = chunk;
	set_bit(x->asked, chunk);
	return 0;
}

/* Begin a search, and note the sectors of all chunks that came so far. */
static void
begin(const struct parts *x, struct search *s, struct range sectors)
{
	search_begin(s, x->nchunks, sectors);
	for (uint32_t i = 0; i < x->nchunks; i++)
		if (x->spans[i].len != 0)
			search_note(s, i, x->spans[i]);
}

static int
want_probes(struct parts *x, const struct search *s, struct err *e)
{
	uint32_t probes[SEARCH_PROBES];
	unsigned n = search_probe(s, probes);

	for (unsigned i = 0; i < n; i++)
		if (want(x, probes[i], e) != 0)
			return -1;
	return 0;
}

/* Ask for the chunk with the next sector of the partition table that is needed. */
static int
find_table(struct parts *x, struct err *e)
{
	uint64_t sector;
	uint32_t chunk;

	while (!x->known && imgtable_needs(x->table, &sector)) {
		if (!x->finding || x->sector != sector)
			begin(x, &x->find, (struct range){ sector, 1 });
		x->finding = true;
		x->sector = sector;
		if (!search_is_empty(&x->find))
			return search_next(&x->find, &chunk)
				   ? want(x, chunk, e)
				   : want_probes(x, &x->find, e);
		if (imgtable_cannot(x->table, sector, e) != 0 ||
		    parts_settle(x, e) != 0)
			return -1;
	}
	return 0;
}

static void
enter(const struct parts *x, struct part *p, enum part_phase phase)
{
	struct range s = p->sectors;

	if (phase == PART_TAIL)
		s = range_clip(s, s.off + p->room, range_end(s));
	else if (phase == PART_HEAD)
		s.len = 1;
	p->phase = phase;
	memset(p->done, 0, x->nchunks / 8 + 1);
	begin(x, &p->find, s);
}

/* The first phase that installs. The beginning of the partition comes first when a state
 * is used, because the first chunk that is fed shows whether the state belongs to this
 * image; and when free space is filled, because it must be known that the image has the
 * partition; and when the filesystem may be longer than the target. */
static enum part_phase
first_phase(const struct parts *x, const struct part *p)
{
	const struct install_config *c = &x->cfg;
	bool looked_at = p->room < p->sectors.len && x->first.reach == NULL;

	return looked_at || c->state != NULL || c->zero || c->has_pattern || c->discard
	           ? PART_HEAD
	           : PART_ALL;
}

/* Enter the first phase of a partition, when all partitions are known. */
static void
start(const struct parts *x, struct part *p)
{
	enter(x, p, p->room < p->sectors.len ? PART_TAIL : first_phase(x, p));
}

/* Is the chunk on the target already? A state on the target does not count here, because
 * it may turn out to belong to another image. */
static bool
is_there(const struct parts *x, const struct part *p, uint32_t chunk)
{
	return p->phase == PART_ALL && x->cfg.state != NULL &&
	       strcmp(x->cfg.state, "target") != 0 && install_has(p->in, chunk);
}

/* Ask for the next chunks of the present phase; *idle: there are none to ask for or to
 * wait for. */
static int
want_some(struct parts *x, struct part *p, bool *idle, struct err *e)
{
	uint32_t chunk, probes[SEARCH_PROBES];

	while (search_next(&p->find, &chunk))
		if (!has_bit(p->done, chunk) && !is_there(x, p, chunk) &&
		    want(x, chunk, e) != 0)
			return -1;
	*idle = search_probe(&p->find, probes) == 0;
	for (uint64_t i = p->find.from; i != 0 && i < p->find.to; i++)
		*idle &= has_bit(p->done, (uint32_t)(i - 1));
	return want_probes(x, &p->find, e);
}

/* Go through the phases of a partition until there is a chunk to wait for. */
static int
want_of_part(struct parts *x, struct part *p, struct err *e)
{
	bool idle = true;

	while (idle) {
		if (want_some(x, p, &idle, e) != 0)
			return -1;
		if (p->phase == PART_ALL)
			return 0;
		if (idle)
			enter(x, p, p->phase == PART_TAIL ? first_phase(x, p)
			                             : PART_ALL);
	}
	return 0;
}

/* Note what a chunk that came does for the present phase of a partition. */
static int
use(struct parts *x, struct part *p, uint32_t number, const struct ndz_header *h,
    struct err *e)
{
	p->takes = false;
	if (p->phase == PART_WAITS)
		return 0;
	search_note(&p->find, number, x->spans[number]);
	if (install_only_fits(p->in, only_stored_end(h, p->sectors), e) != 0)
		return -1;
	if (!only_touches(h, p->find.want) || has_bit(p->done, number))
		return 0;
	p->takes = p->phase != PART_TAIL;
	/* This chunk is fed at once, so all others may follow it. */
	if (p->phase == PART_HEAD)
		enter(x, p, PART_ALL);
	set_bit(p->done, number);
	return 0;
}

int
parts_search_learn(
    struct parts *x, uint32_t number, const struct ndz_header *h, struct err *e)
{
	if (number >= x->nchunks)
		return err_set(
		    e, ERR_FORMAT, "chunk %u is behind the last one", number);
	x->spans[number] = (struct range){ h->firstsect, h->lastsect - h->firstsect };
	clear_bit(x->asked, number);
	if (number == 0 && x->nchunks > 1 && want(x, x->nchunks - 1, e) != 0)
		return -1;
	if (x->finding)
		search_note(&x->find, number, x->spans[number]);
	if (find_table(x, e) != 0)
		return -1;
	for (unsigned i = 0; x->known && i < x->n; i++) {
		struct part *p = &x->part[i];
		if (p->phase == PART_WAITS)
			start(x, p);
		if (use(x, p, number, h, e) != 0 || want_of_part(x, p, e) != 0)
			return -1;
	}
	return 0;
}
