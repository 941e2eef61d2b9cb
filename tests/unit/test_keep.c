/* Which versions the rules of emustore forget keep. */
#include <string.h>

#include "emustore/store/keep.h"
#include "tests/t.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

/* 2026-11-23 04:00:00 UTC, a Monday. */
static const uint64_t now = 1795406400;

/* What is kept of versions put so many seconds ago, newest first: "x" and ".". */
static const char *
kept(const struct keep *k, const uint64_t *ago, size_t n)
{
	static char text[64];
	uint64_t put_at[64] = { 0 };
	bool keep[64];

	for (size_t i = 0; i < n; i++)
		put_at[i] = now - ago[i];
	keep_choose(k, put_at, n, keep);
	for (size_t i = 0; i < n; i++)
		text[i] = keep[i] ? 'x' : '.';
	text[n] = '\0';
	return text;
}

#define KEPT(text, rules, ...) \
	do { \
		const struct keep k_ = rules; \
		const uint64_t ago_[] = { __VA_ARGS__ }; \
		const char *is_ = kept(&k_, ago_, sizeof ago_ / sizeof *ago_); \
		T_CHECK(strcmp(is_, text) == 0); \
	} while (0)
#define RULES(...) \
	{ \
		__VA_ARGS__ \
	}

int
main(void)
{
	const struct keep none = { 0 }, yearly = { .yearly = 1 };

	T_CHECK(!keep_any(&none));
	T_CHECK(keep_any(&yearly));
	KEPT("....", RULES(0), 0, 1, 2, 3);
	KEPT("xx..", RULES(.last = 2), 0, 1, 2, 3);
	KEPT("xxxx", RULES(.last = 9), 0, 1, 2, 3);
	/* The newest of each day; days without a version do not count; midnight is UTC's. */
	KEPT("x.x.x.", RULES(.daily = 3), 0, 3 * HOUR, 5 * HOUR, 6 * HOUR, 9 * DAY, 30 * DAY);
	KEPT("xx", RULES(.daily = 2), 4 * HOUR, 4 * HOUR + 1);
	KEPT("x.", RULES(.daily = 1), 4 * HOUR, 4 * HOUR + 1);
	KEPT("x.x.", RULES(.hourly = 2), 0, 0, 1, HOUR);
	/* Sunday is of the week before Monday's. */
	KEPT("xx.", RULES(.weekly = 2), 0, DAY, 6 * DAY);
	KEPT("x.x", RULES(.monthly = 2), 0, 20 * DAY, 23 * DAY);
	KEPT("x.x", RULES(.yearly = 2), 0, 300 * DAY, 330 * DAY);
	/* The oldest stays as long as a rule could keep more. */
	KEPT("x.x", RULES(.yearly = 5), 0, 10 * DAY, 20 * DAY);
	KEPT("x..", RULES(.yearly = 1), 0, 10 * DAY, 20 * DAY);
	/* One rule is enough. */
	KEPT("xx.x", RULES(.last = 2, .monthly = 2), 0, HOUR, 2 * HOUR, 25 * DAY);
	KEPT("x", RULES(.daily = 7), 0);
	return t_done();
}
