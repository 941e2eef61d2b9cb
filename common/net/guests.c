/* guests.c: places, and who gives way (guests.h).  border.c and the tests call this, in the thread of
 * a loop. */
#include "common/net/guests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limiter.h"
#include "common/wire/addr.h"

enum {
	SAY_US = 10000000, /* between two sentences */
	/* Lines that may be logged at any time, enough to see one client's fault, and
	 * in which time. */
	LINES_MAX = 20,
	LINES_US = LINES_MAX * SAY_US,
};

/* An address that has places. */
struct holder {
	uint8_t address[4];
	unsigned n;
};

struct guests {
	struct guests_limits limits;
	unsigned most; /* 1 to limits.most */
	struct guest *oldest, *newest;
	unsigned n, nholders;
	uint64_t away;           /* since the last sentence */
	uint8_t last[4];         /* the address of the last one of `away` */
	uint64_t said_us;        /* 0: never */
	struct limiter lines;
	struct holder holders[]; /* limits.most */
};

int
guests_new(struct guests **out, const struct guests_limits *limits, struct err *e)
{
	struct guests *g = calloc(1, sizeof *g + limits->most * sizeof g->holders[0]);

	*out = g;
	if (g == NULL)
		return err_nomem(e, "connections");
	g->limits = *limits;
	g->most = limits->most;
	return 0;
}

void
guests_free(struct guests *g)
{
	free(g);
}

void
guests_places(struct guests *g, unsigned most)
{
	g->most = most < 1 ? 1 : most < g->limits.most ? most : g->limits.most;
}

/* The address among those that have places, or NULL. */
static struct holder *
find(struct guests *g, const uint8_t address[4])
{
	for (unsigned i = 0; i < g->nholders; i++)
		if (memcmp(g->holders[i].address, address, 4) == 0)
			return &g->holders[i];
	return NULL;
}

static unsigned
places_of(struct guests *g, const uint8_t address[4])
{
	const struct holder *h = find(g, address);

	return h != NULL ? h->n : 0;
}

/* The address that has most places, or NULL. */
static const struct holder *
richest(const struct guests *g)
{
	const struct holder *most = NULL;

	for (unsigned i = 0; i < g->nholders; i++)
		if (most == NULL || g->holders[i].n > most->n)
			most = &g->holders[i];
	return most;
}

/* The oldest guest of this address (NULL: of any that has so many places) that has said
 * nothing; else NULL. */
static struct guest *
oldest_silent(struct guests *g, const uint8_t *address, unsigned least)
{
	for (struct guest *x = g->oldest; x != NULL; x = x->newer)
		if (!x->heard && (address == NULL ? places_of(g, x->from) >= least
		                                  : memcmp(x->from, address, 4) == 0))
			return x;
	return NULL;
}

static struct guest *
oldest_of(struct guests *g, const uint8_t address[4])
{
	struct guest *x = oldest_silent(g, address, 0);

	for (struct guest *y = g->oldest; x == NULL && y != NULL; y = y->newer)
		if (memcmp(y->from, address, 4) == 0)
			x = y;
	return x;
}

struct guest *
guests_gives_way(struct guests *g, const uint8_t from[4])
{
	unsigned own = places_of(g, from);

	if (own >= g->limits.share)
		return oldest_silent(g, from, 0);
	if (g->n < g->most)
		return NULL;
	const struct holder *rich = richest(g);
	return rich->n > own + 1 ? oldest_of(g, rich->address)
	                         : oldest_silent(g, NULL, own);
}

static void
take_place(struct guests *g, const uint8_t from[4])
{
	struct holder *h = find(g, from);

	if (h == NULL) {
		h = &g->holders[g->nholders++];
		memcpy(h->address, from, 4);
		h->n = 0;
	}
	h->n++;
}

bool
guests_come(struct guests *g, struct guest *x, const uint8_t from[4], uint64_t now_us)
{
	*x = (struct guest){ .older = g->newest, .until_us = now_us + g->limits.first_us };
	memcpy(x->from, from, 4);
	if (g->n >= g->most || places_of(g, from) >= g->limits.share) {
		guests_count(g, from);
		return false;
	}
	take_place(g, from);
	x->here = true;
	*(g->newest != NULL ? &g->newest->newer : &g->oldest) = x;
	g->newest = x;
	g->n++;
	return true;
}

void
guests_heard(struct guests *g, struct guest *x, uint64_t now_us, uint64_t us)
{
	(void)g;
	x->heard = true;
	x->until_us = us < UINT64_MAX - now_us ? now_us + us : UINT64_MAX;
}

void
guests_go(struct guests *g, struct guest *x)
{
	if (!x->here)
		return;
	struct holder *h = find(g, x->from);
	if (--h->n == 0)
		*h = g->holders[--g->nholders];
	*(x->older != NULL ? &x->older->newer : &g->oldest) = x->newer;
	*(x->newer != NULL ? &x->newer->older : &g->newest) = x->older;
	x->here = false;
	g->n--;
}

struct guest *
guests_late(const struct guests *g, uint64_t now_us)
{
	for (struct guest *x = g->oldest; x != NULL; x = x->newer)
		if (x->until_us <= now_us)
			return x;
	return NULL;
}

void
guests_count(struct guests *g, const uint8_t from[4])
{
	g->away++;
	memcpy(g->last, from, 4);
}

static uint64_t
say_at(const struct guests *g)
{
	if (g->away == 0 && g->lines.left_out == 0)
		return UINT64_MAX;
	return g->said_us == 0 ? 0 : g->said_us + SAY_US;
}

bool
guests_say(struct guests *g, uint64_t now_us, char text[GUESTS_TEXT_MAX])
{
	char addr[ADDR_TEXT_MAX];
	unsigned left_out = g->lines.left_out;

	if (say_at(g) > now_us)
		return false;
	int n = snprintf(text, GUESTS_TEXT_MAX, "%u lines were left out", left_out);
	if (g->away > 0)
		snprintf(left_out > 0 ? text + n : text, GUESTS_TEXT_MAX - (size_t)n,
		    "%s%" PRIu64 " connections were late or had to give way, the last from=%s",
		    left_out > 0 ? ", and " : "", g->away, addr_text(g->last, addr));
	g->away = g->lines.left_out = 0;
	g->said_us = now_us;
	return true;
}

bool
guests_may_log(struct guests *g, uint64_t now_us)
{
	unsigned untold;
	bool may = limiter_may(&g->lines, now_us, LINES_US, LINES_MAX, &untold);

	g->lines.left_out += untold;
	return may;
}

uint64_t
guests_deadline(const struct guests *g)
{
	uint64_t at = say_at(g);

	for (const struct guest *x = g->oldest; x != NULL; x = x->newer)
		at = x->until_us < at ? x->until_us : at;
	return at;
}
