/* layers.h: an image and deltas of it, read as the image that results from them.  A
 * single image is one layer. */
#ifndef COMMON_IMAGE_READ_LAYERS_H
#define COMMON_IMAGE_READ_LAYERS_H

#include <stddef.h>
#include <sys/types.h>

#include "common/image/read/sectors.h"
#include "common/image/read/window.h"

struct layers;

/* images[0] is the base, each of the others is a delta of what is below it.
 * What the deltas call free, and what is behind the end of the topmost, is not
 * stored any more.  The images are borrowed.  ERR_FORMAT when a relocation and
 * its data come apart. */
int layers_new(
    struct layers **, struct sectors *const images[], size_t n, struct err *);
void layers_free(struct layers *);
const struct rangeset *layers_stored(const struct layers *);
uint64_t layers_total(const struct layers *);
/* What was lost of the layers, in any of the images. */
struct lostset *layers_lost(struct layers *);
/* For maker_config.next, with the layers as its arg. */
ssize_t layers_next(void *layers, struct window *, void *buf, struct err *);
/* Which image has a stored sector, as an index of images[], and in *end how far on it has
 * all of them.  From any thread, as are layers_stored() and layers_total(). */
size_t layers_owner(const struct layers *, uint64_t sector, uint64_t *end);
/* Read sectors that are all stored. */
int layers_read(struct layers *, struct range, void *buf, struct err *);
/* Check what was read last, see sectors_done(). */
int layers_done(struct layers *, struct err *);

/* Relocations handed out with their windows; in ascending order. */
struct reloc_walk {
	const struct ndz_reloc *relocs;
	size_t n, at;
};
/* The relocations within the window's regions become the window's. */
void reloc_walk_take(struct reloc_walk *, struct window *);

#endif /* COMMON_IMAGE_READ_LAYERS_H */
