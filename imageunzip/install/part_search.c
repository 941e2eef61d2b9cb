/* part_search.c: chooses the chunks that frisbee asks the server for (--only, --fit): what a
 * chunk holds is known only when the chunk has come. install_only.c calls this in the sink's
 * thread, with each chunk that came, before the chunk is fed.
 *
 * Chunk 0 is asked for first, then the last one, which has the list of lost sectors, and
 * those with the tables of logical partitions; nothing is installed before all partitions
 * are known. Then each partition has its search (chunk_search.h), perhaps several searches, one
 * after the other (enum part_phase), so a chunk that came before can be needed once more.
 * With --fit, chunk 0 and those with the table are asked for until there is a plan, and then
 * all chunks.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/image/read/imgtable.h"
#include "imageunzip/install/chunk_search.h"
#include "imageunzip/install/install_impl.h"

/* The purpose of the chunks that are asked for. */
enum part_phase {
	PART_WAITS, /* to find out where the partitions are */
	PART_TAIL,  /* to show that nothing is stored behind a smaller target */
	PART_HEAD,  /* to begin the partition before its other chunks */
	PART_ALL,   /* to install them */
};

/* The search for one partition. */
struct part {
	struct place *place;
	enum part_phase phase;
	struct chunk_search find;
	uint8_t *done; /* a bit for each chunk that has served the phase */
	bool takes;    /* it takes the chunk that was learned from last */
};

struct part_search {
	uint32_t nchunks;
	struct range *spans; /* sectors of each chunk; len 0: not known */
	uint8_t *asked;      /* a bit for each chunk that is to come */
	bool finding;        /* `find` looks for `sector` of the table */
	struct chunk_search find;
	uint64_t sector;
	uint32_t *wants; /* given out by install_wants(), the last first */
	size_t nwants, wants_cap;
	struct part part[ONLY_MAX]; /* one for each place */
};

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

static void
search_free(struct part_search *x)
{
	free(x->spans);
	free(x->asked);
	free(x->wants);
	for (unsigned i = 0; i < ONLY_MAX; i++)
		free(x->part[i].done);
	free(x);
}

int
install_search(struct install *in, uint32_t nchunks, struct err *e)
{
	struct part_search *x = calloc(1, sizeof *x);
	size_t bytes = nchunks / 8 + 1;
	bool ok = x != NULL;

	if (ok) {
		x->nchunks = nchunks;
		x->spans = calloc(nchunks, sizeof *x->spans);
		x->asked = calloc(bytes, 1);
		ok = x->spans != NULL && x->asked != NULL;
	}
	for (unsigned i = 0; ok && i < in->n; i++) {
		x->part[i] = (struct part){ .place = &in->place[i], .done = calloc(bytes, 1) };
		ok = x->part[i].done != NULL;
	}
	in->search = x;
	return ok ? 0 : err_nomem(e, "the search for the partitions");
}

void
part_search_free(struct install *in)
{
	if (in->search != NULL)
		search_free(in->search);
	in->search = NULL;
}

bool
part_takes(const struct place *p)
{
	return p->in->search->part[p - p->in->place].takes;
}

bool
install_wants(struct install *in, uint32_t *chunk)
{
	struct part_search *x = in->search;

	if (x->nwants == 0)
		return false;
	*chunk = x->wants[--x->nwants];
	return true;
}

/* Ask for a chunk, unless it is on its way. */
static int
want(struct part_search *x, uint32_t chunk, struct err *e)
{
	if (has_bit(x->asked, chunk))
		return 0;
	if (grow_array(&x->wants, &x->wants_cap, x->nwants, sizeof *x->wants,
		"the search for the partitions", e) != 0)
		return -1;
	x->wants[x->nwants++] = chunk;
	set_bit(x->asked, chunk);
	return 0;
}

/* Begin a search, and note the sectors of all chunks that came so far. */
static void
begin(const struct part_search *x, struct chunk_search *s, struct range sectors)
{
	chunk_search_begin(s, x->nchunks, sectors);
	for (uint32_t i = 0; i < x->nchunks; i++)
		if (x->spans[i].len != 0)
			chunk_search_note(s, i, x->spans[i]);
}

static int
want_probes(struct part_search *x, const struct chunk_search *s, struct err *e)
{
	uint32_t probes[CHUNK_SEARCH_PROBES];
	unsigned n = chunk_search_probe(s, probes);

	for (unsigned i = 0; i < n; i++)
		if (want(x, probes[i], e) != 0)
			return -1;
	return 0;
}

/* Ask for the chunk with the next sector of the partition table that is needed. */
static int
find_table(struct install *in, struct err *e)
{
	struct part_search *x = in->search;
	uint64_t sector;
	uint32_t chunk;

	while (install_lacks(in, &sector)) {
		if (!x->finding || x->sector != sector)
			begin(x, &x->find, (struct range){ sector, 1 });
		x->finding = true;
		x->sector = sector;
		if (!chunk_search_is_empty(&x->find))
			return chunk_search_next(&x->find, &chunk)
			           ? want(x, chunk, e)
			           : want_probes(x, &x->find, e);
		if (install_cannot(in, sector, e) != 0)
			return -1;
	}
	return 0;
}

static void
enter(const struct part_search *x, struct part *p, enum part_phase phase)
{
	struct range s = p->place->target.only;

	if (phase == PART_TAIL)
		s = range_clip(s, s.off + p->place->target.room, range_end(s));
	else if (phase == PART_HEAD)
		s.len = 1;
	p->phase = phase;
	memset(p->done, 0, x->nchunks / 8 + 1);
	begin(x, &p->find, s);
}

/* Is the target's partition shorter than the image's? */
static bool
is_shorter(const struct part *p)
{
	return p->place->target.room < p->place->target.only.len;
}

/* The first phase that installs. The beginning of the partition comes first when a state
 * is used, because the first chunk that is fed shows whether the state belongs to this
 * image; and when free space is filled, because it must be known that the image has the
 * partition; and when the filesystem may be longer than the target. */
static enum part_phase
first_phase(const struct part *p)
{
	const struct install *in = p->place->in;
	const struct install_config *c = &in->cfg;
	bool looked_at = is_shorter(p) && in->first.reach == NULL;

	return looked_at || c->state != NULL || c->zero || c->has_pattern || c->discard
	           ? PART_HEAD
	           : PART_ALL;
}

/* Enter the first phase of a partition, when all partitions are known. */
static void
start(const struct part_search *x, struct part *p)
{
	enter(x, p, is_shorter(p) ? PART_TAIL : first_phase(p));
}

/* Is the chunk on the target already? A state on the target does not count here, because
 * it may turn out to belong to another image. */
static bool
is_there(const struct part *p, uint32_t chunk)
{
	return p->phase == PART_ALL && !p->place->resume.in_target &&
	       resume_has(&p->place->resume, chunk);
}

/* Ask for the next chunks of the present phase; *idle: there are none to ask for or to
 * wait for. */
static int
want_some(struct part_search *x, struct part *p, bool *idle, struct err *e)
{
	uint32_t chunk, probes[CHUNK_SEARCH_PROBES];

	while (chunk_search_next(&p->find, &chunk))
		if (!has_bit(p->done, chunk) && !is_there(p, chunk) &&
		    want(x, chunk, e) != 0)
			return -1;
	*idle = chunk_search_probe(&p->find, probes) == 0;
	for (uint64_t i = p->find.from; i != 0 && i < p->find.to; i++)
		*idle &= has_bit(p->done, (uint32_t)(i - 1));
	return want_probes(x, &p->find, e);
}

/* Go through the phases of a partition until there is a chunk to wait for. */
static int
want_of_part(struct part_search *x, struct part *p, struct err *e)
{
	bool idle = true;

	while (idle) {
		if (want_some(x, p, &idle, e) != 0)
			return -1;
		if (p->phase == PART_ALL)
			return 0;
		if (idle)
			enter(x, p, p->phase == PART_TAIL ? first_phase(p) : PART_ALL);
	}
	return 0;
}

/* Note what a chunk that came does for the present phase of a partition. */
static int
use(struct part_search *x, struct part *p, uint32_t number, const struct ndz_header *h,
    struct err *e)
{
	p->takes = false;
	if (p->phase == PART_WAITS)
		return 0;
	chunk_search_note(&p->find, number, x->spans[number]);
	if (only_fits(p->place, only_stored_end(h, p->place->target.only), e) != 0)
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

/* The plan is made: ask for all chunks but this one, which is fed at once.  The last that is
 * noted is given out first. */
static int
want_all(struct install *in, uint32_t but, struct err *e)
{
	struct part_search *x = in->search;

	for (uint32_t i = x->nchunks; i-- > 0;)
		if (i != but && (i == 0 || !install_has(in, i)) && want(x, i, e) != 0)
			return -1;
	return 0;
}

int
part_search_learn(
    struct install *in, uint32_t number, const struct ndz_header *h, struct err *e)
{
	struct part_search *x = in->search;

	if (number >= x->nchunks)
		return err_set(
		    e, ERR_FORMAT, "chunk %u is behind the last one", number);
	x->spans[number] = (struct range){ h->firstsect, h->lastsect - h->firstsect };
	clear_bit(x->asked, number);
	if (install_is_only(in) && number == 0 && x->nchunks > 1 &&
	    want(x, x->nchunks - 1, e) != 0)
		return -1;
	if (x->finding)
		chunk_search_note(&x->find, number, x->spans[number]);
	if (find_table(in, e) != 0)
		return -1;
	if (install_fits(in) && install_plan(in) != NULL)
		return want_all(in, number, e);
	for (unsigned i = 0; in->known && i < in->n; i++) {
		struct part *p = &x->part[i];
		if (p->phase == PART_WAITS)
			start(x, p);
		if (use(x, p, number, h, e) != 0 || want_of_part(x, p, e) != 0)
			return -1;
	}
	return 0;
}
