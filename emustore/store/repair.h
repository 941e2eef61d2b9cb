/* repair.h: a damaged store made useful again. */
#ifndef EMUSTORE_STORE_REPAIR_H
#define EMUSTORE_STORE_REPAIR_H

#include "emustore/store/check.h"

/* Transactions of their own.  Fragments that are damaged are marked as lost: images
 * that need them stay, and are whole again when a put brings the same bytes. */
int repair_store(struct check *, struct store *, struct err *);
/* The index from the packs alone; the store was opened with STORE_REINDEX. */
int repair_index(struct check *, struct store *, struct err *);

#endif /* EMUSTORE_STORE_REPAIR_H */
