/* layout_impl.h: what the files of a layout share: layout.c finds out what a source is;
 * layout_part.c lays out one partition, layout_outside.c the space outside of partitions.
 *
 * The functions add the sectors that they leave out to *skip, in sectors of the image,
 * and do not seal it.
 */
#ifndef COMMON_LAYOUT_LAYOUT_IMPL_H
#define COMMON_LAYOUT_LAYOUT_IMPL_H

#include "common/layout/layout.h"

/* layout.c */

/* Add the holes of `all`, in sectors of the source, that have at least so many sectors to the open
 * set, in sectors of the image.  ERR_NOMEM. */
int layout_find_holes(const struct layout *, struct disk *, struct range all, uint64_t least,
    struct rangeset *holes, struct err *);

/* layout_part.c */

/* Add a part that has these sectors of the source. */
struct layout_part *layout_add_part(struct layout *, unsigned number, struct range sectors);
/* Lay out one partition of a table: it is ignored, raw, or scanned. */
int layout_table_part(struct layout *, struct disk *, const struct capture_what *,
    const struct ptable *, const struct partition *, struct rangeset *skip, struct err *);
/* Scan one partition into *skip, which is relative to the image. */
int layout_scan_part(struct layout *, struct disk *, const struct capture_what *,
    struct layout_part *, struct rangeset *skip, struct err *);

/* layout_outside.c */

/* Decide what is stored outside of partitions. */
int layout_outside(struct layout *, struct disk *, const struct capture_what *,
    const struct ptable *, struct rangeset *skip, struct err *);

/* layout_reach.c */

/* Note how far partitions and filesystems reach, when it is known what is stored. */
void layout_note_reach(struct layout *, struct disk *, const struct capture_what *);

#endif /* COMMON_LAYOUT_LAYOUT_IMPL_H */
