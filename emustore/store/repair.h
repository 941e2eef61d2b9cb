/* repair.h: makes a damaged store useful again. */
#ifndef EMUSTORE_STORE_REPAIR_H
#define EMUSTORE_STORE_REPAIR_H

#include "emustore/store/check.h"

/* Repair a store that was opened with STORE_WRITE and STORE_ANEW; c->data must be set.
 * The undamaged fragments of damaged packs, and of packs whose table cannot be read, are
 * copied to new packs; after that the damaged packs no longer count.  Images that need
 * what is lost stay, and are whole again when a put brings the same bytes.  At the end the
 * store is checked again, without data: the results in c are what is left.  -1 only when
 * repairing itself failed. */
int repair_store(struct check *c, struct store *, struct err *);

#endif /* EMUSTORE_STORE_REPAIR_H */
