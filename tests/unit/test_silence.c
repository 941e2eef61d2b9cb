/* When a group is joined again: at once, then ever more rarely, anew after a packet. */
#include "common/net/silence.h"
#include "tests/t.h"

enum { MS = 1000, S = 1000000 };

/* Looked at every 10 ms, as a loop does: when it was due, in ms. */
static unsigned
times(struct silence *s, uint64_t from, uint64_t to, uint64_t *at, unsigned cap)
{
	unsigned n = 0;

	for (uint64_t now = from; now < to; now += 10 * MS)
		if (silence_due(s, now, 1300 * MS) && n < cap)
			at[n++] = now / MS;
	return n;
}

static void
test_doubling(void)
{
	struct silence s;
	uint64_t at[16];

	silence_begin(&s, 0, 0);
	T_CHECK(times(&s, 0, 160 * S, at, 16) == 9);
	T_CHECK(at[0] == 1300);
	T_CHECK(at[1] == 2600);
	T_CHECK(at[2] == 5200);
	T_CHECK(at[3] == 10400);
	T_CHECK(at[6] - at[5] == 30000);
	T_CHECK(at[7] - at[6] == 30000);
	/* A packet: the next silence is a new one. */
	silence_broken(&s, 200 * S);
	T_CHECK(times(&s, 200 * S, 202 * S, at, 16) == 1);
	T_CHECK(at[0] == 201300);
}

static void
test_heard(void)
{
	struct silence s;
	unsigned due = 0;

	silence_begin(&s, 0, 0);
	for (uint64_t now = 0; now < 60 * S; now += 1 * S) {
		silence_broken(&s, now);
		due += silence_due(&s, now + 900 * MS, 1300 * MS);
	}
	T_CHECK(due == 0);
}

/* -K: never longer than the user wishes. */
static void
test_bound(void)
{
	struct silence s;
	uint64_t at[64];

	silence_begin(&s, 0, 1 * S);
	T_CHECK(times(&s, 0, 10500 * MS, at, 64) == 10);
	T_CHECK(at[0] == 1000);
	T_CHECK(at[9] == 10000);
	silence_begin(&s, 0, 3 * S);
	T_CHECK(times(&s, 0, 10 * S, at, 64) == 4);
	T_CHECK(at[0] == 1300);
	T_CHECK(at[1] == 2600);
	T_CHECK(at[2] == 5200);
	T_CHECK(at[3] == 8200);
}

int
main(void)
{
	test_doubling();
	test_heard();
	test_bound();
	return t_done();
}
