/* kept.h: finds the blocks that need not be read for a delta, because a source of change
 * says that they have not changed since the base (imagezip --changed-since). */
#ifndef IMAGEZIP_CAPTURE_KEPT_H
#define IMAGEZIP_CAPTURE_KEPT_H

#include "common/disk/rangeset.h"
#include "common/image/format/sig.h"
#include "common/layout/layout.h"

/* Put into *kept, which is empty and becomes the caller's, the records of the base's
 * signature that the new signature will have, too. A record is taken over if the new image
 * stores exactly the record's sectors as one run in the block, if none of them has changed,
 * if none is stored as zeros now, and if the record's hash is not that of zeros.  `changed`
 * is in sectors of the image.  Chunk numbers become 0.  ERR_NOMEM. */
int kept_find(struct sig *kept, const struct sig *base, const struct layout *,
    const struct rangeset *changed, struct err *);
/* Merge the records of two signatures of the same kind, which have no sector in common, into *to.
 * `from` is left empty.  ERR_NOMEM. */
int kept_merge(struct sig *to, struct sig *from, struct err *);

#endif /* IMAGEZIP_CAPTURE_KEPT_H */
