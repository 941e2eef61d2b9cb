/* fetched.h: images of the parent, and the files in which they are kept here.  A file
 * gets its name when its image has come whole (frisbeed/relay/fetch.h).  All functions
 * are called in one thread. */
#ifndef MFRISBEED_MASTER_FETCHED_H
#define MFRISBEED_MASTER_FETCHED_H

#include <sys/types.h>

#include "mfrisbeed/master/catalog.h"

/* Makes the entry of an image from the parent's reply; catalog_entry_free() releases it.
 * ERR_USAGE: the name is too long for a file; ERR_NOMEM. */
int fetched_entry(struct catalog_entry *, const char *folder, const char *name,
    const struct master_get_reply *, struct err *);
/* Makes the entry of an image that was fetched before.  False: it was not. */
bool fetched_find(struct catalog_entry *, const char *folder, const char *name);
/* Is the image that the entry describes here, whole? */
bool fetched_is_whole(const struct catalog_entry *);
/* Removes what a process has left that was loading the image. */
void fetched_forget(const struct catalog_entry *, pid_t);
/* Removes the files of loads that did not end.  ERR_IO: the folder cannot be read. */
int fetched_clean(const char *folder, struct err *);

#endif /* MFRISBEED_MASTER_FETCHED_H */
