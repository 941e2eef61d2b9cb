/* reloc_impl.h: the kinds of relocations, each in a file of its own. */
#ifndef COMMON_IMAGE_FORMAT_RELOC_IMPL_H
#define COMMON_IMAGE_FORMAT_RELOC_IMPL_H

#include "common/image/format/reloc.h"

/* Apply a relocation of a disklabel or of LILO to data[n]; errors as reloc_apply(). */
int reloc_label(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);
int reloc_lilo(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);

#endif /* COMMON_IMAGE_FORMAT_RELOC_IMPL_H */
