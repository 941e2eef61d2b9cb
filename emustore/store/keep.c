/* keep.c: chooses which versions of an image stay.  Called by emustore forget, in its
 * thread; it is nothing but arithmetic. */
#include "emustore/store/keep.h"

#include <time.h>

/* 1970 began on a Thursday; weeks begin on Monday */
enum { HOUR = 3600, DAY = 24 * HOUR, THURSDAY = 3 };

static uint64_t
by_hour(uint64_t t)
{
	return t / HOUR;
}

static uint64_t
by_day(uint64_t t)
{
	return t / DAY;
}

static uint64_t
by_week(uint64_t t)
{
	return (t / DAY + THURSDAY) / 7;
}

static struct tm
date(uint64_t t)
{
	time_t seconds = (time_t)t;
	struct tm tm = { 0 };

	gmtime_r(&seconds, &tm);
	return tm;
}

static uint64_t
by_month(uint64_t t)
{
	struct tm tm = date(t);

	return (uint64_t)tm.tm_year * 12 + (uint64_t)tm.tm_mon;
}

static uint64_t
by_year(uint64_t t)
{
	return (uint64_t)date(t).tm_year;
}

/* Keep the newest version of each span of time that has any, until `most` are kept.  The
 * oldest version of all is kept, too, when `most` is not reached before it. */
static void
keep_by(uint64_t (*span)(uint64_t), uint64_t most, const uint64_t *put_at, size_t n, bool *keep)
{
	for (size_t i = 0; i < n && most > 0; i++)
		if (i == 0 || i == n - 1 || span(put_at[i]) != span(put_at[i - 1])) {
			keep[i] = true;
			most--;
		}
}

bool
keep_any(const struct keep *k)
{
	return k->last > 0 || k->hourly > 0 || k->daily > 0 || k->weekly > 0 ||
	       k->monthly > 0 || k->yearly > 0;
}

void
keep_choose(const struct keep *k, const uint64_t *put_at, size_t n, bool *keep)
{
	for (size_t i = 0; i < n; i++)
		keep[i] = i < k->last;
	keep_by(by_hour, k->hourly, put_at, n, keep);
	keep_by(by_day, k->daily, put_at, n, keep);
	keep_by(by_week, k->weekly, put_at, n, keep);
	keep_by(by_month, k->monthly, put_at, n, keep);
	keep_by(by_year, k->yearly, put_at, n, keep);
}
