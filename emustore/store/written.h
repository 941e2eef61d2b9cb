/* written.h: where who only reads images of a store writes. */
#ifndef EMUSTORE_STORE_WRITTEN_H
#define EMUSTORE_STORE_WRITTEN_H

#include "common/base/rights.h"

enum { STORE_CACHE_FOLDER_BYTES = 4096 };

/* Let the rights have the folder of the store, where its index is, and that of this machine's cache (cache[],
 * which stays as long as the rights), which is made if it is missing, and where SQLite puts its temporary files
 * from now on.  Called before there are other threads. */
void store_written(
    const char *url, struct rights *, char cache[STORE_CACHE_FOLDER_BYTES]);

#endif /* EMUSTORE_STORE_WRITTEN_H */
