/* fitted.h: a disk onto which an image was installed with --fit, shown as the image has it. */
#ifndef TOOLS_IMAGEHASH_FITTED_H
#define TOOLS_IMAGEHASH_FITTED_H

#include "tools/imagehash/compare.h"

struct fitted;

/* Show t->disk as the disk of the image at `path`: the sectors of each partition of the image
 * come from where the disk's own table has the partition of this number, and those outside of
 * partitions, such as the table, from the image.  t->slice becomes the size of the image's disk.
 * ERR_UNSUPPORTED: it is a signature, which has no table; ERR_REFUSED: one of both has no table, or the
 * disk lacks a partition; errors as sectors_open() and ptable_read().  fitted_close() is called
 * in any case, before compare_close(). */
int fitted_open(struct fitted **, struct target *, const char *path, struct err *);
void fitted_close(struct fitted *, struct target *); /* NULL is fine */

#endif /* TOOLS_IMAGEHASH_FITTED_H */
