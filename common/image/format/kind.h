/* kind.h: is this file an image, or a signature?
 *
 * Programs that write an image or a signature ask before they replace a file; imagezip asks
 * about its source.
 */
#ifndef COMMON_IMAGE_FORMAT_KIND_H
#define COMMON_IMAGE_FORMAT_KIND_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"

/* The kinds of files that output_open() may replace. */
extern const struct output_kind kind_image, kind_signature;

/* Does this file or device begin with the header of a chunk, even of a chunk that this
 * program cannot read (encrypted, or of another version)?  1, 0, or -1 when the disk cannot
 * be read.  For a pipe it is not known: 0. */
int kind_is_image(struct disk *, struct err *);
/* When an image could not be read (ERR_FORMAT): add to the error that the file `other` is one, and so
 * was given in its place.  what: what `other` should be, as "target". */
void kind_note_swapped(const char *other, const char *what, struct err *e);

#endif /* COMMON_IMAGE_FORMAT_KIND_H */
