/* diff.h: what a second image, the new one, stores and a first one, the old one, does not
 * have. */
#ifndef TOOLS_IMAGEDELTA_DIFF_H
#define TOOLS_IMAGEDELTA_DIFF_H

#include <sys/types.h>

#include "common/image/read/sectors.h"
#include "common/image/read/window.h"

struct diff;

/* Prepare the comparison of two images; diff_free() frees it.  Images, basis and `avoid` are
 * borrowed until then.  Before a window is given out, the basis gets samples of all that it
 * replaces, outside of the sectors `avoid`.  ERR_NOMEM; errors of sectors_table(). */
int diff_new(struct diff **, struct sectors *old, struct sectors *new,
    struct basis *, const struct rangeset *avoid, struct err *);
void diff_free(struct diff *); /* NULL is fine */
/* The sectors that the old image stores and the new one does not, up to the end of the new
 * image's disk.  They belong to the diff. */
const struct rangeset *diff_freed(const struct diff *);
/* The sectors of the delta that were lost when the new image was captured; complete only
 * after diff_done().  They belong to the diff. */
struct lostset *diff_lost(struct diff *);
/* next() of struct rewrite_source: put the blocks of 4 KiB that differ in the next window of
 * the new image into the window and into buf[FRAGMENT_WINDOW_BYTES].  When no block of the
 * image differs, its first stored block is given out, because installers want a chunk to hold
 * something.  Returns the number of bytes, 0 at the end, or -1.  Errors as sectors_read();
 * ERR_NOMEM. */
ssize_t diff_next(void *diff, struct window *, void *buf, struct err *);
/* done() of struct rewrite_source: check the rest of what was read of both images, and fill
 * diff_lost().  Errors as sectors_done(); ERR_NOMEM. */
int diff_done(void *diff, struct err *);

#endif /* TOOLS_IMAGEDELTA_DIFF_H */
