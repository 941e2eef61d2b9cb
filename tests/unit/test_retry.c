/* When a server is asked again, in virtual time. */
#include "common/base/retry.h"
#include "tests/t.h"

enum { S = 1000000 };

/* How many tries there are, each silent for so long after `moving`, and when the last one ends. */
static unsigned
row(double seconds, unsigned most, double moving, double silent, uint64_t *end_us)
{
	struct retry r = { .seconds = seconds };
	uint64_t now = 0;

	do
		now = (r.due_us > now ? r.due_us : now) +
		      (uint64_t)((moving + silent) * S);
	while (retry_again(&r, most, silent, now));
	*end_us = now;
	return r.tries;
}

int
main(void)
{
	struct retry r = { .seconds = 60 };
	uint64_t end, before = 50;
	bool within = true;

	T_CHECK(row(60, 0, 0, 20, &end) == 3);          /* silence of all tries together */
	T_CHECK(end > 60 * (uint64_t)S && end < 61 * (uint64_t)S);
	T_CHECK(row(60, 0, 0, 0, &end) > 10);           /* refused at once: pauses alone */
	T_CHECK(end >= 30 * (uint64_t)S && end <= 60 * (uint64_t)S);
	T_CHECK(row(60, 0, 1000, 0, &end) < 30);
	T_CHECK(row(1e6, 0, 1000, 1, &end) == 30);      /* what moves has time, but 30 tries */
	T_CHECK(end > 29 * 1000 * (uint64_t)S);
	T_CHECK(row(60, 1, 0, 0, &end) == 1);
	T_CHECK(row(60, 2, 0, 0, &end) == 2);
	for (unsigned i = 0; i < 8; i++) {              /* 0.1 s, twice as long each time, 5 s */
		uint64_t now = i * 12345 + 7;
		retry_again(&r, 0, 0, now);
		before = before * 2 < 5000 ? before * 2 : 5000;
		within = within && r.pause_ms == before && r.due_us - now <= before * 1000 &&
		         r.due_us - now >= before * 500;
	}
	T_CHECK(within);
	return t_done();
}
