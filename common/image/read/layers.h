/* layers.h: an image and deltas of it, read as the image that results from them.  A
 * single image is one layer. */
#ifndef COMMON_IMAGE_READ_LAYERS_H
#define COMMON_IMAGE_READ_LAYERS_H

#include <stddef.h>
#include <sys/types.h>

#include "common/image/read/sectors.h"
#include "common/image/read/window.h"

struct layers;

/* images[0] is the base, each of the others is a delta of what is below it.  Sectors that a
 * delta calls free, and sectors behind the end of the topmost image, are not stored any
 * more.  The images are borrowed.  ERR_FORMAT: a relocation and a part of its data would
 * come from different images.  ERR_NOMEM. */
int layers_new(
    struct layers **, struct sectors *const images[], size_t n, struct err *);
void layers_free(struct layers *);
/* The sectors that the resulting image stores, and the size of its disk in sectors. */
const struct rangeset *layers_stored(const struct layers *);
uint64_t layers_total(const struct layers *);
/* The sectors of the resulting image that were lost when any of the images was made. */
struct lostset *layers_lost(struct layers *);
/* Gives out the next window.  It is next() of struct maker_config, with the layers as arg. */
ssize_t layers_next(void *layers, struct window *, void *buf, struct err *);
/* Returns the index in images[] of the image that a stored sector comes from; all sectors
 * from this one up to *end come from that image.  From any thread, as are layers_stored()
 * and layers_total(). */
size_t layers_owner(const struct layers *, uint64_t sector, uint64_t *end);
/* Read sectors that are all stored.  Errors as sectors_read(). */
int layers_read(struct layers *, struct range, void *buf, struct err *);
/* Check what was read last of each image, see sectors_done(). */
int layers_done(struct layers *, struct err *);

/* Relocations, in ascending order, that are given out with the windows they belong to. */
struct reloc_walk {
	struct ndz_reloc *relocs; /* those that were given out are moved to the front */
	size_t n, at, given;
};
/* Give the window the relocations that begin within its regions, and say whether it must begin
 * a chunk because of them.  Windows ascend; those of sectors between them are passed over. */
void reloc_walk_take(struct reloc_walk *, struct window *);

#endif /* COMMON_IMAGE_READ_LAYERS_H */
