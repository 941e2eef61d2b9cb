/* storelist.h: asks a store which images it has.  A store in a bucket may need long for the answer,
 * so that a thread asks, and nobody waits longer than 2 seconds.  Used by one thread. */
#ifndef MFRISBEED_MASTER_STORELIST_H
#define MFRISBEED_MASTER_STORELIST_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/loop.h"

struct storelist;

/* The loop is turned by the thread that calls the functions below.  ERR_NOMEM. */
int storelist_new(struct storelist **, struct loop *, struct err *);
/* Ends a question that is under way.  NULL is allowed. */
void storelist_free(struct storelist *);
/* Asks the store at this folder or URL.  1: it has answered, or does not in time: *names has its
 * images, each as NAME and as NAME:VERSION, at most CATALOG_MOST + 1 of these, each ended by a zero
 * byte; the buffer is the list's until the next call.  why->kind is ERR_NONE, or *why says what the
 * list lacks, which may be the last one then.  0: it is being asked; to be called again, with
 * `waited`, when storelist_collect() has said so. */
int storelist_ask(struct storelist *, const char *url, bool waited, const struct buf **names,
    struct err *why);
/* To be called in each turn of the loop.  True: whoever waits for the answer asks again. */
bool storelist_collect(struct storelist *);
/* Puts the names of this store's images into a buffer, which is empty before: what the thread
 * does.  ERR_FORMAT: some cannot be read, and the others are there; errors of store_open(). */
int storelist_read(struct buf *names, const char *url, struct err *);

#endif /* MFRISBEED_MASTER_STORELIST_H */
