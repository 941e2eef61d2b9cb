/* client_chunks.c: what is known about every chunk, and the server's queue.  The
 * engine notes what clients request and what the server sends, and the policies ask
 * what still waits, all in the engine's only thread. */
#include "frisbee/client/client_chunks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* The unit of stamps: 32 bits of it last five days, and they are compared
	   modulo. */
	STAMP_US = 100,
	/* Two requests that arrive here within this time may have reached the server
	 * in the other order. */
	SLACK_STAMPS = 5000 / STAMP_US,
	/* A client that does not know the server's position waits this many times as
	 * long, because the blocks that arrive were requested before it joined. */
	UNKNOWN_PATIENCE = 4,
};

static bool
before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

uint64_t
client_random(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void
shuffle(uint32_t *order, uint32_t n, uint64_t seed)
{
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(client_random(&seed) % (i + 1u)), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
}

int
client_chunks_init(struct client_chunks *k, uint32_t n, bool sequential, uint64_t seed,
    uint64_t now_us)
{
	memset(k, 0, sizeof *k);
	k->n = n;
	k->start_us = now_us;
	k->flags = malloc(n);
	k->asked = calloc(n, sizeof *k->asked);
	k->next = malloc((n + 1u) * sizeof *k->next);
	k->prev = malloc((n + 1u) * sizeof *k->prev);
	if (k->flags == NULL || k->asked == NULL || k->next == NULL ||
	    k->prev == NULL) {
		client_chunks_fini(k);
		return -1;
	}
	memset(k->flags, CHUNK_OPEN, n);
	uint32_t *order = k->asked; /* unused until something is asked */
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (!sequential)
		shuffle(order, n, seed);
	uint32_t last = n;
	for (uint32_t i = 0; i < n; i++) {
		k->next[last] = order[i];
		k->prev[order[i]] = last;
		last = order[i];
	}
	k->next[last] = n;
	k->prev[n] = last;
	return 0;
}

void
client_chunks_prefer(struct client_chunks *k, uint32_t chunk)
{
	uint32_t first = k->next[k->n];

	if (first == chunk)
		return;
	k->next[k->prev[chunk]] = k->next[chunk];
	k->prev[k->next[chunk]] = k->prev[chunk];
	k->next[k->n] = k->prev[first] = chunk;
	k->prev[chunk] = k->n;
	k->next[chunk] = first;
}

void
client_chunks_fini(struct client_chunks *k)
{
	free(k->flags);
	free(k->asked);
	free(k->next);
	free(k->prev);
	free(k->queue);
	memset(k, 0, sizeof *k);
}

static bool
open_and_covered(const struct client_chunks *k, uint32_t chunk)
{
	return client_chunks_is(k, chunk, CHUNK_OPEN) &&
	       client_chunks_is(k, chunk, CHUNK_COVERED);
}

/* Every change of CHUNK_OPEN and CHUNK_COVERED goes through here. */
static void
change(struct client_chunks *k, uint32_t chunk, unsigned set, unsigned clear)
{
	k->open_covered -= open_and_covered(k, chunk);
	k->flags[chunk] = (uint8_t)((k->flags[chunk] | set) & ~clear);
	k->open_covered += open_and_covered(k, chunk);
}

void
client_chunks_note(struct client_chunks *k, uint32_t chunk, unsigned flags)
{
	k->flags[chunk] |= (uint8_t)flags;
}

void
client_chunks_unnote(struct client_chunks *k, uint32_t chunk, unsigned flags)
{
	k->flags[chunk] &= (uint8_t)~flags;
}

void
client_chunks_take(struct client_chunks *k, uint32_t chunk, uint32_t buf)
{
	assert(client_chunks_is(k, chunk, CHUNK_OPEN));
	k->next[k->prev[chunk]] = k->next[chunk];
	k->prev[k->next[chunk]] = k->prev[chunk];
	change(k, chunk, 0, CHUNK_OPEN);
	k->next[chunk] = buf;
}

void
client_chunks_reopen(struct client_chunks *k, uint32_t chunk)
{
	assert(!client_chunks_is(k, chunk, CHUNK_OPEN | CHUNK_DONE));
	k->next[chunk] = k->next[k->n];
	k->prev[chunk] = k->n;
	k->prev[k->next[chunk]] = chunk;
	k->next[k->n] = chunk;
	change(k, chunk, CHUNK_OPEN, 0);
}

void
client_chunks_done(struct client_chunks *k, uint32_t chunk)
{
	assert(!client_chunks_is(k, chunk, CHUNK_OPEN));
	change(k, chunk, CHUNK_DONE, 0);
}

void
client_chunks_undone(struct client_chunks *k, uint32_t chunk)
{
	assert(client_chunks_is(k, chunk, CHUNK_DONE));
	change(k, chunk, 0, CHUNK_DONE);
}

uint32_t
client_chunks_stamp(struct client_chunks *k, uint64_t now_us)
{
	uint32_t stamp = (uint32_t)((now_us - k->start_us) / STAMP_US);

	if (!before(k->last_stamp, stamp))
		stamp = k->last_stamp + 1;
	return k->last_stamp = stamp;
}

static bool
is_current(const struct client_chunks *k, const struct client_ask *a)
{
	return client_chunks_is(k, a->chunk, CHUNK_ASKED) &&
	       k->asked[a->chunk] == a->stamp;
}

static struct client_ask *
queue_at(const struct client_chunks *k, uint32_t i)
{
	return &k->queue[(k->queue_head + i) & (k->queue_room - 1)];
}

/* Make room for one more entry: drop those that no longer count, or grow the ring.  No
 * more entries count than there are chunks. */
static bool
queue_make_room(struct client_chunks *k)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < k->queue_used; i++)
		if (is_current(k, queue_at(k, i)))
			*queue_at(k, kept++) = *queue_at(k, i);
	k->queue_used = kept;
	if (kept <= k->queue_room / 2 && kept < k->queue_room)
		return true;
	uint32_t room = k->queue_room > 0 ? k->queue_room * 2 : 64;
	struct client_ask *q = malloc(room * sizeof *q);
	if (q == NULL)
		return kept < k->queue_room;
	for (uint32_t i = 0; i < kept; i++)
		q[i] = *queue_at(k, i);
	free(k->queue);
	k->queue = q;
	k->queue_room = room;
	k->queue_head = 0;
	return true;
}

/* Requests before the horizon wait no longer. */
static void
queue_pop(struct client_chunks *k)
{
	while (k->queue_used > 0 && before(queue_at(k, 0)->stamp, k->horizon)) {
		const struct client_ask *a = queue_at(k, 0);
		if (is_current(k, a))
			change(k, a->chunk, 0, CHUNK_ASKED | CHUNK_COVERED);
		k->queue_head = (k->queue_head + 1) & (k->queue_room - 1);
		k->queue_used--;
	}
}

static bool
in_queue(
    const struct client_chunks *k, uint32_t chunk, uint64_t now_us, uint64_t redo_us)
{
	uint32_t asked = k->asked[chunk];

	if (!client_chunks_is(k, chunk, CHUNK_ASKED))
		return false;
	if (k->serving_known && before(k->serving, asked))
		return true;
	/* What is being sent now was most likely requested before this client
	 * joined. */
	if (!k->serving_known && redo_us < UINT64_MAX / UNKNOWN_PATIENCE)
		redo_us *= UNKNOWN_PATIENCE;
	uint32_t now = (uint32_t)((now_us - k->start_us) / STAMP_US);
	return before(now, asked) || (uint64_t)(now - asked) * STAMP_US < redo_us;
}

bool
client_chunks_waits(
    const struct client_chunks *k, uint32_t chunk, uint64_t now_us, uint64_t redo_us)
{
	return client_chunks_is(k, chunk, CHUNK_COVERED) &&
	       in_queue(k, chunk, now_us, redo_us);
}

void
client_chunks_ask(struct client_chunks *k, uint32_t chunk, bool covers, uint64_t now_us,
    uint64_t redo_us)
{
	unsigned flags = CHUNK_ASKED | (covers ? CHUNK_COVERED : 0);

	if (!in_queue(k, chunk, now_us, redo_us)) {
		if (k->queue_used == k->queue_room && !queue_make_room(k))
			return; /* no memory: as if we had not heard it */
		k->asked[chunk] = client_chunks_stamp(k, now_us);
		*queue_at(
		    k, k->queue_used++) = (struct client_ask){ chunk, k->asked[chunk] };
	}
	change(k, chunk, flags, 0);
}

void
client_chunks_uncover(struct client_chunks *k, uint32_t chunk)
{
	change(k, chunk, 0, CHUNK_COVERED);
}

bool
client_chunks_pass_begins(struct client_chunks *k, uint32_t chunk)
{
	k->serving_known = client_chunks_is(k, chunk, CHUNK_ASKED);
	if (!k->serving_known)
		return false;
	k->serving = k->asked[chunk];
	uint32_t passed = k->serving - SLACK_STAMPS;
	if (!before(k->horizon_next, passed))
		return false;
	k->horizon_next = passed;
	return true;
}

void
client_chunks_pass_ends(struct client_chunks *k, uint32_t chunk, uint32_t begun)
{
	if (before(k->asked[chunk], begun))
		change(k, chunk, 0, CHUNK_ASKED | CHUNK_COVERED);
}

void
client_chunks_forget(struct client_chunks *k, uint64_t now_us)
{
	k->horizon = k->horizon_next = client_chunks_stamp(k, now_us);
	k->horizon_pending = k->serving_known = false;
	queue_pop(k);
}

uint64_t
client_chunks_settle(struct client_chunks *k, uint64_t now_us, uint64_t guard_us)
{
	if (k->horizon_pending && now_us >= k->horizon_at_us) {
		k->horizon = k->horizon_soon;
		k->horizon_pending = false;
		queue_pop(k);
	}
	if (!k->horizon_pending && before(k->horizon, k->horizon_next)) {
		k->horizon_pending = true;
		k->horizon_soon = k->horizon_next;
		k->horizon_at_us = now_us + guard_us;
	}
	return client_chunks_settle_at_us(k);
}

uint64_t
client_chunks_settle_at_us(const struct client_chunks *k)
{
	return k->horizon_pending ? k->horizon_at_us : UINT64_MAX;
}
