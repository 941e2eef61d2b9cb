/* keep.h: which of an image's versions stay, by when they were put: the rules of emustore
 * forget. */
#ifndef EMUSTORE_STORE_KEEP_H
#define EMUSTORE_STORE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many to keep by each rule; a version stays that one of them keeps. */
struct keep {
	uint64_t last;                                     /* the newest ones */
	uint64_t hourly, daily, weekly, monthly, yearly; /* the newest of each hour, ... */
};

/* Is there any rule? */
bool keeps_some(const struct keep *);
/* Versions come newest first; put_at[n]: seconds since 1970.  Hours, days, weeks (from Monday),
 * months and years are those of UTC, and those without a version do not count.  As long as a rule
 * could keep more, it keeps the oldest version, too.  keep[n] is written over. */
void keep_choose(
    const struct keep *, const uint64_t *put_at, size_t n, bool *keep);

#endif /* EMUSTORE_STORE_KEEP_H */
