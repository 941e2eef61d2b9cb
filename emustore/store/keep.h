/* keep.h: which versions of an image stay, judged by when they were put: the rules of
 * emustore forget. */
#ifndef EMUSTORE_STORE_KEEP_H
#define EMUSTORE_STORE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many versions each rule keeps.  A version stays when at least one rule keeps it. */
struct keep {
	uint64_t last;                                     /* the newest versions */
	/* the newest version of each hour, day, ... */
	uint64_t hourly, daily, weekly, monthly, yearly;
};

/* Does any rule keep a version? */
bool keep_any(const struct keep *);
/* Choose which of n versions stay: keep[i] becomes true where version i stays, and false
 * where it does not.  put_at[n] says when each version was put, in seconds since 1970, the
 * newest first.  Hours, days, weeks (from Monday), months and years are those of UTC;
 * spans of time without a version do not count.  A rule that could keep more versions than
 * there are spans keeps the oldest version, too. */
void keep_choose(
    const struct keep *, const uint64_t *put_at, size_t n, bool *keep);

#endif /* EMUSTORE_STORE_KEEP_H */
