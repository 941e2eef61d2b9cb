/* Who may keep a connection to a server, in virtual time: shares of addresses, who gives way, times,
 * and what is logged.  `test_guests N` lets N come and go (usual: 2,000). */
#include "common/net/guests.h"

#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/t.h"

#define SECOND UINT64_C(1000000)

enum { PLACES = 64, SHARE = 32, FOES = 6 };

static uint64_t now = 1000 * SECOND;

static struct guests *
make(unsigned most, unsigned share)
{
	const struct guests_limits limits = { most, share, 5 * SECOND };
	struct guests *g;
	struct err e;

	if (guests_new(&g, &limits, &e) != 0)
		abort();
	return g;
}

static const uint8_t *
address(unsigned n)
{
	static uint8_t a[4];

	a[0] = 10;
	a[2] = (uint8_t)(n >> 8);
	a[3] = (uint8_t)n;
	return a;
}

/* One comes from this address.  *way: who had to go for it, or NULL. */
static bool
come(struct guests *g, struct guest *x, unsigned from, struct guest **way)
{
	*way = guests_gives_way(g, address(from));
	if (*way != NULL) {
		guests_count(g, (*way)->from);
		guests_go(g, *way);
	}
	T_CHECK(guests_gives_way(g, address(from)) == NULL);
	return guests_come(g, x, address(from), now);
}

/* An address gets its share and no more; who has said something stays. */
static void
test_share(void)
{
	struct guests *g = make(8, 3);
	struct guest x[6], other, *way;

	for (unsigned i = 0; i < 3; i++)
		T_CHECK(come(g, &x[i], 1, &way) && way == NULL);
	T_CHECK(come(g, &x[3], 1, &way) && way == &x[0]);
	guests_heard(g, &x[1], now, SECOND);
	T_CHECK(come(g, &x[4], 1, &way) && way == &x[2]);
	guests_heard(g, &x[3], now, SECOND);
	guests_heard(g, &x[4], now, SECOND);
	T_CHECK(!come(g, &x[5], 1, &way) && way == NULL && !x[5].here);
	T_CHECK(come(g, &other, 2, &way) && way == NULL);
	guests_go(g, &x[5]); /* it had no place, and takes none away */
	guests_go(g, &x[1]);
	T_CHECK(come(g, &x[5], 1, &way) && way == NULL);
	guests_free(g);
}

/* When all places are taken, the address with most of them gives one; where all have equally many, the
 * oldest that has said nothing gives way. */
static void
test_full(void)
{
	struct guests *g = make(4, 3);
	struct guest a[3], b, c, d, e, *way;

	for (unsigned i = 0; i < 3; i++)
		(void)come(g, &a[i], 1, &way);
	guests_heard(g, &a[0], now, SECOND);
	T_CHECK(come(g, &b, 2, &way) && way == NULL);
	T_CHECK(come(g, &c, 3, &way) && way == &a[1]); /* the oldest there that is silent */
	guests_heard(g, &a[2], now, SECOND);
	T_CHECK(come(g, &d, 4, &way) && way == &a[0]); /* none there is */
	T_CHECK(come(g, &e, 5, &way) && way == &b);
	guests_heard(g, &c, now, SECOND);
	guests_heard(g, &d, now, SECOND);
	guests_heard(g, &e, now, SECOND);
	T_CHECK(!come(g, &b, 6, &way) && way == NULL);
	guests_places(g, 2); /* fewer places: those that have one keep it, and nobody else gets one */
	guests_go(g, &c);
	T_CHECK(!come(g, &b, 6, &way));
	guests_go(g, &d);
	guests_go(g, &e);
	T_CHECK(come(g, &b, 6, &way));
	guests_free(g);
}

/* Two that have most of the places never take the only one of a third. */
static void
test_poor(void)
{
	struct guests *g = make(5, 4);
	struct guest poor, a[3], b[2], *way;

	(void)come(g, &poor, 3, &way);
	for (unsigned i = 0; i < 2; i++) {
		(void)come(g, &a[i], 1, &way);
		(void)come(g, &b[i], 2, &way);
	}
	T_CHECK(come(g, &a[2], 1, &way) && way == &a[0]);
	guests_heard(g, &a[1], now, SECOND);
	guests_heard(g, &a[2], now, SECOND);
	T_CHECK(come(g, &a[0], 1, &way) && way == &b[0]);
	guests_heard(g, &a[0], now, SECOND);
	guests_heard(g, &b[1], now, SECOND);
	T_CHECK(!come(g, &b[0], 1, &way) && way == NULL && poor.here);
	guests_free(g);
}

static void
test_times(void)
{
	struct guests *g = make(4, 4);
	struct guest a, b, *way;

	T_CHECK(guests_deadline(g) == UINT64_MAX);
	(void)come(g, &a, 1, &way);
	now += SECOND;
	(void)come(g, &b, 2, &way);
	T_CHECK(guests_deadline(g) == now + 4 * SECOND);
	T_CHECK(guests_late(g, now + 4 * SECOND - 1) == NULL);
	T_CHECK(guests_late(g, now + 4 * SECOND) == &a);
	guests_heard(g, &a, now, 2 * SECOND); /* a message may have less time than the first */
	T_CHECK(guests_deadline(g) == now + 2 * SECOND && guests_late(g, now + 2 * SECOND) == &a);
	guests_heard(g, &a, now, UINT64_MAX);
	T_CHECK(guests_deadline(g) == now + 5 * SECOND && guests_late(g, now + 5 * SECOND) == &b);
	guests_go(g, &b);
	T_CHECK(guests_deadline(g) == UINT64_MAX && guests_late(g, UINT64_MAX - 1) == NULL);
	guests_free(g);
}

/* However many are sent away, the log grows slowly. */
static void
test_log(void)
{
	struct guests *g = make(1, 1);
	char text[GUESTS_TEXT_MAX] = "";
	struct guest each[2], *way;
	unsigned said = 0, lines = 0;

	T_CHECK(!guests_say(g, now, text));
	for (unsigned i = 0; i < 10000; i++, now += SECOND / 100) {
		struct guest *x = &each[i % 2];
		if ((way = guests_gives_way(g, address(1))) != NULL) {
			guests_count(g, way->from);
			guests_go(g, way);
		}
		(void)guests_come(g, x, address(1), now);
		said += guests_say(g, now, text);
		lines += guests_may_log(g, now);
	}
	T_CHECK(said == 10 && lines == 20);
	T_CHECK(strstr(text, "lines were left out, and 1000 connections") != NULL);
	T_CHECK(guests_deadline(g) <= now + 10 * SECOND);
	now += 3600 * SECOND;
	T_CHECK(guests_say(g, now, text) && !guests_say(g, now, text));
	for (lines = 0; guests_may_log(g, now); lines++)
		;
	T_CHECK(lines == 20);
	guests_free(g);
}

/* A world of foes that fill all that they can, and of honest ones that speak within a moment. */
struct world {
	struct guests *g;
	struct guest *all;
	unsigned n;          /* of all, that have come */
	unsigned of_foe[FOES]; /* places of each */
	unsigned here, heard, lost, wrong;
};

static unsigned
foe_of(const struct guest *x)
{
	return x->from[2] == 0 ? x->from[3] : FOES;
}

static void
leave(struct world *w, struct guest *x)
{
	unsigned foe = foe_of(x);

	if (foe < FOES)
		w->of_foe[foe]--;
	w->here--;
	guests_go(w->g, x);
}

static void
arrive(struct world *w, unsigned from)
{
	struct guest *x = &w->all[w->n++], *way;

	while ((way = guests_gives_way(w->g, address(from))) != NULL) {
		w->lost += foe_of(way) == FOES && !way->heard;
		leave(w, way);
	}
	if (!guests_come(w->g, x, address(from), now)) {
		w->lost += from >= FOES;
		return;
	}
	w->here++;
	if (from < FOES)
		w->wrong += ++w->of_foe[from] > SHARE;
	w->wrong += w->here > PLACES;
}

/* The honest one that came last says what it wants, or goes. */
static void
go_on(struct world *w, struct guest *honest)
{
	if (honest == NULL || !honest->here)
		return;
	if (!honest->heard) {
		guests_heard(w->g, honest, now, SECOND);
		w->heard++;
	} else if (draw(4) == 0)
		leave(w, honest);
}

static void
test_crowd(unsigned many)
{
	struct world w = { .g = make(PLACES, SHARE), .all = calloc(many + 1, sizeof *w.all) };
	struct guest *honest = NULL, *late;
	unsigned nhonest = 0;

	while (w.n < many) {
		now += draw(20000);
		while ((late = guests_late(w.g, now)) != NULL)
			leave(&w, late);
		w.wrong += guests_deadline(w.g) <= now && guests_late(w.g, now) != NULL;
		for (unsigned i = (unsigned)draw(8); i > 0 && w.n < many; i--)
			arrive(&w, (unsigned)draw(FOES));
		go_on(&w, honest);
		if (draw(8) == 0 && (honest == NULL || !honest->here) && w.n < many) {
			honest = &w.all[w.n];
			arrive(&w, 256 + (unsigned)draw(1000));
			nhonest++;
		}
	}
	go_on(&w, honest != NULL && !honest->heard ? honest : NULL);
	printf("# %u came, %u of them honest, %u heard, %u lost\n", many, nhonest, w.heard, w.lost);
	T_CHECK(nhonest > many / 100 && w.heard == nhonest && w.lost == 0);
	T_CHECK(w.wrong == 0 && w.here <= PLACES);
	guests_free(w.g);
	free(w.all);
}

int
main(int argc, char **argv)
{
	test_share();
	test_full();
	test_poor();
	test_times();
	test_log();
	test_crowd(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000);
	return t_done();
}
