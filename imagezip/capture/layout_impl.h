/* layout_impl.h: what the parts of a layout share: layout.c what a source is, and what comes
 * of that; layout_part.c one partition; layout_outside.c the space that none has;
 * layout_zones.c where blocks lie.
 *
 * What each of them leaves out goes into *skip, whose sectors are those of the image, and
 * which is left open.
 */
#ifndef IMAGEZIP_CAPTURE_LAYOUT_IMPL_H
#define IMAGEZIP_CAPTURE_LAYOUT_IMPL_H

#include "imagezip/capture/layout.h"

/* layout_part.c */

/* Add a part that has these sectors of the source. */
struct layout_part *layout_add_part(struct layout *, unsigned number, struct range sectors);
/* One partition of a table: ignored, raw, or scanned. */
int layout_table_part(struct layout *, struct disk *, const struct capture_what *,
    const struct ptable *, const struct partition *, struct rangeset *skip, struct err *);
/* Scan one partition into *skip, which is relative to the image. */
int layout_scan_part(struct layout *, struct disk *, const struct capture_what *,
    struct layout_part *, struct rangeset *skip, struct err *);

/* layout_outside.c */

/* What is stored outside of partitions. */
int layout_outside(struct layout *, struct disk *, const struct capture_what *,
    const struct ptable *, struct rangeset *skip, struct err *);

/* layout_zones.c */

/* Find the zones of the image, when its partitions are known. */
int layout_zones(struct layout *, struct disk *, struct err *);

#endif /* IMAGEZIP_CAPTURE_LAYOUT_IMPL_H */
