#include "frisbeed/server/server_repair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUDGET = 12,       /* reports a second that we like to hear */
	CROWD_BUDGET = 40, /* ... with so many clients: */
	CROWD = 1000,
	FEW = 8,          /* fewer clients are heard out */
	UNASKED_MAX = 64, /* blocks for a group */
	USUAL_SHARE = 8,
	USUAL_FORGET = 64,
	LATE_AT_ONCE = 32, /* blocks for a group */
	USUAL_SMOOTH = 4, /* reports */
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
	r->late_ring = calloc(nchunks, sizeof *r->late_ring);
	return r->chunks != NULL && r->ring != NULL && r->late_ring != NULL ? 0 : -1;
}

void
repair_fini(struct repair *r)
{
	free(r->chunks);
	free(r->ring);
	free(r->late_ring);
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

static void
list_late(struct repair *r, uint32_t chunk)
{
	if (r->chunks[chunk].listed_late)
		return;
	r->chunks[chunk].listed_late = true;
	assert(r->nlate < r->nchunks);
	r->late_ring[(r->late_head + r->nlate++) % r->nchunks] = chunk;
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

/* How many more of each group than others have asked for already; the sum. */
static uint32_t
count_more(const struct repair_chunk *k, const uint8_t lack[WIREXT_GROUPS],
    uint8_t more[WIREXT_GROUPS])
{
	uint32_t sum = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		unsigned known = k->coming[g] + (unsigned)k->want[g];
		unsigned all = lack[g] < WIREXT_PARITY_MAX ? lack[g]
		                                           : WIREXT_PARITY_MAX;
		more[g] = (uint8_t)(all > known ? all - known : 0);
		sum += more[g];
	}
	return sum;
}

/* So many of a group are wanted now, so many more may be late. */
static bool
add(struct repair_chunk *k, unsigned g, uint32_t now, uint32_t late)
{
	k->want[g] = (uint8_t)(k->want[g] + now);
	k->late[g] = (uint8_t)(k->late[g] > now ? k->late[g] - now : 0);
	if (k->late[g] < late)
		k->late[g] = (uint8_t)late;
	return k->late[g] > 0;
}

/* What they report lacks who ask for far less than they may; it is forgotten slowly, as
 * those who ask for more go on. */
static void
note_usual(
    struct repair *r, const uint8_t lack[WIREXT_GROUPS], uint32_t sum, uint32_t most)
{
	uint8_t worst = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		worst = lack[g] > worst ? lack[g] : worst;
	if (sum > most)
		r->usual -= r->usual / USUAL_FORGET;
	else if (sum <= most / USUAL_SHARE)
		r->usual += (worst - r->usual) / USUAL_SMOOTH;
}

uint32_t
repair_report(struct repair *r, uint32_t chunk, const uint8_t lack[WIREXT_GROUPS],
    uint32_t most, uint64_t now_us, uint64_t window_us)
{
	struct repair_chunk *k = &r->chunks[chunk];
	uint8_t more[WIREXT_GROUPS];
	uint32_t sum = count_more(k, lack, more), given = 0;
	bool any = false, late = false;

	note_usual(r, lack, sum, most);
	uint32_t least = sum <= most || k->usual ? 0 : (uint32_t)(r->usual + 0.5);
	k->usual |= sum > most;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		uint32_t n = sum <= most ? more[g] : more[g] * most / sum;
		given += n;
		if (n < least)
			n = more[g] < least ? more[g] : least;
		late |= add(k, g, n, more[g] - n);
		any |= k->want[g] > 0;
	}
	if (late)
		list_late(r, chunk);
	k->reported |= any && !k->waiting;
	if (any)
		list(r, chunk, now_us + window_us);
	return given;
}

void
repair_pass(struct repair *r, uint32_t chunk)
{
	struct repair_chunk *k = &r->chunks[chunk];

	k->usual = k->begun_late = false;
	memset(k->late, 0, sizeof k->late);
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

/* How many of a group go at once: what is not late waits for them.  First a little of
 * each chunk, which may be all that some need. */
static uint8_t
take_late(const struct repair *r, struct repair_chunk *k, unsigned g)
{
	unsigned room = UINT8_MAX - k->coming[g];
	unsigned most = k->begun_late ? LATE_AT_ONCE : (unsigned)r->usual + 2;
	unsigned n = k->late[g] < most ? k->late[g] : most;

	n = n < room ? n : room;
	k->late[g] = (uint8_t)(k->late[g] - n);
	k->coming[g] = (uint8_t)(k->coming[g] + n);
	return (uint8_t)n;
}

bool
repair_next_late(struct repair *r, uint32_t *chunk, uint8_t count[WIREXT_GROUPS])
{
	while (r->nlate > 0) {
		uint32_t sum = 0, rest = 0, at = r->late_ring[r->late_head];
		struct repair_chunk *k = &r->chunks[at];
		for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
			sum += count[g] = take_late(r, k, g);
			rest += k->late[g];
		}
		k->begun_late = true;
		k->listed_late = false;
		r->late_head = (r->late_head + 1) % r->nchunks;
		r->nlate--;
		/* Behind the others: some need only a little of each. */
		if (rest > 0)
			list_late(r, at);
		*chunk = at;
		if (sum > 0)
			return true;
		if (rest > 0)
			return false; /* what is coming is too much already */
	}
	return false;
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
