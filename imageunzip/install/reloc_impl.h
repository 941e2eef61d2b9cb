/* reloc_impl.h: the kinds of relocations, each in a file of its own. */
#ifndef IMAGEUNZIP_INSTALL_RELOC_IMPL_H
#define IMAGEUNZIP_INSTALL_RELOC_IMPL_H

#include "imageunzip/install/reloc.h"

/* Apply a relocation of a disklabel or of LILO to data[n]; errors as reloc_apply(). */
int reloc_label(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);
int reloc_lilo(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);

#endif /* IMAGEUNZIP_INSTALL_RELOC_IMPL_H */
