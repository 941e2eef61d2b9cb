/* server_urgent.c: blocks that somebody waits for.  The server's engine adds what clients ask
 * for by URGENT, and takes runs for its shell, in its only thread. */
#include "frisbeed/server/server_urgent.h"

#include <string.h>

#include "common/wire/blockmap.h"

enum {
	/* The most runs of other addresses, with blocks of a requested run, that are
	 * looked at.  An URGENT has up to 80 runs, and none of them may take long. */
	LOOKS_MAX = 16,
};

void
server_urgent_init(struct server_urgent *u)
{
	*u = (struct server_urgent){ .allowed = SERVER_URGENT_BURST };
}

static void
take_away(struct blockmap *from, uint32_t chunk, const struct wirext_run *run)
{
	struct blockmap those = blockmap_range(run->first, run->count);

	if (run->chunk == chunk)
		*from = blockmap_minus(*from, &those);
}

static bool
is_of(const struct server_urgent_run *w, const uint8_t ip[4])
{
	return memcmp(w->ip, ip, sizeof w->ip) == 0;
}

static uint32_t
runs_of(const struct server_urgent *u, const uint8_t ip[4])
{
	for (uint32_t i = 0; i < u->n; i++)
		if (is_of(&u->waiting[i], ip))
			return u->waiting[i].runs;
	return 0;
}

/* Note in all runs of this address that it has `more` runs more. */
static void
note_runs(struct server_urgent *u, const uint8_t ip[4], int more)
{
	uint32_t runs = (uint32_t)((int)runs_of(u, ip) + more);

	for (uint32_t i = 0; i < u->n; i++)
		if (is_of(&u->waiting[i], ip))
			u->waiting[i].runs = runs;
}

static void
drop(struct server_urgent *u, uint32_t i)
{
	note_runs(u, u->waiting[i].ip, -1);
	u->n--;
	memmove(u->waiting + i, u->waiting + i + 1, (u->n - i) * sizeof u->waiting[0]);
}

/* Add a run in front of waiting[at].  There must be room. */
static void
insert(struct server_urgent *u, uint32_t at, const struct server_urgent_run *run)
{
	uint32_t runs = runs_of(u, run->ip);

	memmove(u->waiting + at + 1, u->waiting + at, (u->n - at) * sizeof u->waiting[0]);
	u->waiting[at] = *run;
	u->waiting[at].runs = runs;
	u->n++;
	note_runs(u, run->ip, 1);
}

/* Is there room for one more run of an address that has `own`?  If there is none, the last run
 * of the address that has the most makes room, unless nobody has more than this one would. */
static bool
make_room(struct server_urgent *u, uint32_t own)
{
	uint32_t last = 0, most = 0;

	if (own >= SERVER_URGENT_OF_ADDRESS)
		return false;
	if (u->n < SERVER_URGENT_RUNS)
		return true;
	for (uint32_t i = 0; i < u->n; i++)
		if (u->waiting[i].runs >= most) {
			most = u->waiting[i].runs;
			last = i;
		}
	if (most <= own + 1)
		return false;
	drop(u, last);
	return true;
}

/* How many blocks of this address wait in the first `end` runs? */
static uint32_t
blocks_of(const struct server_urgent *u, const uint8_t ip[4], uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end; i++)
		if (is_of(&u->waiting[i], ip))
			n += u->waiting[i].run.count;
	return n;
}

/* Remove blocks [from, end), which the run has, from it.  If that makes two of it, and there is no
 * room for both, the second one is lost. */
static void
cut(struct server_urgent *u, uint32_t i, uint32_t from, uint32_t end)
{
	struct server_urgent_run before = u->waiting[i], behind = before;

	before.run.count = (uint16_t)(from - before.run.first);
	behind.run.first = (uint16_t)end;
	behind.run.count = (uint16_t)(u->waiting[i].run.first + u->waiting[i].run.count - end);
	drop(u, i);
	const struct server_urgent_run *parts[] = { &before, &behind };
	for (unsigned k = 0; k < 2; k++)
		if (parts[k]->run.count > 0 && u->n < SERVER_URGENT_RUNS)
			insert(u, i++, parts[k]);
}

/* Blocks of this run that wait for another address, behind many other blocks of that
 * address, are taken out of its runs, because this address gets them sooner. */
static void
take_over(struct server_urgent *u, const uint8_t ip[4], const struct wirext_run *run)
{
	uint32_t own = blocks_of(u, ip, u->n), end = run->first + run->count, looks = 0;

	for (uint32_t i = u->n; i-- > 0 && looks < LOOKS_MAX;) {
		const struct server_urgent_run *w = &u->waiting[i];
		uint32_t w_end = w->run.first + w->run.count;
		uint32_t from = run->first > w->run.first ? run->first : w->run.first;
		uint32_t till = end < w_end ? end : w_end;
		if (w->run.chunk != run->chunk || from >= till || is_of(w, ip))
			continue;
		looks++;
		uint32_t ahead = blocks_of(u, w->ip, i) + from - w->run.first;
		if (ahead > own + SERVER_URGENT_BURST)
			cut(u, i, from, till);
	}
}

/* Of the blocks, those that neither wait nor were given out just now. */
static struct blockmap
not_coming(const struct server_urgent *u, uint64_t now_us, const struct wirext_run *run)
{
	struct blockmap fresh = blockmap_range(run->first, run->count);
	uint64_t known = u->ngiven < SERVER_URGENT_GIVEN ? u->ngiven : SERVER_URGENT_GIVEN;

	for (uint32_t i = 0; i < u->n; i++)
		take_away(&fresh, run->chunk, &u->waiting[i].run);
	for (uint64_t i = 0; i < known; i++)
		if (u->given[i].sent_us == UINT64_MAX ||
		    now_us - u->given[i].sent_us < SERVER_URGENT_AGAIN_US)
			take_away(&fresh, run->chunk, &u->given[i].run);
	return fresh;
}

/* An address that waits for nothing else goes before the one that had the last turn, but not before
 * those whose last turn is longer ago: otherwise a few that ask again and again would keep all
 * others waiting for ever. */
static void
add(struct server_urgent *u, const uint8_t ip[4], const struct wirext_run *run)
{
	struct server_urgent_run last = { .run = *run,
		.turn = u->turns > 0 ? u->turns - 1 : 0 };

	for (uint32_t i = 0; i < u->n; i++)
		if (is_of(&u->waiting[i], ip))
			last.turn = u->waiting[i].turn;
	memcpy(last.ip, ip, sizeof last.ip);
	insert(u, u->n, &last);
}

uint32_t
server_urgent_ask(struct server_urgent *u, uint64_t now_us, const uint8_t ip[4],
    const struct wirext_run *run)
{
	uint32_t own = runs_of(u, ip), added = 0;

	if (own < SERVER_URGENT_OF_ADDRESS)
		take_over(u, ip, run);
	struct blockmap fresh = not_coming(u, now_us, run);
	uint32_t b = blockmap_next(&fresh, 0);

	while (b < WIRE_CHUNK_BLOCKS && make_room(u, own)) {
		uint32_t n = blockmap_run(&fresh, b, WIRE_CHUNK_BLOCKS - b);
		add(u, ip, &(struct wirext_run){ run->chunk, (uint16_t)b, (uint16_t)n });
		own++;
		added += n;
		b = blockmap_next(&fresh, b + n);
	}
	return added;
}

void
server_urgent_forget(struct server_urgent *u, const uint8_t ip[4])
{
	for (uint32_t i = u->n; i-- > 0;)
		if (is_of(&u->waiting[i], ip))
			drop(u, i);
}

/* The first run of the address whose turn is the longest ago. */
static uint32_t
whose_turn(const struct server_urgent *u)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < u->n; i++)
		if (u->waiting[i].turn < u->waiting[first].turn)
			first = i;
	return first;
}

static void
note_turn(struct server_urgent *u, const uint8_t ip[4])
{
	u->turns++;
	for (uint32_t i = 0; i < u->n; i++)
		if (is_of(&u->waiting[i], ip))
			u->waiting[i].turn = u->turns;
}

bool
server_urgent_next(struct server_urgent *u, uint32_t most, struct wirext_run *out)
{
	if (u->n == 0)
		return false;
	uint32_t which = whose_turn(u);
	struct wirext_run *run = &u->waiting[which].run;
	note_turn(u, u->waiting[which].ip);
	*out = *run;
	out->count = (uint16_t)(run->count < most ? run->count : most);
	run->first = (uint16_t)(run->first + out->count);
	run->count = (uint16_t)(run->count - out->count);
	if (run->count == 0)
		drop(u, which);
	uint64_t i = u->ngiven++ % SERVER_URGENT_GIVEN;
	u->given[i].run = *out;
	u->given[i].sent_us = UINT64_MAX;
	return true;
}

void
server_urgent_went(struct server_urgent *u, uint64_t now_us, const struct wirext_run *run)
{
	u->allowed -= run->count < u->allowed ? run->count : u->allowed;
	u->sent += run->count;
	for (uint32_t i = 0; i < SERVER_URGENT_GIVEN && i < u->ngiven; i++) {
		const struct wirext_run *g = &u->given[i].run;
		if (g->chunk == run->chunk && run->first >= g->first &&
		    run->first < g->first + g->count)
			u->given[i].sent_us = now_us;
	}
}

void
server_urgent_others_went(struct server_urgent *u, uint32_t blocks)
{
	uint32_t room = SERVER_URGENT_BURST - u->allowed;

	u->allowed += blocks < room ? blocks : room;
}
