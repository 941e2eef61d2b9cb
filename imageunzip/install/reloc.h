/* reloc.h: relocations: bytes of an image that depend on where it lands.
 * Source: the image format specification, section 7. */
#ifndef IMAGEUNZIP_INSTALL_RELOC_H
#define IMAGEUNZIP_INSTALL_RELOC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

/* Is it of a type that we know?  (Not: it is left out, with a warning.) */
bool reloc_known(const struct ndz_reloc *);
/* Does it change bytes of the data when installing into `slice` (len 0: to a whole
 * disk)?  (Not: short sectors, or to a whole disk.) */
bool reloc_changes(const struct ndz_reloc *, struct range slice);
/* How many bytes it needs together: its size, or LILO's whole table. */
uint64_t reloc_bytes(const struct ndz_reloc *);
/* Bytes of the chunk's data in front of those; UINT64_MAX when they are not in the
 * chunk, in one region. */
uint64_t reloc_at(const struct ndz_header *, const struct ndz_reloc *);
/* Apply it to these bytes: data[n], n >= reloc_bytes(). */
int reloc_apply(
    const struct ndz_reloc *, struct range slice, void *data, size_t n, struct err *);

/* For programs that make images: makes a sector that is a disklabel with the right sum, of
 * this type of relocation, relative to its slice, unless it is so already.
 * ERR_UNSUPPORTED, and nothing is changed: one that cannot be relocated, and why. */
int reloc_label_relative(
    uint8_t label[SECTOR_BYTES], uint32_t type, struct range slice, struct err *);
/* For an installation that moves a partition for which the image has no relocation: a
 * sector that is a disklabel of this type with the right sum, whose offsets count from the
 * beginning of the disk, is changed from the slice `from` to the slice `to`.  1; 0: it is
 * no such label, or its offsets count from the partition's own beginning, and nothing is
 * changed; ERR_UNSUPPORTED, and nothing is changed: it cannot be moved, and why. */
int reloc_label_follow(uint8_t label[SECTOR_BYTES], uint32_t type, struct range from,
    struct range to, struct err *);
/* Is the sector a disklabel, by its two magic numbers and its sum? */
bool reloc_is_label(const uint8_t label[SECTOR_BYTES]);

#endif /* IMAGEUNZIP_INSTALL_RELOC_H */
