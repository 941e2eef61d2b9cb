/* reloc.h: relocations: bytes of an image that depend on where it lands.
 * Source: the image format specification, section 7. */
#ifndef COMMON_IMAGE_FORMAT_RELOC_H
#define COMMON_IMAGE_FORMAT_RELOC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

/* Is the type of the relocation known? A relocation of an unknown type is ignored, with a
 * warning. */
bool reloc_known(const struct ndz_reloc *);
/* Does the relocation change data when the image is installed into `slice` (len 0: onto a
 * whole disk)? Short sectors change no data, and on a whole disk nothing is changed. */
bool reloc_changes(const struct ndz_reloc *, struct range slice);
/* How many bytes reloc_apply() needs: the relocation's size, or LILO's whole table. */
uint64_t reloc_bytes(const struct ndz_reloc *);
/* Where these bytes begin in the chunk's data; UINT64_MAX when they are not all in one
 * region of the chunk. */
uint64_t reloc_at(const struct ndz_header *, const struct ndz_reloc *);
/* Apply the relocation to its bytes, data[n], n >= reloc_bytes(). ERR_FORMAT: they are
 * not what the relocation says; ERR_UNSUPPORTED: the place cannot be expressed. */
int reloc_apply(
    const struct ndz_reloc *, struct range slice, void *data, size_t n, struct err *);

/* For programs that make images: makes the offsets of a disklabel with the right sum, of
 * this type of relocation, count from its slice, unless they do so already.
 * ERR_UNSUPPORTED, with the reason, when the label cannot be relocated; nothing is
 * changed then. */
int reloc_label_relative(
    uint8_t label[SECTOR_BYTES], uint32_t type, struct range slice, struct err *);
/* For an installation that moves a partition for which the image has no relocation: a
 * sector that is a disklabel of this type with the right sum, whose offsets count from
 * the beginning of the disk, is changed from the slice `from` to the slice `to`. Returns
 * 1; 0: it is no such label, or its offsets count from the partition's own beginning;
 * ERR_UNSUPPORTED, with the reason: it cannot be moved. Nothing is changed unless 1 is
 * returned. */
int reloc_label_follow(uint8_t label[SECTOR_BYTES], uint32_t type, struct range from,
    struct range to, struct err *);
/* Is the sector a disklabel, by its two magic numbers and its sum? */
bool reloc_is_label(const uint8_t label[SECTOR_BYTES]);

#endif /* COMMON_IMAGE_FORMAT_RELOC_H */
