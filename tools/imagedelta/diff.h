/* diff.h: what a second image stores and a first one does not have. */
#ifndef TOOLS_IMAGEDELTA_DIFF_H
#define TOOLS_IMAGEDELTA_DIFF_H

#include <sys/types.h>

#include "common/image/read/sectors.h"
#include "common/image/read/window.h"

struct diff;

/* Both images are borrowed; so is the basis, which gets a sample of what each window
 * of the delta replaces, outside of the sectors `avoid`. */
int diff_new(struct diff **, struct sectors *old, struct sectors *new,
    struct basis *, const struct rangeset *avoid, struct err *);
void diff_free(struct diff *);
/* Sectors that the first image stores and the second calls free. */
const struct rangeset *diff_freed(const struct diff *);
/* What of the delta was lost, once diff_done() was asked. */
struct lostset *diff_lost(struct diff *);
/* For struct rewrite_source: the windows of the second image, in blocks of 4 KiB
 * that differ.  Where none does, the first block: installers want a chunk to
 * hold something. */
ssize_t diff_next(void *diff, struct window *, void *buf, struct err *);
int diff_done(void *diff, struct err *);

#endif /* TOOLS_IMAGEDELTA_DIFF_H */
