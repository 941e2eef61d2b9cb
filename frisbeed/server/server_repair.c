/* server_repair.c: how many parity blocks the groups of each chunk still need.  The
 * server's engine passes the NACKs, and asks when it may send parity, in its only
 * thread. */
#include "frisbeed/server/server_repair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Most of the numbers were found by simulation (docs/simulator.md). */
const struct repair_policy repair_usual = {
	/* The aim is 20 control messages a second with 80 clients, and 100 with 10,000;
	 * these numbers include joins and other messages. */
	.budget = 12,
	.crowd_budget = 40,
	.crowd = 1000,
	/* With fewer than eight clients, NACKs stay below the budget anyway. */
	.few = 8,
	/* Proactive parity rises quickly, because each second above the budget is a
	 * flood of NACKs, and falls slowly, because it is right most of the time; it
	 * falls faster when there are hardly any NACKs. */
	.gain = 0.3,
	.step_up = 1,
	.low = 0.7,
	.step_down = 0.15,
	.very_low = 0.4,
	.fast_down = 0.4,
	/* While there are more NACKs than the budget, each chunk shows what would have
	 * sufficed: nine tenths of what it lacked, because only few clients need the
	 * last tenth.  At most six blocks are added at a time, because a client that
	 * lost much may be the only one. */
	.share = 0.9,
	.learn_step = 6,
	.most = 64,
	.evened = 0.5,
	/* What chunks usually lack is averaged over four NACKs that ask for less than
	 * an eighth of what they may, and forgotten over 64 others. */
	.usual_share = 8,
	.usual_smooth = 4,
	.usual_forget = 64,
	/* Late parity is sent in small parts, because everything else waits for each
	   part. */
	.late_at_once = 32,
};

enum { EPOCH_US = 1000000 }; /* NACKs are counted per second, as in the budget */

int
repair_init(struct repair *r, uint32_t nchunks, uint64_t now_us,
    const struct repair_policy *policy)
{
	memset(r, 0, sizeof *r);
	r->policy = policy;
	r->nchunks = nchunks;
	r->judged_us = now_us;
	r->budget = r->policy->budget;
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
list(struct repair *r, uint32_t chunk, uint64_t now_us)
{
	if (r->chunks[chunk].listed)
		return;
	r->chunks[chunk].listed = true;
	assert(r->n < r->nchunks);
	r->ring[(r->head + r->n++) % r->nchunks] =
	    (struct repair_due){ .chunk = chunk, .waits = true, .since_us = now_us };
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

/* List the chunk in front of all others, for now. */
static void
list_first(struct repair *r, uint32_t chunk, uint64_t now_us)
{
	if (r->chunks[chunk].listed)
		return;
	r->chunks[chunk].listed = true;
	assert(r->n < r->nchunks);
	r->n++;
	r->head = (r->head + r->nchunks - 1) % r->nchunks;
	r->ring[r->head] = (struct repair_due){ .chunk = chunk, .since_us = now_us };
}

/* For each group, how many parity blocks are lacking beyond those that are wanted or
 * scheduled already.  Returns the sum. */
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

/* Add parity blocks of a group: `now` are wanted now, and `late` may come late. Returns
 * whether any may come late. */
static bool
add(struct repair_chunk *k, unsigned g, uint32_t now, uint32_t late)
{
	k->want[g] = (uint8_t)(k->want[g] + now);
	k->late[g] = (uint8_t)(k->late[g] > now ? k->late[g] - now : 0);
	if (k->late[g] < late)
		k->late[g] = (uint8_t)late;
	return k->late[g] > 0;
}

/* Learn what chunks usually lack, from NACKs that ask for far less than they may;
 * forget it slowly while other NACKs ask for more. */
static void
note_usual(
    struct repair *r, const uint8_t lack[WIREXT_GROUPS], uint32_t sum, uint32_t most)
{
	uint8_t worst = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		worst = lack[g] > worst ? lack[g] : worst;
	if (sum > most)
		r->usual -= r->usual / r->policy->usual_forget;
	else if (sum <= most / r->policy->usual_share)
		r->usual += (worst - r->usual) / r->policy->usual_smooth;
}

uint32_t
repair_report(struct repair *r, uint32_t chunk, const uint8_t lack[WIREXT_GROUPS],
    uint32_t most, uint64_t now_us)
{
	struct repair_chunk *k = &r->chunks[chunk];
	uint8_t more[WIREXT_GROUPS];
	uint32_t sum = count_more(k, lack, more), added = 0;
	bool any = false, late = false;

	note_usual(r, lack, sum, most);
	uint32_t least = sum <= most || k->usual ? 0 : (uint32_t)(r->usual + 0.5);
	k->usual |= sum > most;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		uint32_t n = sum <= most ? more[g] : more[g] * most / sum;
		added += n;
		if (n < least)
			n = more[g] < least ? more[g] : least;
		late |= add(k, g, n, more[g] - n);
		any |= k->want[g] > 0;
	}
	if (late)
		list_late(r, chunk);
	k->reported |= any && !k->waiting;
	if (any)
		list(r, chunk, now_us);
	return added;
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

/* The number of NACKs a second that is acceptable with this number of clients. */
static double
budget(const struct repair *r, uint32_t clients)
{
	return clients >= r->policy->crowd ? r->policy->crowd_budget : r->policy->budget;
}

/* Once a second: increase proactive parity after too many NACKs, and reduce it after
 * few. */
static void
judge(struct repair *r, uint64_t now_us, uint32_t clients)
{
	r->budget = budget(r, clients);
	r->few = clients < r->policy->few;
	if (now_us - r->judged_us < EPOCH_US)
		return;
	double rate = r->reports * 1e6 / (double)(now_us - r->judged_us);
	double more = r->policy->gain * rate / r->budget;
	if (rate > r->budget)
		r->proactive += more < r->policy->step_up ? more : r->policy->step_up;
	else if (rate < r->policy->low * r->budget)
		r->proactive -= rate < r->policy->very_low * r->budget
		                    ? r->policy->fast_down
		                    : r->policy->step_down;
	if (r->proactive < 0 || clients < r->policy->few)
		r->proactive = 0;
	if (r->proactive > r->policy->most)
		r->proactive = r->policy->most;
	r->reports = 0;
	r->judged_us = now_us;
}

void
repair_add_proactive(
    struct repair *r, uint32_t chunk, uint64_t now_us, uint32_t clients)
{
	struct repair_chunk *k = &r->chunks[chunk];

	judge(r, now_us, clients);
	/* A fraction means one more block for some of the groups. */
	r->carry += r->proactive * WIREXT_GROUPS;
	unsigned blocks = (unsigned)r->carry;
	r->carry -= blocks;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		unsigned n = blocks / WIREXT_GROUPS +
		             ((g + chunk) % WIREXT_GROUPS < blocks % WIREXT_GROUPS);
		if (k->want[g] < n)
			k->want[g] = (uint8_t)n;
	}
	k->proactive = (uint8_t)(r->proactive + 0.5);
	k->waiting = blocks > 0;
	/* It follows its data at once: a client that received the parity of another
	 * chunk first would send a NACK. */
	if (blocks > 0)
		list_first(r, chunk, now_us);
}

/* While there are too many NACKs, raise proactive parity towards what would have
 * sufficed for most clients in this chunk. */
static void
learn(struct repair *r, const struct repair_chunk *k)
{
	double sum = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		sum += k->want[g];
	double enough = k->proactive + r->policy->share * sum / WIREXT_GROUPS;
	/* A client that lost much may be the only one. */
	if (enough > r->proactive + r->policy->learn_step)
		enough = r->proactive + r->policy->learn_step;
	if (r->reports > r->budget && k->reported && !r->few && r->proactive < enough)
		r->proactive = enough < r->policy->most ? enough : r->policy->most;
}

void
repair_even_out(struct repair *r)
{
	r->proactive *= r->policy->evened;
}

bool
repair_next(struct repair *r, uint64_t now_us, uint64_t window_us, uint32_t *chunk,
    uint8_t count[WIREXT_GROUPS])
{
	if (repair_due_us(r, window_us) > now_us)
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

/* Take late parity blocks of a group that are sent in one part, and return their
 * number.  The first part of each chunk is small: it may be all that some clients need.
 */
static uint8_t
take_late(const struct repair *r, struct repair_chunk *k, unsigned g)
{
	unsigned room = UINT8_MAX - k->coming[g];
	unsigned most = k->begun_late ? r->policy->late_at_once : (unsigned)r->usual + 2;
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
		/* The rest waits behind the other chunks, of which a little may be
		 * enough. */
		if (rest > 0)
			list_late(r, at);
		*chunk = at;
		if (sum > 0)
			return true;
		if (rest > 0)
			return false; /* as many as can be scheduled are coming already
			               */
	}
	return false;
}

uint64_t
repair_due_us(const struct repair *r, uint64_t window_us)
{
	const struct repair_due *first = &r->ring[r->head];

	if (r->n == 0)
		return UINT64_MAX;
	return first->since_us + (first->waits ? window_us : 0);
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
