/* served.h: open what is to be served: an image, any other file, or a store's image. */
#ifndef FRISBEED_SERVE_SERVED_H
#define FRISBEED_SERVE_SERVED_H

#include "common/disk/disk.h"
#include "common/image/read/source.h"
#include "emustore/store/cache.h"
#include "frisbeed/server/server.h"

/* Fills what the engine needs to know of it.  An image that is damaged or cut short is
 * refused.  store NULL: path is a file; else the cache is needed until the source is
 * closed.  *file: what the source reads, as long as it is open. */
int served_open(struct source *, const struct disk **file, const char *store,
    struct store_cache *, const char *path, struct server_config *, struct err *);
/* served_open() for a source that is open: waits until it knows its image.  ERR_UNSUPPORTED
 * when it is live and each client would have an engine of its own (unicast). */
int served_source(
    struct source *, bool unicast, struct server_config *, struct err *);

#endif /* FRISBEED_SERVE_SERVED_H */
