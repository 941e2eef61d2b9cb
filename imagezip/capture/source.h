/* source.h: opens a source, and checks whether it may be captured. */
#ifndef IMAGEZIP_CAPTURE_SOURCE_H
#define IMAGEZIP_CAPTURE_SOURCE_H

#include "common/disk/disk.h"
#include "common/layout/layout.h"
#include "common/layout/what.h"

/* Open a file, a device, a pipe, or what an NBD server exports (disk_nbd.h), for reading.
 * Errors of disk_open() and disk_open_nbd(). */
int source_open(struct disk **, const char *name, struct err *);
/* ERR_REFUSED for a source that claims to be larger than any disk. */
int source_check_size(struct disk *, struct err *);
/* ERR_REFUSED for a source that is an image itself, unless --force: the arguments were
 * given the wrong way round, or imagerezip was meant. */
int source_check_kind(struct disk *, const struct capture_what *, struct err *);
/* ERR_REFUSED for a source that carries the installer's marker: its installation is not complete, or
 * it is still being streamed to; unless --force or -i. */
int source_check_whole(struct disk *, const struct capture_what *, struct err *);
/* The same for the partitions of which something is stored. */
int source_check_parts(
    struct disk *, const struct layout *, const struct capture_what *, struct err *);
/* Note in the layout how the sectors that it stores are in use, so that they may be written
 * to while they are read. ERR_REFUSED when they are in use, unless --live or -i. */
int source_check_use(
    struct disk *, struct layout *, const struct capture_what *, struct err *);
/* Check the use again when everything was read: ERR_REFUSED when the source is in use now
 * and was not before, because the image does not say that it was in use. */
int source_check_end(struct disk *, struct layout *, struct err *);

#endif /* IMAGEZIP_CAPTURE_SOURCE_H */
