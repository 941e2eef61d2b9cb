/* source.h: may this source be captured? */
#ifndef IMAGEZIP_CAPTURE_SOURCE_H
#define IMAGEZIP_CAPTURE_SOURCE_H

#include "common/disk/disk.h"
#include "imagezip/capture/layout.h"
#include "imagezip/capture/what.h"

/* ERR_REFUSED for a source that is an image itself, unless --force: the arguments were
 * given the wrong way round, or imagerezip was meant. */
int source_check_kind(struct disk *, const struct capture_what *, struct err *);
/* Who writes to the sectors that the layout stores, while they are read?  Noted in the
 * layout.  ERR_REFUSED when somebody does, unless --live or -i. */
int source_check_use(
    struct disk *, struct layout *, const struct capture_what *, struct err *);
/* The same when all is read: ERR_REFUSED when somebody does who did not before, so that
 * the image does not say it. */
int source_check_end(struct disk *, struct layout *, struct err *);

#endif /* IMAGEZIP_CAPTURE_SOURCE_H */
