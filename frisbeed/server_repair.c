#include "frisbeed/server_repair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUDGET = 12,       /* reports a second that we like to hear */
	CROWD_BUDGET = 40, /* ... with so many clients: */
	CROWD = 1000,
	FEW = 8,          /* fewer clients are heard out */
	UNASKED_MAX = 64, /* blocks for a group */
	EPOCH_US = 1000000,
};
static const double SHARE = 0.9, STEP_UP = 1, STEP_DOWN = 0.15, FAST_DOWN = 0.4,
		    LEARN_STEP = 6, EVENED = 0.5;

int
repair_init(struct repair *r, uint32_t nchunks, uint64_t now_us)
{
	memset(r, 0, sizeof *r);
	r->nchunks = nchunks;
	r->judged_us = now_us;
	r->budget = BUDGET;
	r->few = true;
	r->chunks = calloc(nchunks, sizeof *r->chunks);
	r->ring = calloc(nchunks, sizeof *r->ring);
	return r->chunks != NULL && r->ring != NULL ? 0 : -1;
}

void
repair_fini(struct repair *r)
{
	free(r->chunks);
	free(r->ring);
	memset(r, 0, sizeof *r);
}

static void
list(struct repair *r, uint32_t chunk, uint64_t at_us)
{
	if (r->chunks[chunk].listed)
		return;
	r->chunks[chunk].listed = true;
	assert(r->n < r->nchunks);
	r->ring[(r->head + r->n++) % r->nchunks] = (struct repair_due){ chunk, at_us };
}

/* Before all others. */
static void
list_first(struct repair *r, uint32_t chunk, uint64_t at_us)
{
	if (r->chunks[chunk].listed)
		return;
	r->chunks[chunk].listed = true;
	assert(r->n < r->nchunks);
	r->n++;
	r->head = (r->head + r->nchunks - 1) % r->nchunks;
	r->ring[r->head] = (struct repair_due){ chunk, at_us };
}

void
repair_report(struct repair *r, uint32_t chunk, const uint8_t lack[WIREXT_GROUPS],
    uint64_t now_us, uint64_t window_us)
{
	struct repair_chunk *k = &r->chunks[chunk];
	bool any = false;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		unsigned more = lack[g] > k->coming[g] ? lack[g] - k->coming[g] : 0;
		if (more > WIREXT_PARITY_MAX)
			more = WIREXT_PARITY_MAX;
		if (k->want[g] < more)
			k->want[g] = (uint8_t)more;
		any |= more > 0;
	}
	k->reported |= any && !k->waiting;
	if (any)
		list(r, chunk, now_us + window_us);
}

void
repair_count_message(struct repair *r)
{
	r->reports++;
}

/* Once a second: more unasked parity when we hear too much, less when little. */
static double
budget(uint32_t clients)
{
	return clients >= CROWD ? CROWD_BUDGET : BUDGET;
}

static void
judge(struct repair *r, uint64_t now_us, uint32_t clients)
{
	r->budget = budget(clients);
	r->few = clients < FEW;
	if (now_us - r->judged_us < EPOCH_US)
		return;
	double rate = r->reports * 1e6 / (double)(now_us - r->judged_us);
	double more = 0.3 * rate / r->budget;
	if (rate > r->budget)
		r->unasked += more < STEP_UP ? more : STEP_UP;
	else if (rate < 0.7 * r->budget)
		r->unasked -= rate < 0.4 * r->budget ? FAST_DOWN : STEP_DOWN;
	if (r->unasked < 0 || clients < FEW)
		r->unasked = 0;
	if (r->unasked > UNASKED_MAX)
		r->unasked = UNASKED_MAX;
	r->reports = 0;
	r->judged_us = now_us;
}

void
repair_add_unasked(struct repair *r, uint32_t chunk, uint64_t now_us, uint32_t clients)
{
	struct repair_chunk *k = &r->chunks[chunk];

	judge(r, now_us, clients);
	/* A fraction is a block more for some of the groups. */
	r->carry += r->unasked * WIREXT_GROUPS;
	unsigned blocks = (unsigned)r->carry;
	r->carry -= blocks;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		unsigned n = blocks / WIREXT_GROUPS +
		             ((g + chunk) % WIREXT_GROUPS < blocks % WIREXT_GROUPS);
		if (k->want[g] < n)
			k->want[g] = (uint8_t)n;
	}
	k->unasked = (uint8_t)(r->unasked + 0.5);
	k->waiting = blocks > 0;
	/* Right behind its data: who hears another chunk's parity first would report.
	 */
	if (blocks > 0)
		list_first(r, chunk, now_us);
}

/* When we hear too much: what would have sufficed for this chunk, for the most part. */
static void
learn(struct repair *r, const struct repair_chunk *k)
{
	double sum = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		sum += k->want[g];
	double enough = k->unasked + SHARE * sum / WIREXT_GROUPS;
	/* One client that lost much is not all of them. */
	if (enough > r->unasked + LEARN_STEP)
		enough = r->unasked + LEARN_STEP;
	if (r->reports > r->budget && k->reported && !r->few && r->unasked < enough)
		r->unasked = enough < UNASKED_MAX ? enough : UNASKED_MAX;
}

void
repair_even_out(struct repair *r)
{
	r->unasked *= EVENED;
}

bool
repair_next(
    struct repair *r, uint64_t now_us, uint32_t *chunk, uint8_t count[WIREXT_GROUPS])
{
	if (repair_due_us(r) > now_us)
		return false;
	*chunk = r->ring[r->head].chunk;
	r->head = (r->head + 1) % r->nchunks;
	r->n--;
	struct repair_chunk *k = &r->chunks[*chunk];
	k->listed = false;
	learn(r, k);
	k->reported = k->waiting = false;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		unsigned room = UINT8_MAX - k->coming[g];
		count[g] = k->want[g] < room ? k->want[g] : (uint8_t)room;
		k->coming[g] = (uint8_t)(k->coming[g] + count[g]);
		k->want[g] = 0;
	}
	return true;
}

uint64_t
repair_due_us(const struct repair *r)
{
	return r->n > 0 ? r->ring[r->head].at_us : UINT64_MAX;
}

uint8_t
repair_sent(struct repair *r, uint32_t chunk, uint32_t group)
{
	struct repair_chunk *k = &r->chunks[chunk];
	uint8_t index = k->next[group];

	assert(k->coming[group] > 0);
	k->coming[group]--;
	k->next[group] = (uint8_t)((index + 1) % WIREXT_PARITY_MAX);
	return index;
}

bool
repair_busy(const struct repair *r, uint32_t chunk)
{
	const struct repair_chunk *k = &r->chunks[chunk];

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		if (k->want[g] != 0 || k->coming[g] != 0)
			return true;
	return false;
}
