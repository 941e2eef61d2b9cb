/* image_view.h: the image of a streaming disk, read for other machines: what the image stores, and
 * never what was written locally.
 *
 * Nothing tells whether a single sector was written locally and not fetched, so this is noted for
 * pieces of VIEW_PIECE_SECTORS.  Pieces without local writes are read from the disk; all others
 * from the source, and so is what was present when a disk goes on: a power cut may have left
 * local data there that is not marked.
 *
 * Only image_view.c writes struct image_view.  The caller who notes a write holds its pages
 * (holds.h).
 */
#ifndef STREAM_DISK_IMAGE_VIEW_H
#define STREAM_DISK_IMAGE_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"

enum { VIEW_PIECE_SECTORS = 4096 };

struct streamed;

struct image_view {
	atomic_uchar *written; /* a bit for each piece of the disk */
	uint64_t pieces;
};

/* Make the view of a disk of this many sectors, of which nothing was written.  ERR_NOMEM; the view
 * is empty then. */
int image_view_init(struct image_view *, uint64_t sectors, struct err *);
void image_view_free(struct image_view *);
/* These sectors are about to be written locally, or may have been. */
void image_view_written(struct image_view *, struct range);
/* Everything that is present when a disk goes on may have been written locally.  Errors of reading
 * the sector table. */
int image_view_goes_on(struct streamed *, struct err *);

#endif /* STREAM_DISK_IMAGE_VIEW_H */
