/* parents.h: asks the parent of this master for images that this master does not have.
 *
 * Each question runs in a thread of its own; answers are remembered for some seconds.  All
 * functions are called in one thread. */
#ifndef MFRISBEED_MASTER_PARENTS_H
#define MFRISBEED_MASTER_PARENTS_H

#include "mfrisbeed/master/catalog.h"

struct parents;

/* Makes a table without questions.  ERR_NOMEM; errors of mailbox.h. */
int parents_new(struct parents **, struct err *);
/* Ends the questions that run, and releases the table.  NULL is allowed. */
void parents_free(struct parents *);

/* Finds the image with this name at the parent that the settings name.  1: the parent has
 * it, and catalog_entry_free() releases the entry.  0: the parent is being asked, and the
 * function is to be called again when parents_collect() has returned true.  -1: ERR_ABSENT:
 * the parent has no such image; ERR_REFUSED: it says to try again, or too many questions are
 * being asked, in all or for the address `from`; other errors: it refuses the image, or cannot be asked.  An image
 * that was fetched before is found also when the parent does not give it. */
int parents_find(struct parents *, const struct settings *, const char *name,
    const uint8_t from[4], struct catalog_entry *, struct err *);

/* Finds the image with this name here or, when it is not here and there is a parent, there: 1, 0 and -1
 * as parents_find(), and errors of catalog_find(). */
int parents_image(struct parents *, const struct settings *, const char *name,
    const uint8_t from[4], struct catalog_entry *, struct err *);

/* A descriptor for poll(2), readable when parents_collect() has something to do. */
int parents_fd(const struct parents *);
/* Takes the answers that have come.  True: there was one. */
bool parents_collect(struct parents *);

#endif /* MFRISBEED_MASTER_PARENTS_H */
