/* given.h: which numbers the versions of a name have had.  A number is never given twice: of
 * an image that was removed there may be copies in other stores, with this name and number.
 *
 *	given/NAME/-LOW-HIGH	the versions LOW to HIGH of NAME were given, ten digits each
 *
 * The object for a number is made when the image was made, and at the latest before the image
 * is removed.  Objects whose ranges touch are replaced by one, which is made first: so
 * whichever of them a list shows, all numbers are in it.  No part of a name begins with "-".
 */
#ifndef EMUSTORE_STORE_GIVEN_H
#define EMUSTORE_STORE_GIVEN_H

#include "emustore/store/store.h"

/* Find the highest number that versions of this name have had; 0: none. */
int given_highest(struct store *, const char *name, uint32_t *highest, struct err *);
/* Was this number given?  1, 0, -1. */
int given_has(struct store *, const struct store_name *, struct err *);
/* Note that this number is given. */
int given_add(struct store *, const struct store_name *, struct err *);

#endif /* EMUSTORE_STORE_GIVEN_H */
