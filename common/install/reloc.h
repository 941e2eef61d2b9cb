/* reloc.h: relocations: bytes of an image that depend on where it lands.
 * Source: the image format specification, section 7. */
#ifndef COMMON_INSTALL_RELOC_H
#define COMMON_INSTALL_RELOC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/ndz/format.h"

/* Can this relocation be applied when installing into `slice` (len 0: to a
 * whole disk)?  0, 1 it is of a type that nobody knows (a warning), or -1. */
int reloc_check(const struct ndz_reloc *, struct range slice, struct err *);
/* Does it change bytes of the data?  (Not: short sectors, or to a whole disk.) */
bool reloc_changes(const struct ndz_reloc *, struct range slice);
/* Bytes of the chunk's data in front of what it changes; UINT64_MAX when that is
 * not in the chunk. */
uint64_t reloc_at(const struct ndz_header *, const struct ndz_reloc *);
/* Apply it to the bytes that it covers: data[n], n >= its size. */
int reloc_apply(const struct ndz_reloc *, struct range slice, void *data, size_t n,
    struct err *);

#endif /* COMMON_INSTALL_RELOC_H */
