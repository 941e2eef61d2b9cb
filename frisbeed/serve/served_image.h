/* served_image.h: opens what is to be served: an image, any other file, or an image in a store. */
#ifndef FRISBEED_SERVE_SERVED_IMAGE_H
#define FRISBEED_SERVE_SERVED_IMAGE_H

#include "common/disk/disk.h"
#include "common/image/read/source.h"
#include "emustore/store/cache.h"
#include "frisbeed/server/server.h"

/* Opens the bytes of an image: `path` is a file or, in a store (not NULL), a name.  The cache is
 * needed until the disk is closed; NULL: the smallest one.  Errors are those of disk_open() and
 * store_disk_open(). */
int served_image_disk(struct disk **, const char *store, struct store_cache *, const char *path,
    struct err *);
/* Opens an image as a source, and fills in what the engine needs to know of it.  store NULL:
 * `path` is a file; else it is a name in the store, and the cache must exist until the source
 * is closed. *file: the file that the source reads, valid as long as the source is open.  An
 * image that is damaged or cut short is refused: ERR_FORMAT.  An empty file, or one
 * that is too large: ERR_UNSUPPORTED.  Other errors are those of disk_open() and
 * store_disk_open(). */
int served_image_open(struct source *, const struct disk **file, const char *store,
    struct store_cache *, const char *path, struct server_config *, struct err *);
/* served_image_open() for a source that is open already: waits until the source knows its image.
 * ERR_UNSUPPORTED when the source is live and each client would have an engine of its own
 * (unicast). */
int served_image_source(
    struct source *, bool unicast, struct server_config *, struct err *);

#endif /* FRISBEED_SERVE_SERVED_IMAGE_H */
