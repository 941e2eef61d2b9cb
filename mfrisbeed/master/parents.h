/* parents.h: what the parent of this master says of the images that it has and this one has not.
 *
 * Each question runs in a thread of its own; what was answered is remembered for some seconds.  All functions
 * are called in one thread. */
#ifndef MFRISBEED_MASTER_PARENTS_H
#define MFRISBEED_MASTER_PARENTS_H

#include "mfrisbeed/master/catalog.h"

struct parents;

int parents_new(struct parents **, struct err *);
/* Ends the questions that run.  NULL is allowed. */
void parents_free(struct parents *);

/* Find the image of this name at the parent that the settings name.  1: it is there, and the entry belongs to
 * catalog_entry_free(); 0: the parent is being asked, and the same question is to be put again when
 * parents_collect() says so; -1: ERR_ABSENT: it has no such image; ERR_REFUSED: it asks to try again;
 * else it does not give the image away, or cannot be asked.  When it cannot be asked, an image that was
 * fetched before is found all the same. */
int parents_find(struct parents *, const struct settings *, const char *name,
    struct catalog_entry *, struct err *);

/* A descriptor for poll(2), readable when parents_collect() has something to do. */
int parents_fd(const struct parents *);
/* True: something was answered. */
bool parents_collect(struct parents *);

#endif /* MFRISBEED_MASTER_PARENTS_H */
