/* ahead.h: chunks that take long to make, made by several threads, some before they are
 * asked for; the last ones stay.  As many as there is room for, of 1 MiB each.
 *
 * May be used by several threads at once.
 */
#ifndef EMUSTORE_STORE_AHEAD_H
#define EMUSTORE_STORE_AHEAD_H

#include "emustore/store/cache.h"
#include "emustore/store/reopened.h"

struct ahead;

/* The source's image is opened once more by each of `jobs` threads, when there is
 * something to do for it.  room: of chunks; there are always a few more than jobs.
 * store, name, source and cache, in which is counted, stay the caller's. */
int ahead_new(struct ahead **, const char *store, const char *name,
    const struct reopened *, struct store_cache *, uint32_t room, unsigned jobs,
    struct err *);
/* Stop the threads, wait for them, and free *a.  NULL is allowed. */
void ahead_free(struct ahead *);
/* Announce that chunk i will be read; it may be ignored. */
void ahead_want(struct ahead *, uint32_t i);
/* Read n bytes of chunk i from byte `at` on. */
int ahead_read(
    struct ahead *, uint32_t i, void *out, size_t n, size_t at, struct err *);

#endif /* EMUSTORE_STORE_AHEAD_H */
