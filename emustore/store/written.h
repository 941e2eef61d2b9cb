/* written.h: the folders to which a program that only reads images of a store writes. */
#ifndef EMUSTORE_STORE_WRITTEN_H
#define EMUSTORE_STORE_WRITTEN_H

#include "common/base/rights.h"

enum { STORE_CACHE_FOLDER_BYTES = 4096 };

/* Add to the rights the folder of the store, where its index is, unless url is a bucket;
 * and the folder of this machine's cache, which is made if it is missing.  The path of the
 * latter is written to cache[], which must stay as long as the rights.  SQLite puts its
 * temporary files there from now on, unless SQLITE_TMPDIR is set already.  Without a
 * cache, the index is made for this process alone.  Called before there are other threads. */
void store_written(
    const char *url, struct rights *, char cache[STORE_CACHE_FOLDER_BYTES]);

#endif /* EMUSTORE_STORE_WRITTEN_H */
