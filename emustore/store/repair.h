/* repair.h: a damaged store made useful again. */
#ifndef EMUSTORE_STORE_REPAIR_H
#define EMUSTORE_STORE_REPAIR_H

#include "emustore/store/check.h"

/* Of a store that was opened with STORE_WRITE and STORE_ANEW; c->data must be set.  What is
 * whole of damaged packs, and of packs whose table cannot be read, is copied to new ones;
 * then the damaged ones count no longer.  Images that need what is lost stay, and are whole
 * again when a put brings the same bytes.  Then the store is checked again, without data:
 * the results of c are what is left. */
int repair_store(struct check *c, struct store *, struct err *);

#endif /* EMUSTORE_STORE_REPAIR_H */
